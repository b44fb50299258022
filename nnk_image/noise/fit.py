"""The noise model that fits what was measured in flat blocks, at all sizes of an image.

Noise is the sum of a white part, with one level per channel, and a correlated part of the opponent
channels; the level of both may depend on the brightness. The white part is measured in those
directions of the space of blocks that contain no texture. The correlated part is the remaining
variance of the flattest blocks, times the trust, which is small if it looks like texture.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from nnk_image.base.geometry import as_blocks
from nnk_image.base.image import Floats, Image
from nnk_image.noise.autocovariance import correlation_of
from nnk_image.noise.blocks import SIDE, U, V
from nnk_image.noise.brightness import CHANGE, Line
from nnk_image.noise.given import OUTLIER_SHARE, many_below_offset
from nnk_image.noise.model import LEAST_NOISE, NoiseModel
from nnk_image.noise.scale import Scale, cosines
from nnk_image.noise.texture import between
from nnk_image.noise.trust import two_values
from nnk_image.noise.white import (
    independent_white,
    most_luminance,
    possible_texture,
    shared_white,
)

NEGLIGIBLE, NEGLIGIBLE_IN_VOLUMES = 0.04, 0.16
"""Correlations of pixels, or of channels, below which noise counts as white. In volumes, the filter
for white noise combines more pixels. There, it is as good as that for correlated noise at 0.13, a
median over films cut from four pictures (0.02 to 0.24, with both kinds of correlation). The limit
is higher because the trust, a factor up to 2.2, raises what is measured; it was chosen on films
of two pictures, 'hopper' and 'coffee', with white noise."""

_REACH = 7  # largest displacement, in pixels, at which noise may be correlated
_LEAST_SHARE = 0.02  # least share of the correlated part in the spectrum, at any frequency
_COARSE = (U < 4) & (V < 4)  # low frequencies, the only ones used at half the size
_TEXT = 0.1  # similarity to two values at full size, from which that at half the size counts too
_LEAST_CHROMA = 0.5  # least level of the color differences, relative to that of the luminance
_MOST_RAISED = 100  # limit of the factor that raises their variances: they are 0 in gray pictures
_LEAST_FACTOR = 0.1  # least level at any brightness, relative to the typical one
_FAR_BELOW = 3.5  # standard deviations of read noise; 0.02 % of it is this far below the offset
_STANDARD_ERRORS = 2  # a block is negative if its mean is this many standard errors below 0


def model_of(
    scales: list[Scale],
    image: Image,
    trust: float,
    kind: str | None = None,
    negligible: float = NEGLIGIBLE,
) -> NoiseModel:
    """Return the noise of an image, given its scales; `trust` multiplies the correlated part.

    It is white if no correlation is as large as `negligible`.
    """
    full, matrix = scales[0], scales[0].matrix
    most_by_bin = np.inf if kind == "correlated" else most_luminance(full)
    most = float(np.median(most_by_bin))
    independent, shared = _trusted_white(scales, kind, most)
    in_opponent = _in_opponent(matrix, independent, shared)
    whole = independent_white(full) if image.channels > 1 else independent
    measured = _in_opponent(matrix, whole, shared_white(full))
    correlated = _limited(_correlated_part(scales, measured, trust), in_opponent, most)
    back = np.linalg.inv(matrix)
    covariance = np.einsum("ck,dk,kyx->cdyx", back, back, correlated)
    covariance[..., _REACH, _REACH] += np.diag(np.maximum(independent, 1e-24)) + shared
    sigma = np.sqrt(np.diagonal(covariance[..., _REACH, _REACH]))
    if sigma.max() < LEAST_NOISE:
        return NoiseModel([0.0] * image.channels)
    model = NoiseModel(
        image.half_range * sigma,
        correlation=_correlation(covariance, negligible),
        uncertainty=full.uncertainty,
    )
    if kind == "white":
        return model
    middle = correlated[0, _REACH, _REACH]
    variances = by_brightness(full, in_opponent[0], middle, most_by_bin)
    return _with_brightness(model, full, variances, in_opponent[0] + middle, image, kind)


def _with_brightness(
    model: NoiseModel,
    full: Scale,
    variances: Floats,
    typical: float,
    image: Image,
    kind: str | None,
) -> NoiseModel:
    """Return the model as Poisson noise, or with a curve, if the variances of the bins require it.

    `typical` is their typical value, the variance of `model`.
    """
    line = Line.through(full.brightness, variances, powers=(1,) if kind == "poisson" else (1, 2))
    if image.channels == 1 and (kind == "poisson" or line.grows(*full.range)):
        poisson = _poisson(line, model, image)
        if kind == "poisson" or not many_below_offset(poisson, image):
            return poisson
    brightness = image.center + image.half_range * full.brightness
    rises = np.all(np.diff(brightness) > 0)
    if variances.max() < CHANGE**2 * variances.min() or not rises:
        return model
    levels = np.sqrt(variances / typical)
    power = np.sqrt(np.mean(levels**2))
    curve = np.array([brightness, levels])
    return replace(model, sigma=tuple(power * s for s in model.sigma), curve=curve)


def _poisson(line: Line, model: NoiseModel, image: Image) -> NoiseModel:
    """Return the model as Poisson noise, given the line through the variances of -1..1 pixels.

    docs/estimation.md, step 5, explains the choice of the offset.
    """
    half, center = image.half_range, image.center
    slope = max(line.slope, 1e-6 * abs(line.intercept), 1e-12)
    zero = center - half * (line.intercept / slope)
    values = image.pixels[image.inside]

    def read(offset: float) -> float:
        return float(half * np.sqrt(slope * max((offset - zero) / half, 0)))

    def explains(offset: float) -> bool:
        return bool(np.mean(values < offset - _FAR_BELOW * read(offset)) <= OUTLIER_SHARE)

    darkest = _darkest_block(image)
    if darkest < -_STANDARD_ERRORS * read(0.0) / SIDE:
        offset = min(zero, darkest)
    else:
        darkest = max(darkest, 0.0)
        offset = min(max(zero, 0.0), darkest)
    if explains(darkest) and not explains(offset):
        offset = darkest
    return replace(model, sigma=(read(offset),), gain=(half * slope,), offset=(offset,))


def _darkest_block(image: Image) -> float:
    """Return the least mean of a block of one channel, which may be constant."""
    blocks = as_blocks(image.pixels[..., 0], SIDE, SIDE)
    # Divided before they are added: the sum of very large ones would overflow.
    parts = np.divide(blocks, SIDE**2, dtype=image.dtype)
    return float(parts.sum(axis=2, dtype=np.float64).min())


def by_brightness(full: Scale, white: float, correlated: float, most: Any) -> Floats:
    """Return the (B,) variances of the luminance's noise in the bins, at most `most`.

    `white` and `correlated` are the typical variances of the two parts.
    """
    # The roots are used, because these measurements contain texture too.
    of_correlated = np.sqrt(full.bin_variances[0] / full.typical_variances[0])
    variances = np.minimum(white * full.white_profile + correlated * of_correlated, most)
    return np.maximum(variances, _LEAST_FACTOR**2 * (white + correlated))


def _trusted_white(scales: list[Scale], kind: str | None, most: float) -> tuple[Floats, float]:
    """Return the white noise of the channels, (C,) variances, and the variance that they share.

    Texture is subtracted from what may be texture: in color, what the channels share, and what is
    stronger in some of them; in gray, all of the white part. `most` limits the luminance.
    """
    full, channels = scales[0], len(scales[0].matrix)
    # If the kind is specified, there is noise; if the full size is not like text, it is on paper.
    text = two_values(scales) * between(0, _TEXT, full.two_values) if kind is None else 0.0
    noise = 1 - text
    trusted = noise * (full.noise_share if kind in (None, "white") else 1)
    independent = noise * independent_white(full) - (noise - trusted) * possible_texture(full)
    left = (most - independent.mean()) / channels
    return independent, max(0.0, min(trusted * shared_white(full), left))


def _in_opponent(matrix: Floats, independent: Floats, shared: float) -> Floats:
    """Return the (C,) variances of white noise in the opponent channels."""
    variances = matrix**2 @ independent
    variances[0] += len(matrix) * shared
    return variances


def _correlated_part(scales: list[Scale], white: Floats, trust: float) -> Floats:
    """Return the (C, 2 reach + 1, 2 reach + 1) autocovariances of the opponent channels.

    Their spectra are those of the flattest blocks, minus the (C,) variances `white` of white noise,
    times `trust`. The spectrum at half the size resolves low frequencies better; it counts less if
    only few blocks there are as flat as the flattest tenth.
    """
    size = 2 * _REACH + 1
    covariances = np.zeros((len(white), size, size))
    if trust == 0:
        return covariances
    scales = scales[:2]
    u, v, spectra = zip(*(_samples(scale, i) for i, scale in enumerate(scales)), strict=True)
    certain = [1, *(np.exp(min(0, 2 * scale.flatness)) for scale in scales[1:])]
    weights = np.repeat(certain, [len(a) for a in u])
    basis = cosines(np.concatenate(u), np.concatenate(v))
    fit = np.linalg.pinv(basis * weights[:, None]) * weights
    around = 2 * np.pi * np.fft.fftfreq(2 * size)
    everywhere = cosines(*np.meshgrid(around, around, indexing="ij"))
    for floor, spectrum, covariance in zip(white, np.hstack(spectra), covariances, strict=True):
        beyond = trust * np.maximum(spectrum - floor, _LEAST_SHARE * spectrum + 1e-15)
        smooth = np.exp(np.minimum(everywhere @ (fit @ np.log(beyond)), np.log(1.2 * beyond.max())))
        covariance[:] = np.roll(np.fft.ifft2(smooth).real, _REACH, (0, 1))[:size, :size]
    return covariances


def _limited(correlated: Floats, white: Floats, most: float) -> Floats:
    """Return the correlated part with the least level of the chroma, and the luminance's `most`.

    `correlated` holds the autocovariances of the opponent channels, `white` their white noise.
    """
    middle = correlated[:, _REACH, _REACH]
    total = middle + white
    factors = np.clip(_LEAST_CHROMA**2 * total[0] / np.maximum(total, 1e-24), 1, _MOST_RAISED)
    factors[0] = np.clip((most - white[0]) / max(middle[0], 1e-24), 0, 1)
    return correlated * factors[:, None, None]


def _samples(scale: Scale, halvings: int) -> tuple[Floats, Floats, Floats]:
    """Return angular frequencies u and v, in the full-size image, and the (C, n) spectra there.

    The scale is that of the image averaged down `halvings` times, 0 or 1.
    """
    kept = np.full(len(U), True) if halvings == 0 else _COARSE
    u, v = (np.pi * i[kept] / (SIDE * 2**halvings) for i in (U, V))
    response = (np.cos(u / 2) * np.cos(v / 2)) ** (2 * halvings)
    return u, v, scale.variances[:, kept] / response


def _correlation(covariance: Floats, negligible: float) -> Floats | None:
    """Return the correlation for each offset, (C, C, ...) or of one channel; None if negligible."""
    correlation = correlation_of(covariance)
    white = np.zeros_like(correlation)
    white[..., _REACH, _REACH] = np.eye(len(correlation))
    if np.abs(correlation - white).max() < negligible:
        return None
    return correlation[0, 0] if len(correlation) == 1 else correlation
