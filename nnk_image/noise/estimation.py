"""Noise level from one image: the smallest eigenvalue of its weakly textured patches.

A patch that is flat but for noise spreads equally in all directions of patch space, so
the smallest eigenvalue of the patches' covariance is the variance of the noise.  Patches
whose gradients are too strong to be noise are left out, with a threshold that follows
the estimate.

References
----------
X. Liu, M. Tanaka, M. Okutomi, "Single-image noise level estimation for blind denoising",
IEEE Transactions on Image Processing 22 (2013).
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from nnk_image.base.image import (
    MOST_AXES,
    Image,
    check_image,
    opponent_matrix,
    require_per_pixel,
    spatial_shape,
    to_opponent,
)
from nnk_image.base.parallel import one_blas_thread
from nnk_image.noise import flat_blocks
from nnk_image.noise.curve import NoiseCurve, noise_curve
from nnk_image.noise.model import NoiseModel
from nnk_image.noise.row_column import estimate_offsets, row_column_levels, without_offsets

Floats = npt.NDArray[np.floating[Any]]

PATCH = 7
FLAT_ENERGY = 275.0
"""Gradient energy of a patch of unit white noise that 99 % of patches stay below."""

_MOST_PATCHES = 100_000
_WHITE_UNCERTAINTY = 0.04
"""Relative error of the level of white noise, measured on the classic test images."""

_FEWEST_SLICES, _MOST_PIXELS = 4, 1 << 21
"""Least number of slices of a volume that are used, and pixels from which on no more are added."""

_FEWEST_PATCHES = 3 * PATCH**2
_ROUNDS = 10

_CERTAIN = 0.03
"""Relative error of the gain up to which noise is Poisson noise despite correlated neighbors;
of 24 images of correlated noise that grows with the intensity none has less than 0.036."""

_QUIET, _QUIET_NOISE = 0.02, 0.62
"""Quantile of the variances of patches, and what it is for white noise of variance 1."""

_QUIET_STEP = 4  # every fourth patch is enough for it
_RESTLESS = 0.1  # least of such a level in an image that is all texture; half the range is 1
_TEXTURED = 3.0
"""Levels of the noise from which quiet patches are texture: 1 to 1.4 with noise, 4 to 5 without."""


@one_blas_thread
def estimate_noise(
    image: npt.ArrayLike,
    *,
    channel_axis: int | None = None,
    spacing: float | Sequence[float] | None = None,
    mask: npt.ArrayLike | None = None,
) -> NoiseModel:
    """Estimate the noise of an image.

    The simplest model that explains the image is chosen: white noise of one level per channel;
    Poisson noise, which grows with the intensity; or correlated noise, as in photographs developed
    by a camera, with a curve if its level changes with the brightness. Row and column noise is
    estimated beside any of them.

    Parameters
    ----------
    image : (H, W) array_like, one axis more with `channel_axis`, or a volume
        At least 8 pixels high and wide, unless constant; correlation is estimated from 64 on.
        Of a volume, slices along its last two axes are used: correlation across slices, and row
        and column noise, are not estimated.
    channel_axis : int, optional
        Axis of the channels of a color image.
    spacing : float or sequence of float, optional
        Marks an array as a volume where one of its axes could be that of colors, as in
        `image_graph`.
    mask : bool array_like of the image's shape, optional
        True for the pixels that take part.

    Returns
    -------
    NoiseModel
        In the image's own units; its `uncertainty` is the relative error of the level.

    Raises
    ------
    TypeError, ValueError
        If the image is invalid, or has too few pixels.

    References
    ----------
    X. Liu, M. Tanaka, M. Okutomi, "Single-image noise level estimation for blind denoising", IEEE
    Transactions on Image Processing 22 (2013), for white noise; for correlated noise see
    ``nnk_image.noise.flat_blocks``.

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
    return estimated_noise(check_image(image, channel_axis, mask, MOST_AXES))


def estimated_noise(image: Image) -> NoiseModel:
    """Estimate the noise of a checked image."""
    rows = columns = 0.0
    plane = _plane(image)
    if plane.shape == image.shape:
        rows, columns = row_column_levels(plane)
        if rows or columns:
            plane = without_offsets(plane, estimate_offsets(plane, rows, columns))
    (flat, rotation), curves = _correlated_noise(plane), _noise_curves(plane)
    if flat is not None and not all(map(_is_line, curves)):
        model = _model_of(flat.corrected(), rotation, plane)
    elif any(curve is not None and curve.signal_dependent for curve in curves):
        model = _poisson_model(curves, plane)
    else:
        model = NoiseModel(noise_levels(plane), uncertainty=_WHITE_UNCERTAINTY)
    return replace(model, rows=rows, columns=columns)


