"""Few counts of light: rounds of denoising, each of a mixture of the image with the last estimate.

Where a pixel has some counts only, its noise is far from Gaussian even after the transform of
`stabilization`, and much of it is left in what is found.  So the image is denoised more than once:
first in sums of 2x2 or 4x4 pixels, which have more counts, then in mixtures with the estimate so
far, which behave as if more light had been there.

References
----------
L. Azzari, A. Foi, "Variance stabilization for noisy+estimate combination in iterative Poisson
denoising", IEEE Signal Processing Letters 23 (2016).
"""

from typing import NamedTuple

import numpy as np
from scipy.ndimage import zoom

from nnk_image.noise.stabilization import Stabilizer

_FEW = 1.4
"""Counts per pixel below which sums of 4x4 pixels come before those of 2x2."""

_ENOUGH = {"fast": 24.0, "balanced": 8.0, "best": 8.0}
"""Counts per pixel from which one round is as good as several."""

_SHARE = {"fast": (0.35, 1 / 3), "balanced": (0.35, 1 / 3), "best": (0.42, 1 / 2)}
"""Share of the image in the last mixture at one count per pixel, and the power of the counts with
which it grows.  A better method needs less of the estimate."""

_MOST_SHARE = 0.85

_BEFORE_BEST, _AT_BEST = 0.65, 0.7
"""Shares of the image in the last two rounds of 'best' from `_FEW` counts on."""

_SPREADINGS = 3
"""Corrections after which interpolated sums have the right sums again."""


class Round(NamedTuple):
    """One round of denoising.

    Attributes
    ----------
    method : str
        What denoises the transformed image.
    side : int
        Sums of so many by so many pixels are denoised; 1 for the pixels themselves.
    share : float
        Of the noisy image in the mixture; 1 in the first round.
    """

    method: str
    side: int
    share: float


def effective_counts(z, gain, read=0.0, offset=0.0):
    """Counts of light per pixel which, without read noise, would be seen as well as those of `z`.

    The square of the mean over the variance of the noise there: the mean count, if there is no
    read noise.

    Parameters
    ----------
    z : ndarray
        Noisy pixels of one channel.
    gain, read, offset : float
        As those of `stabilization.Stabilizer`.
    """
    mean = max(float(np.mean(z, dtype=np.float64)) - offset, 0.0)
    return mean**2 / (gain * mean + read**2) if mean > 0 else 0.0


def rounds_for(method, counts):
    """The rounds that suit a method and a number of counts.

    Parameters
    ----------
    method : str
        Of the last round; methods beside 'fast', 'balanced' and 'best' have no other.  The round of
        sums of 2x2 pixels, a quarter of the work, is one better than 'fast'.
    counts : float
        The `effective_counts` of the image.

    Returns
    -------
    list of Round
        A single round for many counts.
    """
    if counts >= _ENOUGH.get(method, 0.0):
        return [Round(method, 1, 1.0)]
    coarse = "best" if method == "best" or counts < _FEW else "balanced"
    factor, power = _SHARE[method]
    share = float(np.clip(factor * counts**power, 0.2, _MOST_SHARE))
    if counts < _FEW:
        return [Round("fast", 4, 1.0), Round(coarse, 2, 0.6), Round(method, 1, share)]
    if method == "best":
        return [Round(coarse, 2, 1.0), Round("fast", 1, _BEFORE_BEST), Round(method, 1, _AT_BEST)]
    return [Round(coarse, 2, 1.0), Round(method, 1, share)]


def denoise_counts(z, noises, rounds, denoise_unit, valid=None):
    """Denoise an image with Poisson-Gaussian noise, in one round or several.

    Parameters
    ----------
    z : (H, W, C) ndarray of float32 or float64
        The noisy image; pixels that are absent are filled with something near.
    noises : sequence of (gain, read, offset), one per channel
        As those of `stabilization.Stabilizer`.
    rounds : sequence of Round
    denoise_unit : callable
        ``denoise_unit(image, method)`` denoises an (H, W, C) image whose noise has standard
        deviation 1, of any size.
    valid : (H, W) ndarray of bool, optional
        True for the pixels whose mean is kept.

    Returns
    -------
    (H, W, C) ndarray
        Of the dtype of `z`, in its units.  Each channel has the mean that it had: denoising in
        transformed units alone would darken textures.
    """
    estimate, axes = None, z.ndim - 1
    for method, side, share in rounds:
        share = 1.0 if estimate is None else share
        mixture = z if estimate is None else share * z + (1 - share) * estimate
        stabilizers = [
            Stabilizer(gain, read * side ** (axes / 2), offset * side**axes, share)
            for gain, read, offset in noises
        ]
        sums = _sums(mixture, side)
        unit = _by_channel(sums, [s.forward for s in stabilizers])
        estimate = _by_channel(denoise_unit(unit, method), [s.inverse for s in stabilizers])
        estimate = _spread(estimate, side, z.shape)
        _keep_means(estimate, z, noises, valid)
    return estimate


def _by_channel(image, functions):
    """Each channel of an image through its own function."""
    channels = [f(image[..., c]) for c, f in enumerate(functions)]
    return np.ascontiguousarray(np.stack(channels, axis=-1))


def _sums(image, side):
    """Sums of blocks of pixels; where the last block is not whole, the image is mirrored."""
    if side == 1:
        return image
    *shape, channels = image.shape
    image = np.pad(image, (*((0, -n % side) for n in shape), (0, 0)), mode="symmetric")
    blocks = image.reshape([*(part for n in shape for part in (-(-n // side), side)), channels])
    return blocks.sum(axis=tuple(range(1, 2 * len(shape), 2)))


def _spread(sums, side, shape):
    """A smooth image of `shape` whose blocks of pixels have given sums."""
    if side == 1:
        return sums
    axes = len(shape) - 1
    left = sums / sums.dtype.type(side**axes)
    total = 0
    for _ in range(_SPREADINGS):
        part = zoom(left, (*(side,) * axes, 1), order=3, mode="nearest", grid_mode=True)
        total = total + part
        left = left - _sums(part, side) / side**axes
    return np.ascontiguousarray(total[tuple(slice(n) for n in shape)])


def _keep_means(estimate, z, noises, valid):
    """Scale what is above the offset so that each channel has the mean of the noisy image."""
    pixels = slice(None) if valid is None else valid
    for c, (_, _, offset) in enumerate(noises):
        light = np.maximum(estimate[..., c] - offset, 0)
        found = float(light[pixels].mean(dtype=np.float64))
        there = float(z[..., c][pixels].mean(dtype=np.float64)) - offset
        if found > 0 and there > 0:
            light *= there / found
        estimate[..., c] = light + offset
