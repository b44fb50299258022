"""Noise of an image, estimated from the image alone.

Noise is a white part, of one level for each channel, and a correlated part of the opponent
channels; the level of both may depend on the brightness. The white part is what texture cannot
explain: the variance in the directions that it does not reach. The correlated part is what the
flattest blocks hold beyond it, times a factor that says how far it is noise and not texture.

`blocks.py` measures, `trust.py` has the factor, `brightness.py` the dependence on brightness.

References
----------
A. Foi, M. Trimeche, V. Katkovnik, K. Egiazarian, "Practical Poissonian-Gaussian noise modeling and
fitting for single-image raw-data", IEEE Transactions on Image Processing 17 (2008): a line through
the variances at all brightnesses.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import check_choice
from nnk_image.base.image import (
    Image,
    check_image,
    filled,
    require_per_pixel,
    spatial_shape,
    to_opponent,
)
from nnk_image.base.parallel import one_blas_thread
from nnk_image.noise.blocks import (
    SIDE,
    WAVES,
    U,
    V,
    constant_pixels,
    cosines,
    scales,
    usable_pixels,
)
from nnk_image.noise.brightness import Line, by_brightness, curve
from nnk_image.noise.levels import UNCERTAINTY, noise_of_levels
from nnk_image.noise.model import NoiseModel
from nnk_image.noise.row_column import estimate_offsets, row_column_levels, without_offsets
from nnk_image.noise.scale import Scale
from nnk_image.noise.slices import correlation_across_slices
from nnk_image.noise.trust import MOST, factor, signs, white_trust

Floats = npt.NDArray[np.floating[Any]]

KINDS = ("white", "poisson", "correlated", "rician")
"""What a caller may know of the noise."""

_REACH = 7  # offset up to which pixels may correlate
_LEAST_SHARE = 0.02  # of the spectrum that the correlated part has at each frequency
_COARSE = (U < 4) & (V < 4)  # frequencies that images of smaller size contribute
_CHROMA = 0.5  # level of the other opponent channels, at least, relative to the luminance
_MOST_RAISED = 100  # factor of their variances, which are 0 in a gray picture stored in color
_LEAST = 1e-6  # level, relative to half the range, that counts as none
_DRAWING = 0.5  # share of constant areas in an image that has no block without them
_CORRELATED = 0.3  # between neighbors, from which `estimate_sigma` warns
_NEGLIGIBLE = 0.04  # correlation that counts as none
_DARK, _FAR = 0.001, 5.0  # share of pixels far below an offset, and how many times the noise
_IN_VOLUMES = 0.7  # of the factor of the correlated part, which the filter raises there by itself
_UNCERTAINTY = UNCERTAINTY, 0.3  # of the level of white noise, and of correlated noise
_FEWEST_SLICES, _MOST_PIXELS = 4, 1 << 21
"""Least number of slices of a volume that are used, and pixels from which on no more are added."""


@one_blas_thread
def estimate_noise(
    image: npt.ArrayLike,
    *,
    channel_axis: int | None = None,
    spacing: float | Sequence[float] | None = None,
    mask: npt.ArrayLike | None = None,
    kind: str | None = None,
    uneven: bool = False,
) -> NoiseModel:
    """Estimate the kind and the level of the noise of an image.

    By default, the kind is estimated too: whether the noise of neighboring pixels is correlated,
    whether it depends on the brightness, and whether rows or columns have offsets. Noise of a
    grayscale image whose variance grows linearly with the brightness is modeled as Poisson (shot)
    noise.

    Parameters
    ----------
    image : (H, W) array_like, one axis more with `channel_axis`, or a volume
        Image of any real dtype, at least 8 pixels high and wide, unless constant; far more for a
        reliable result. For a volume, slices along its last two axes are used; row and column noise
        is not estimated then, and correlation across slices only without channels.
    channel_axis : int, optional
        Axis of the channels of a color image. Default: the image has no channels.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels along each axis. If given, an array of ambiguous shape
        is a volume and not a color image, as in `image_graph`; the values do not matter.
    mask : bool array_like of the image's shape without channels, optional
        True for valid pixels; the others are ignored, and may be NaN. So are masked entries of a
        masked array. Default: all are valid.
    kind : {"white", "poisson", "correlated", "rician"}, optional
        Kind of the noise, if known. "white": the same everywhere and independent from pixel to
        pixel; "poisson": independent, with a variance that grows linearly with the intensity (in
        color images, a `curve` of any shape); "correlated": all variation in the flattest blocks
        counts as noise, not as texture; "rician": magnitudes of complex values, as in magnetic
        resonance imaging, one level for all channels. Default: one of the first three, estimated.
    uneven : bool
        True if the standard deviation of white or Rician noise changes smoothly across the image,
        as in parallel MRI: the model then has `levels`, one value per pixel for all channels.
        Default False.

    Returns
    -------
    NoiseModel
        Noise in the image's own units, with `sigma` 0 for a constant image. A color image has one
        `sigma` per channel, and a `correlation` if its channels have noise in common, even for
        "white". `rows` and `columns` are estimated from 32 rows or columns on, unless `kind` is
        "rician" or `uneven` is True. The `uncertainty` is the relative standard error of `sigma`,
        or None if no noise was found.

    Raises
    ------
    TypeError, ValueError
        If the image is invalid or has too few pixels; if it has negative values, for "rician"; or
        if `uneven` is combined with "poisson" or "correlated".

    Notes
    -----
    The noise is measured in the flattest blocks of the image. Variation that all of them share
    counts as noise, unless it looks like texture. Fine texture that covers the whole image cannot
    be distinguished from noise with certainty. In such cases, specify `kind`, or check the result
    of denoising with `residual_structure`.

    References
    ----------
    The sources are named in the modules ``nnk_image.noise.blocks``, ``nnk_image.noise.levels`` and
    ``nnk_image.noise.estimation``.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> clean = nnk_image.standard_image("camera").astype(float)
    >>> noise = np.random.default_rng(0).normal(0, 15, (257, 257))
    >>> smooth = (noise[1:, 1:] + noise[:-1, 1:] + noise[1:, :-1] + noise[:-1, :-1]) / 2
    >>> model = nnk_image.estimate_noise(clean + smooth)
    >>> down, right = model.neighbor_correlation()
    >>> 0.3 < down < 0.7 and 0.3 < right < 0.7
    True
    """
    require_per_pixel(
        image, channel_axis, lambda itemsize, channels: 3 * itemsize * channels, "estimate_noise"
    )
    spatial_shape(image, channel_axis, spacing is not None)
    kind = None if kind is None else check_choice("kind", kind, KINDS)
    if kind == "rician" or uneven:
        if kind not in (None, "white", "rician"):
            raise ValueError(f"uneven=True is for kind='white' or 'rician', not {kind!r}")
        checked = check_image(image, channel_axis, mask)
        return noise_of_levels(checked, int(kind == "rician"), uneven)
    return estimated_noise(check_image(image, channel_axis, mask), kind)


def estimated_noise(image: Image, kind: str | None = None, correlated: bool = True) -> NoiseModel:
    """Estimate the noise of a checked image, or the part of it that is not correlated."""
    rows = columns = 0.0
    plane = _plane(image)
    if plane.shape == image.shape:
        rows, columns = row_column_levels(plane)
        if rows or columns:
            plane = without_offsets(plane, estimate_offsets(plane, rows, columns))
    found = measured(plane, image.shape) if plane.high > plane.low else []
    if not found:
        return NoiseModel([0.0] * image.channels, rows=rows, columns=columns)
    share = float(factor(signs(found))) if kind is None else MOST * (kind == "correlated")
    share *= correlated * (1 if plane.shape == image.shape else _IN_VOLUMES)
    model = replace(model_of(found, plane, share, kind), rows=rows, columns=columns)
    if not correlated or kind not in (None, "correlated"):
        return model
    across = correlation_across_slices(image)
    if across is None:
        return model
    within = np.ones((1, 1)) if model.correlation is None else model.correlation
    return replace(model, correlation=np.multiply.outer(across, within))


def measured(image: Image, shape: tuple[int, ...] | None = None) -> list[Scale]:
    """Measure an image of two axes, scaled to -1..1 so that no square is of extreme size.

    The list is empty if constant areas fill the image, as in a drawing. An error names the `shape`
    that the caller gave, which may be that of a volume; by default, it is the image's own.
    """
    shape = shape or image.shape
    if min(image.shape) < SIDE:
        count = f"{image.channels} channel" + "s" * (image.channels > 1)
        along = " along the last two axes" if len(shape) > 2 else ""
        raise ValueError(
            f"the noise of {count} of {'x'.join(map(str, shape))} pixels cannot be estimated: "
            f"at least {SIDE}x{SIDE} are needed{along}; check channel_axis, or give sigma to "
            "denoise"
        )
    center, half = image.low / 2 + image.high / 2, image.high / 2 - image.low / 2
    units = image.pixels.astype(image.dtype) / half - center / half
    channels, constant = to_opponent(units), constant_pixels(units)
    found = scales(channels, usable_pixels(units, image.valid), constant)
    valid = np.full(image.shape, True) if image.valid is None else image.valid
    if found or constant[valid].mean() > _DRAWING:
        return found
    found = scales(channels, valid, np.zeros_like(constant))  # all of it is clipped
    if not found:
        raise ValueError(
            "the noise cannot be estimated, because the mask leaves no complete block; give sigma"
        )
    return found


def model_of(found: list[Scale], image: Image, share: float, kind: str | None = None) -> NoiseModel:
    """Return the noise of an image that was `measured`; `share` is that of the correlated part."""
    full, matrix = found[0], found[0].opponent.matrix
    believed = white_trust(found) if kind in (None, "white") else 1
    most_by_bin = np.inf if kind == "correlated" else full.most_luminance
    most = float(np.median(most_by_bin))
    independent = full.typical_white - full.shared_white
    if image.channels == 1:
        independent *= believed
    left = (most - independent.mean()) / image.channels
    shared = max(0.0, min(believed * full.shared_white, left))
    white = independent + shared
    in_opponent = matrix**2 @ independent
    in_opponent[0] += image.channels * shared
    correlated = _correlated_part(found, in_opponent, share)
    middle = correlated[0, _REACH, _REACH]
    if middle > 0:
        correlated[0] *= np.clip((most - in_opponent[0]) / middle, 0, 1)
    back = np.linalg.inv(matrix)
    covariance = np.einsum("ck,dk,kyx->cdyx", back, back, correlated)
    covariance[..., _REACH, _REACH] += np.diag(np.maximum(white - shared, 1e-24)) + shared
    sigma = np.sqrt(np.diagonal(covariance[..., _REACH, _REACH]))
    if sigma.max() < _LEAST:
        return NoiseModel([0.0] * image.channels)
    half, center = image.high / 2 - image.low / 2, image.low / 2 + image.high / 2
    shares = np.array([1, 1 - white.sum() / (sigma @ sigma)])
    model = NoiseModel(
        half * sigma,
        correlation=_correlation(covariance, sigma),
        uncertainty=float(np.linalg.norm(_UNCERTAINTY * shares)),
    )
    if kind == "white":
        return model
    middle = correlated[0, _REACH, _REACH]
    variances = by_brightness(full, in_opponent[0], middle, most_by_bin)
    line = Line.through(full.brightness, variances)
    if image.channels == 1 and (kind == "poisson" or line.grows(*full.range)):
        counts = _counts(line, model, half, center, full.range[0])
        if kind == "poisson" or _is_possible(counts, image, center):
            return counts
    levels = curve(center + half * full.brightness, variances / (in_opponent[0] + middle))
    if levels is None:
        return model
    power = np.sqrt(np.mean(levels[1] ** 2))
    return replace(model, sigma=tuple(power * s for s in model.sigma), curve=levels)


def _counts(
    line: Line, model: NoiseModel, half: float, center: float, darkest: float
) -> NoiseModel:
    """Return the model with the variances of a line, whose units are `half`, from `center` on.

    No light is less than that of the `darkest` block.
    """
    slope = max(line.slope, 1e-6 * abs(line.intercept), 1e-12)
    at_zero = line.intercept - slope * (center / half)
    read, offset = (half * np.sqrt(max(at_zero, 0)), -half * min(at_zero, 0) / slope)
    offset = min(offset, max(0.0, center + half * darkest))
    return replace(model, sigma=(read,), gain=(half * slope,), offset=(offset,))


def _is_possible(counts: NoiseModel, image: Image, center: float) -> bool:
    """Whether hardly any pixel is so far below the offset that noise cannot explain it."""
    some = image.pixels.ravel()[:: 1 + (image.pixels.size >> 18)]
    (gain,), (read,), (offset,) = counts.gain, counts.sigma, counts.offset
    level = np.sqrt(gain * max(center - offset, 0) + read**2)
    return bool(np.quantile(some, _DARK) >= offset - _FAR * level)


def _correlated_part(found: list[Scale], white: Floats, share: float) -> Floats:
    """Return covariances by offset, (C, 2 reach + 1, 2 reach + 1), of the opponent channels.

    Their spectra are those of flat blocks less `white`, that of the opponent channels, times
    `share`. Those of smaller images, which show what is wider than a block, count as far as these
    have flat places.
    """
    size = 2 * _REACH + 1
    if share == 0:
        return np.zeros((len(white), size, size))
    u, v, spectra = zip(*(_samples(scale, i) for i, scale in enumerate(found)), strict=True)
    certain = np.exp(np.minimum.accumulate([0, *(2 * scale.flatness for scale in found[1:])]))
    weights = np.repeat(certain, [len(a) for a in u])
    basis = cosines(np.concatenate(u), np.concatenate(v), WAVES)
    fit = np.linalg.pinv(basis * weights[:, None]) * weights
    around = np.abs(2 * np.pi * np.fft.fftfreq(2 * size))
    rows, columns = np.meshgrid(around, around, indexing="ij")
    everywhere = cosines(rows.ravel(), columns.ravel(), WAVES)
    covariances = []
    for own, spectrum in zip(white, np.hstack(spectra), strict=True):
        beyond = share * np.maximum(spectrum - own, _LEAST_SHARE * spectrum + 1e-15)
        smooth = np.exp(np.minimum(everywhere @ (fit @ np.log(beyond)), np.log(1.2 * beyond.max())))
        covariance = np.fft.ifft2(smooth.reshape(2 * size, 2 * size)).real
        covariances.append(np.roll(covariance, (_REACH, _REACH), (0, 1))[:size, :size])
        if len(covariances) > 1:
            total = [c[_REACH, _REACH] + w for c, w in zip(covariances, white, strict=False)]
            covariances[-1] *= np.clip(_CHROMA**2 * total[0] / total[-1], 1, _MOST_RAISED)
    return np.array(covariances)


def _samples(scale: Scale, halvings: int) -> tuple[Floats, Floats, Floats]:
    """Return the angular frequencies, at full size, of a scale's spectra, and (C, n) spectra."""
    kept = np.full(len(U), True) if halvings == 0 else _COARSE
    u, v = (np.pi * i[kept] / (SIDE * 2**halvings) for i in (U, V))
    passed = np.ones(len(u))
    for i in range(halvings):
        passed *= (np.cos(2**i * u / 2) * np.cos(2**i * v / 2)) ** 2
    return u, v, scale.typical_opponent[:, None] * scale.opponent.spectra[:, kept] / passed