def _plane(image: Image) -> Image:
    """Return the image in C order, so that sums do not depend on its layout.

    Of a volume some slices, one below the other, with a masked row between them.
    """
    if len(image.shape) == 2:
        return replace(image, pixels=np.ascontiguousarray(image.pixels))
    height, width = image.shape[-2:]
    pixels = image.pixels.reshape(-1, height, width, image.channels)
    number = max(_FEWEST_SLICES, _MOST_PIXELS // (height * width))
    chosen = np.unique(np.linspace(0, len(pixels) - 1, number).round().astype(int))
    valid = np.zeros((len(chosen), height + 1, width), bool)
    valid[:, :-1] = True if image.valid is None else image.valid.reshape(-1, height, width)[chosen]
    rows = np.pad(pixels[chosen], ((0, 0), (0, 1), (0, 0), (0, 0)), mode="edge")
    return replace(
        image,
        pixels=rows.reshape(-1, width, image.channels),
        valid=valid.reshape(-1, width),
    )


def _is_line(curve: NoiseCurve | None) -> bool:
    """Whether the variance lies so well on a line that it is certainly Poisson noise.

    Correlated noise hides such a line, while fine texture may seem to be correlated noise.
    """
    return curve is not None and curve.signal_dependent and curve.gain_error < _CERTAIN * curve.gain


def _noise_curves(image: Image) -> list[NoiseCurve | None]:
    """Return the noise curve of each channel, None where there are too few pixels."""
    if image.high <= image.low:
        return []
    channels = np.moveaxis(image.pixels.astype(image.dtype), -1, 0)
    return [noise_curve(channel, image.valid) for channel in channels]


def _poisson_model(curves: list[NoiseCurve | None], image: Image) -> NoiseModel:
    """Return the model of noise that grows with the intensity."""
    levels = noise_levels(image)
    gains = [0.0 if curve is None else curve.gain for curve in curves]
    reads = [
        level if curve is None else np.sqrt(curve.variance)
        for curve, level in zip(curves, levels, strict=True)
    ]
    errors = [c.gain_error / c.gain for c in curves if c is not None and c.gain > 0]
    return NoiseModel(reads, gain=gains, uncertainty=float(max(errors)))


def _correlated_noise(image: Image) -> tuple[flat_blocks.FlatNoise | None, Floats]:
    """Return the noise of the opponent channels of an image scaled to -1..1, and their matrix.

    The noise is None if it is white.
    """
    if image.high <= image.low:
        return None, np.eye(image.channels)
    pixels = image.pixels
    usable = ((pixels > image.low) & (pixels < image.high)).all(axis=2)
    units = _centered(image)
    if image.valid is not None:
        usable &= image.valid
        units[~image.valid] = 0
    channels, rotation = to_opponent(units), opponent_matrix(image.channels)
    noise: flat_blocks.FlatNoise | None = flat_blocks.measure_if_noise(
        channels, usable, lambda luminance: _level(luminance, _whole_patches(image))
    )
    return noise, rotation


def _centered(image: Image) -> Floats:
    """Pixels from -1 to 1, so that their squares are of no extreme size."""
    center, half = image.low / 2 + image.high / 2, image.high / 2 - image.low / 2
    return (image.pixels.astype(image.dtype) - center) / half


def _model_of(flat: flat_blocks.FlatNoise, rotation: Floats, image: Image) -> NoiseModel:
    """Return the model of an image whose opponent channels, scaled to -1..1, have noise `flat`."""
    scale, center = image.high / 2 - image.low / 2, image.high / 2 + image.low / 2
    curve = flat.curve()
    levels = scale * flat.denoising_levels()
    if curve is not None:
        curve[0] = center + scale * curve[0] / np.sqrt(len(flat.levels))
        levels = levels * np.sqrt(np.mean(curve[1] ** 2))
    own = flat.correlations * (levels**2)[:, None, None]
    covariance = np.einsum("kc,kd,kyx->cdyx", rotation, rotation, own)
    middle = covariance.shape[-1] // 2
    sigma = np.sqrt(np.diagonal(covariance[:, :, middle, middle]))
    correlation = covariance / (sigma[:, None] * sigma)[..., None, None]
    if len(own) == 1:
        correlation = correlation[0, 0]
    return NoiseModel(sigma, correlation=correlation, curve=curve, uncertainty=flat.spread)


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

    Parameters
    ----------
    image : (H, W) array_like, one axis more with `channel_axis`, or a volume
        At least 8 pixels high and wide, unless constant. Of a volume, slices along its last two
        axes are used.
    channel_axis : int, optional
        Axis of the channels of a color image.
    spacing : float or sequence of float, optional
        As in `estimate_noise`.
    mask : bool array_like of the image's shape, optional
        True for the pixels that take part.
    per_channel : bool
        Return one estimate per channel instead of their mean.

    Returns
    -------
    float, or (C,) ndarray with `per_channel`
        In the image's own units; 0 for a constant image.

    Raises
    ------
    TypeError, ValueError
        If the image is invalid, or has too few pixels.

    References
    ----------
    X. Liu, M. Tanaka, M. Okutomi, "Single-image noise level estimation for blind
    denoising", IEEE Transactions on Image Processing 22 (2013).

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
    checked = _plane(check_image(image, channel_axis, mask, MOST_AXES))
    sigmas = noise_levels(checked)
    flat, _ = _correlated_noise(checked)
    if flat is not None:
        warnings.warn(
            "the noise of this image is correlated between neighbors, by "
            f"{np.median(flat.neighbors):.2f}: estimate_sigma, made for white noise, reads "
            "too little; use estimate_noise, or denoise(image) without sigma",
            stacklevel=2,
        )
    return sigmas if per_channel else float(sigmas.mean())


def noise_levels(image: Image) -> Floats:
    """Noise level of each channel of a checked image."""
    half = image.high / 2 - image.low / 2
    if half == 0:
        return np.zeros(image.channels)
    if min(image.shape) <= PATCH:
        raise ValueError(
            f"the noise of an image of {image.shape[0]}x{image.shape[1]} pixels cannot be "
            f"estimated: {PATCH + 1}x{PATCH + 1} are the least; pass sigma="
        )
    whole = _whole_patches(image)
    channels = np.moveaxis(_centered(image), -1, 0)
    return np.array([half * _less_in_texture(_level(c, whole), c, whole) for c in channels])


def _less_in_texture(level: float, channel: Floats, chosen: npt.NDArray[np.bool_]) -> float:
    """Return the level, lowered where texture is everywhere.

    That is so if even the quietest patches vary many times as much as the noise.
    """
    patches = sliding_window_view(channel, (PATCH, PATCH))[chosen][::_QUIET_STEP]
    quiet = np.sqrt(np.quantile(patches.var(axis=(1, 2)), _QUIET) / _QUIET_NOISE)
    return level * min(1.0, _TEXTURED * level / quiet) if quiet > _RESTLESS else level


def _whole_patches(image: Image) -> npt.NDArray[np.bool_]:
    """Positions of patches without absent pixels, thinned out on large images."""
    shape = tuple(n - PATCH + 1 for n in image.shape)
    step = int(np.ceil(np.sqrt(shape[0] * shape[1] / _MOST_PATCHES)))
    chosen = np.zeros(shape, bool)
    chosen[::step, ::step] = True
    if image.valid is not None:
        chosen &= sliding_window_view(image.valid, (PATCH, PATCH)).all(axis=(2, 3))
    if chosen.sum() < _FEWEST_PATCHES:
        chosen = np.ones(shape, bool) if image.valid is None else chosen
    if not chosen.any():
        raise ValueError("the mask leaves no whole patch to estimate the noise from; pass sigma=")
    return chosen


def _level(channel: Floats, chosen: npt.NDArray[np.bool_]) -> float:
    patches = sliding_window_view(channel, (PATCH, PATCH))[chosen].reshape(-1, PATCH**2)
    energy = _gradient_energy(patches)
    order = np.argsort(energy, kind="stable")  # so that flat patches are the first ones
    energy, patches = energy[order], patches[order].astype(np.float64, copy=False)
    variance = _smallest_eigenvalue(patches)
    for _ in range(_ROUNDS):
        n_flat = int(np.searchsorted(energy, FLAT_ENERGY * variance, side="right"))
        if n_flat < _FEWEST_PATCHES:
            break
        before, variance = variance, _smallest_eigenvalue(patches[:n_flat])
        if abs(variance - before) <= 1e-4 * before:
            break
    return float(np.sqrt(variance))


def _gradient_energy(patches: Floats) -> Floats:
    """Sum of the squared differences of neighbors within each patch."""
    square = patches.reshape(-1, PATCH, PATCH)
    rows, columns = np.diff(square, axis=1), np.diff(square, axis=2)
    energy = np.einsum("nij,nij->n", rows, rows) + np.einsum("nij,nij->n", columns, columns)
    return np.asarray(energy)


def _smallest_eigenvalue(patches: Floats) -> float:
    """Of the covariance, corrected for the number of patches (Marchenko-Pastur edge)."""
    n, size = patches.shape
    sums = patches.sum(axis=0)
    covariance = (patches.T @ patches - np.outer(sums, sums) / n) / (n - 1)
    smallest = max(np.linalg.eigvalsh(covariance)[0], 0.0)
    return float(smallest / (1 - np.sqrt(size / n)) ** 2 if n > 4 * size else smallest)
