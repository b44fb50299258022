"""Check a denoised image: what was removed must look like noise, not like part of the image."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nnk_image.base.geometry import as_blocks
from nnk_image.base.image import Array, Bools, Floats, Image, Layout, check_image
from nnk_image.denoising.periodicity import periodicity_of
from nnk_image.noise.blocks import constant_pixels, empty_pixels
from nnk_image.noise.checks import root_mean_square
from nnk_image.noise.clipping import clipped_noise, clipped_normal, clipped_pixels, few_values
from nnk_image.noise.given import given_noise
from nnk_image.noise.model import NoiseModel, PerChannel, deviations

_MOST_STRUCTURE = 2.5  # `structure` above which texture was removed, not only noise
_KURTOSIS = 2.1, 4.25  # values of `kurtosis` between which only noise was removed
_MOST_PERIODICITY = 0.2
"""Largest `periodicity` of noise. It is at most 0.1 in results for 828 noisy photographs and
micrographs of 256 x 256 pixels, real and simulated, and 0.2 to 0.4 where print was blurred."""

_AMOUNT = 0.85, 1.2
"""Values of `amount` between which as much was removed as there is noise. A good filter removes a
little less, and much less if the noise is weak; but of low counts, nearly all of it."""

_SIDE = 8  # of a block, in pixels
_FEWEST = 16  # number of blocks that a check needs
_PART = 4  # the quarter of the blocks with most structure is compared with the flattest quarter
_LEAST_VARIANCE = 1e-3  # expected in a block, over the mean; a model may give 0 without light
_MOST_OF_BLOCK, _MOST_OF_CLIPPED = 16.0, 48.0
"""Kurtosis of a block, after and before it is corrected for clipping, above which an isolated pixel
was removed, such as a hot one. That of a single pixel is 62."""

_MOST_PIXELS = 1 << 18  # pixels of large images, evenly spread, of which `amount` is taken
_LEAST_USABLE = 0.95  # share of a block's pixels that must be neither masked, clipped nor padding


class ResidualCheck(NamedTuple):
    """What denoising removed, compared with noise; `check_residual` returns and explains it."""

    structure: float
    kurtosis: float
    amount: float
    periodicity: float
    is_noise: bool


def check_residual(
    image: npt.ArrayLike,
    denoised: npt.ArrayLike,
    sigma: PerChannel | NoiseModel | None = None,
    *,
    channel_axis: int | None = None,
    mask: npt.ArrayLike | None = None,
) -> ResidualCheck:
    """Check whether denoising removed only noise, or also texture, edges or lines.

    As much noise is removed from structured as from flat areas of the same brightness, and its
    kurtosis is about 3, that of normal noise. That of small text, lines and dots is larger, and
    that of patterns of two values is smaller. Patterns that repeat, as in print and fabric, are
    correlated over longer distances than noise.

    Parameters
    ----------
    image, denoised : (H, W) array_like, one axis more with `channel_axis`, or volumes
        The noisy image and the result, of the same shape and units, of any real dtype.
    sigma : float, sequence of one float per channel, ndarray or NoiseModel, optional
        The noise, as for `denoise`. What was removed is compared with it, at the brightness of each
        block. Default: noise of one unknown level, which may be correlated.
    channel_axis : int, optional
        Axis of the channels of a color image; only the luminance is compared. Default: the image
        has no channels, and an array of three axes is a volume, compared slice by slice.
    mask : bool array_like of the image's shape without channels, optional
        True for valid pixels; the others are ignored, and may be NaN. Default: all are valid.

    Returns
    -------
    A named tuple:

    structure : float
        About 1 or less if only noise was removed; above 2.5 if texture was removed as well: the
        variance of ``image - denoised`` in the most structured quarter of the blocks of 8 x 8
        pixels, divided by the median one in the flattest quarter. Masked and clipped pixels and the
        commonest constant area do not count. NaN if nothing was removed from the flattest blocks.
    kurtosis : float
        About 3 if only noise was removed; mostly more if lines or dots were removed as well, and
        below 2.1 if a pattern of two values was: the kurtosis of ``image - denoised`` in the
        blocks, corrected for clipping, and averaged with their variance as weight. Blocks with
        masked pixels do not count.
    amount : float
        Root mean square of ``image - denoised``, divided by that of the noise: about 1 or less if
        only noise was removed. NaN if `sigma` is not given, 0 or Rician noise, which has a mean.
    periodicity : float
        About 0 if only noise was removed: the largest correlation of ``image - denoised`` with
        itself, displaced along both axes, and by 8 to 24 pixels along one of them, or from where
        the correlation of the noise ends. Masked pixels do not count, nor do the means of rows or
        columns with offsets. Of a large image, the middle is used, and of a large volume, some
        slices. NaN if nothing was removed, and for Rician noise.
    is_noise : bool
        Whether this may be noise alone. The amount must be at most 1.2, and the periodicity at most
        0.2. For correlated noise, and if `sigma` is not given, `structure` must be at most 2.5 and
        `kurtosis` between 2.1 and 4.25. For uncorrelated noise, one of the two is enough. If the
        noise has a `gain`, any kurtosis is accepted if the amount is at least 0.85, or `structure`
        is from 0.4 to 2.5. If one of the two is NaN, the other one decides; if all numbers are NaN,
        nothing was checked.

    Raises
    ------
    TypeError, ValueError
        If an image, the mask or sigma is invalid, or if the shapes differ.

    Notes
    -----
    The difference between an image and its filtered version is called the method noise. The
    kurtosis of Poisson noise is 3 plus 1 over the mean count. Blocks of a kurtosis above 16, from
    which a single pixel was removed, do not count for `structure` and `kurtosis`, which are NaN if
    fewer than 16 blocks are left; so is `periodicity` if there are fewer than 16 blocks at all.
    :doc:`/estimation` explains the limits.

    References
    ----------
    A. Buades, B. Coll, J.-M. Morel, "A review of image denoising algorithms, with a new one",
    Multiscale Modeling & Simulation 4 (2005), section 2.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> rng = np.random.default_rng(0)
    >>> bricks = nnk_image.standard_image("brick") + rng.normal(0, 5, (256, 256))
    >>> check = nnk_image.check_residual(bricks, nnk_image.denoise(bricks, 5))
    >>> check.structure < 1, check.is_noise
    (True, True)
    >>> check = nnk_image.check_residual(bricks, nnk_image.denoise(bricks, 40))  # texture is lost
    >>> check.structure > 2.5, check.is_noise
    (True, False)
    """
    noisy, clean = checked_pair(image, denoised, channel_axis, mask)
    # With a last axis too short for blocks, it is probably a color image without channel_axis.
    has_blocks = noisy.shape[-1] >= _SIDE
    Layout.of(image, channel_axis, has_blocks, f"a last axis of at least {_SIDE} pixels")
    noise = None if sigma is None else given_noise(sigma, noisy)
    return checked_residual(noisy, clean.pixels, noise)


def checked_residual(
    image: Image, denoised: Array, noise: NoiseModel | None, even: bool = False
) -> ResidualCheck:
    """Return the `check_residual` of a checked image and (..., C) denoised pixels.

    If `even`, `structure` compares blocks as if the noise had the same level everywhere.
    """
    shape = -1, image.shape[-1], image.channels
    # Some blocks contain masked pixels, whose values must not matter.
    given, result = (image.filled(pixels).reshape(shape) for pixels in (image.pixels, denoised))
    after = _luminance(image, result)
    removed = _luminance(image, given) - after
    variances, kurtosis = _moments(_blocks(removed))
    valid = image.mask.reshape(shape[:2])
    without_dots = kurtosis <= _MOST_OF_CLIPPED
    _, of_clipped = clipped_normal(_clipped_shares(given, valid))
    kurtosis *= 3 / of_clipped
    without_dots &= kurtosis <= _MOST_OF_BLOCK
    usable = without_dots & (_blocks(_usable(given, valid)).mean(axis=1) >= _LEAST_USABLE)
    expected = np.ones(len(variances))
    if noise is not None and not even:
        expected = _variances_of_blocks(result, noise)
    structure = _structure(_blocks(after).var(axis=1)[usable], variances[usable], expected[usable])
    complete = without_dots & (variances > 0) & _blocks(valid).all(axis=1)
    typical = float("nan")
    if np.count_nonzero(complete) >= _FEWEST:
        typical = float(np.average(kurtosis[complete], weights=variances[complete]))
    amount = _amount(image, denoised, noise)
    periodicity = float("nan")
    if len(variances) >= _FEWEST:
        periodicity = periodicity_of(removed.reshape(-1, *image.shape[-2:]), valid, noise)
    check = ResidualCheck(structure, typical, amount, periodicity, is_noise=False)
    return check._replace(is_noise=is_noise(check, noise))


def is_noise(check: ResidualCheck, noise: NoiseModel | None) -> bool:
    """Return whether what was removed may be noise of this model alone; see `check_residual`."""
    structure, kurtosis, amount = check.structure, check.kurtosis, check.amount
    if amount > _AMOUNT[1] or check.periodicity > _MOST_PERIODICITY:
        return False
    uncorrelated = noise is not None and not any(noise.neighbor_correlation())
    even, normal = structure <= _MOST_STRUCTURE, _KURTOSIS[0] <= kurtosis <= _KURTOSIS[1]
    # Low counts, and speckle of few looks, may have any kurtosis, but not any variance.
    if noise is not None and (any(noise.gain) or (uncorrelated and noise.curve is not None)):
        normal |= _AMOUNT[0] <= amount <= _AMOUNT[1] or (even and structure >= 1 / _MOST_STRUCTURE)
    checks = (structure, even), (kurtosis, normal)
    passed = [result for value, result in checks if not np.isnan(value)]
    return not passed or (any if uncorrelated else all)(passed)


def checked_pair(image, denoised, channel_axis, mask):
    """Return the checked images; pixels of both are valid if they are valid in both."""
    if np.shape(image) != np.shape(denoised):
        shapes = " and ".join(str(np.shape(a)) for a in (image, denoised))
        raise ValueError(f"image and denoised must have the same shape, not {shapes}")
    noisy = check_image(image, channel_axis, mask)
    clean = check_image(denoised, channel_axis, noisy.valid)
    return replace(noisy, valid=clean.valid), clean


def _amount(image: Image, denoised: Array, noise: NoiseModel | None) -> float:
    """Return `amount`, see `check_residual`."""
    if noise is None or noise.rician:
        return float("nan")
    chosen = np.flatnonzero(image.mask)[:: 1 + math.prod(image.shape) // _MOST_PIXELS]
    given, result = (p.reshape(-1, image.channels)[chosen] for p in (image.pixels, denoised))
    if noise.levels is None:
        levels = deviations(noise, result.T if any(noise.gain) else result.mean(axis=1))
    else:  # beside a sigma, only their ratios matter
        relative = noise.levels.ravel()[chosen] / root_mean_square(noise.levels)
        levels = relative * root_mean_square(np.array(noise.sigma))
    removed = np.abs(np.subtract(given, result, dtype=image.dtype))
    expected = np.hypot(root_mean_square(levels), np.hypot(noise.rows, noise.columns))
    return float(root_mean_square(removed) / expected) if expected > 0 else float("nan")


def _usable(pixels: Array, valid: Bools) -> Bools:
    """Return (H, W), whether noisy pixels are neither masked nor clipped nor empty."""
    varying = [c.max() > c.min() for c in np.moveaxis(pixels, -1, 0)]  # others are not clipped
    clipped = clipped_pixels(pixels[..., varying], valid).any(axis=(0, 1))
    return valid & ~clipped & ~empty_pixels(pixels, valid & constant_pixels(pixels, valid))


def _clipped_shares(pixels: Array, valid: Bools) -> Floats:
    """Return (n,) shares of pixels of blocks that noise has clipped at black, or at white.

    They are 0 for counts, whose zeros are not those of clipping.
    """
    if few_values(pixels if valid.all() else pixels[valid]) is not None:
        return np.zeros(len(_blocks(pixels[..., 0])))
    return np.max([_blocks(own).mean(axis=1) for own in clipped_noise(pixels, valid)], axis=0)


def _structure(contents: Floats, removed: Floats, expected: Floats) -> float:
    """Return `structure`, given (n,) variances: of blocks, of what was removed, of the noise."""
    part = len(contents) // _PART
    if len(contents) < _FEWEST:
        return float("nan")
    expected = np.maximum(expected, _LEAST_VARIANCE * (expected.mean() or 1.0))
    order = np.argsort(contents, kind="stable")
    strongest = removed[order[-part:]].mean() / expected[order[-part:]].mean()
    flattest = np.median(removed[order[:part]] / expected[order[:part]])
    return float(strongest / flattest) if flattest > 0 else float("nan")


def _variances_of_blocks(pixels, noise: NoiseModel):
    """Return (n,) noise variances of blocks of (H, W, C) denoised pixels, up to a common factor."""
    if noise.levels is not None:
        levels = noise.levels.reshape(pixels.shape[:2])
        return (_blocks(levels / levels.max()) ** 2).mean(axis=1)
    means = np.array([_blocks(channel).mean(axis=1) for channel in np.moveaxis(pixels, -1, 0)])
    # A curve is a function of the mean of all channels; Poisson noise depends on its own channel.
    brightness = means if any(noise.gain) else means.mean(axis=0)
    sigmas = deviations(noise, brightness)
    return ((sigmas / (sigmas.max(initial=0.0) or 1.0)) ** 2).mean(axis=0)


def _moments(blocks):
    """Return the variance of each block, and its kurtosis, which is 0 if the block is constant."""
    squares = (blocks - blocks.mean(axis=1, keepdims=True)) ** 2
    variances = squares.mean(axis=1, keepdims=True)
    np.divide(squares, variances, out=squares, where=variances > 0)  # before they are squared
    return variances[:, 0], (squares * squares).mean(axis=1)


def _luminance(image: Image, pixels):
    """Return the (H, W) sums of the channels of (H, W, C) pixels."""
    size = image.half_range or 1.0  # the unit, so that squares do not overflow
    channels = np.moveaxis(pixels, -1, 0)
    return sum(np.divide(channel, size, dtype=image.dtype) for channel in channels)


def _blocks(values):
    """Cut (H, W) values into (n, _SIDE^2) blocks; incomplete ones at the end are left out."""
    return as_blocks(values, _SIDE, _SIDE).reshape(-1, _SIDE**2)