def _correlation(covariance: Floats, sigma: Floats) -> Floats | None:
    """Return the correlation by offset, (C, C, ...) or that of one channel; None if negligible."""
    correlation = covariance / np.maximum(sigma[:, None] * sigma, 1e-30)[..., None, None]
    own = np.zeros_like(correlation)
    own[..., _REACH, _REACH] = np.eye(len(sigma))
    if np.abs(correlation - own).max() < _NEGLIGIBLE:
        return None
    return correlation[0, 0] if len(sigma) == 1 else correlation


@one_blas_thread
def estimate_sigma(
    image: npt.ArrayLike,
    *,
    channel_axis: int | None = None,
    spacing: float | Sequence[float] | None = None,
    mask: npt.ArrayLike | None = None,
    per_channel: bool = False,
) -> float | Floats:
    """Estimate the standard deviation of white Gaussian noise in an image.

    White means independent from pixel to pixel and equally strong everywhere; for other noise use
    `estimate_noise`.

    Parameters
    ----------
    image : (H, W) array_like, one axis more with `channel_axis`, or a volume
        Image of any real dtype, at least 8 pixels high and wide, unless constant. For a volume,
        slices along its last two axes are used.
    channel_axis, spacing, mask
        As in `estimate_noise`.
    per_channel : bool
        True returns one estimate per channel, False (default) their mean.

    Returns
    -------
    float, or (C,) ndarray of float64 with `per_channel`
        In the image's own units; 0 for a constant image. A grayscale image has one channel.

    Raises
    ------
    TypeError, ValueError
        If the image is invalid, or has too few pixels.

    Warns
    -----
    UserWarning
        If the noise seems to be correlated between neighbors, so that the estimate is too small.

    References
    ----------
    G. Chen, F. Zhu, P. A. Heng, "An efficient statistical method for image noise level estimation",
    ICCV 2015. Here flat blocks are chosen by some of their frequencies and measured by others, so
    that the choice does not bias the estimate.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> clean = nnk_image.standard_image("camera").astype(float)
    >>> noisy = clean + np.random.default_rng(0).normal(0, 15, clean.shape)
    >>> bool(abs(nnk_image.estimate_sigma(noisy) - 15) < 1)
    True
    """
    require_per_pixel(
        image, channel_axis, lambda itemsize, channels: 2 * itemsize * channels, "estimate_sigma"
    )
    spatial_shape(image, channel_axis, spacing is not None)
    checked = check_image(image, channel_axis, mask)
    plane = _plane(checked)
    found = measured(plane, checked.shape) if plane.high > plane.low else []
    if not found:
        return np.zeros(plane.channels) if per_channel else 0.0
    sigmas = np.array(model_of(found, plane, 0.0, "white").sigma)
    down, right = model_of(found, plane, float(factor(signs(found)))).neighbor_correlation()
    if max(right, down) > _CORRELATED:
        warnings.warn(
            "the noise of this image is correlated between neighbors, by "
            f"{max(right, down):.2f}: estimate_sigma, made for white noise, reads too little; "
            "use estimate_noise, or denoise(image) without sigma",
            stacklevel=2,
        )
    return sigmas if per_channel else float(sigmas.mean())


def _plane(image: Image) -> Image:
    """Return the image in C order, so that sums do not depend on its layout.

    Of a volume some slices, one below the other, with a masked row between them. Masked pixels
    have the values of the nearest valid ones.
    """
    if len(image.shape) == 2:
        pixels = np.ascontiguousarray(filled(image.pixels, image.valid))
        return replace(image, pixels=pixels)
    height, width = image.shape[-2:]
    pixels = image.pixels.reshape(-1, height, width, image.channels)
    number = max(_FEWEST_SLICES, _MOST_PIXELS // (height * width))
    chosen = np.unique(np.linspace(0, len(pixels) - 1, number).round().astype(int))
    parts = np.zeros((len(chosen), height + 1, width), bool)
    parts[:, :-1] = True if image.valid is None else image.valid.reshape(-1, height, width)[chosen]
    valid = parts.reshape(-1, width)
    rows = np.pad(pixels[chosen], ((0, 0), (0, 1), (0, 0), (0, 0)), mode="edge")
    rows = rows.reshape(-1, width, image.channels)
    return replace(image, pixels=rows if image.valid is None else filled(rows, valid), valid=valid)
