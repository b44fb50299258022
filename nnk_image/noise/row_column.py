"""Row and column noise: offsets that all pixels of a row, or of a column, share.

Sensors that are read row by row add an offset to each row, scanners one to each column. A window
or patch sees too little of a row to separate its offset from the image. The whole row shows it:
the image changes from one row to the next at some of its pixels, an offset at all of them.

The medians of the differences between each row and the next are taken, and the offsets are those
that explain the medians best, given their standard deviation.
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import solveh_banded

from nnk_image.base.image import Image
from nnk_image.noise.checks import cut
from nnk_image.noise.model import NoiseModel

_REACH = 48  # offsets between pixels up to which row and column noise counts as correlation
_LEAST_ROWS = 32  # for an estimate
_SECOND = 5.0
"""Differences between rows with independent offsets do not correlate with the second next, but for
chance: the limit is divided by the root of the number of rows. Beyond it they are something else,
such as the fields of a video."""

_SPREAD_FROM = 2**18
"""About how many pixels of a channel the spread of the differences is computed from."""

_CERTAIN = 4.0  # times the variance that white noise alone would show
_LEAST_CHANGE = 0.2
"""Least change of the image from row to row, in units of the offsets' standard deviation."""


def row_column_levels(image: Image) -> tuple[float, float]:
    """Estimate the standard deviations of row and of column offsets; 0 where there are none."""
    half = image.high / 2 - image.low / 2
    if half == 0:
        return 0.0, 0.0
    channels = np.ascontiguousarray(np.moveaxis(image.pixels, -1, 0))
    channels = channels / float(half)  # squares of extreme size are avoided
    return half * _level(channels, image.valid), half * _level(*_turned(channels, image.valid))


def estimate_offsets(image, rows, columns):
    """Estimate the offsets of rows and columns from differences between neighboring ones.

    Parameters
    ----------
    image : Image
    rows, columns : float
        Standard deviations of the offsets.

    Returns
    -------
    (C, H, W) ndarray
    """
    channels = np.moveaxis(image.pixels, -1, 0).astype(np.float64)
    found = np.zeros(channels.shape)
    if rows:
        found += _offsets(channels, image.valid, rows)[:, :, None]
    if columns:
        turned, valid = _turned(channels - found, image.valid)
        found += _offsets(turned, valid, columns)[:, None, :]
    return found


def without_offsets(image, offsets):
    """Return the image minus (C, H, W) offsets; masked pixels stay as they are."""
    pixels = image.pixels.astype(image.dtype)
    less = pixels - np.moveaxis(offsets, 0, -1).astype(image.dtype)
    if image.valid is not None:
        less[~image.valid] = pixels[~image.valid]
    there = less if image.valid is None else less[image.valid]
    return replace(image, pixels=less, low=float(there.min()), high=float(there.max()))


def _turned(channels, valid):
    return np.ascontiguousarray(channels.swapaxes(1, 2)), None if valid is None else valid.T


def _row_differences(channels, valid):
    """Return the (C, H - 1) medians of differences to the next row, and their variance."""
    steps = np.diff(channels, axis=1)
    median = np.median
    if valid is not None:
        median = np.nanmedian  # much slower
        steps[:, ~(valid[1:] & valid[:-1])] = np.nan
    known = np.isfinite(steps[0]).any(axis=1)
    medians = np.zeros(steps.shape[:2])
    steps = np.compress(known, steps, axis=1)
    medians[:, known] = median(steps, axis=2)
    some = slice(None, None, 1 + steps[0].size // _SPREAD_FROM)
    around = np.abs(steps[:, :, some] - medians[:, known, None])
    spread = 1.4826 * median(around, axis=(1, 2)) if known.any() else np.zeros(len(steps))
    return medians, known, np.pi / 2 * spread**2 / channels.shape[2]


def _level(channels, valid):
    """Estimate the standard deviation of row offsets; 0 unless the evidence is clear."""
    if channels.shape[1] < _LEAST_ROWS:
        return 0.0
    medians, _, error = _row_differences(channels, valid)
    limit = 3 * 1.4826 * np.median(np.abs(medians), axis=1, keepdims=True)
    medians = np.clip(medians, -limit, limit)
    medians -= medians.mean(axis=1, keepdims=True)
    variance = (medians**2).mean()
    following = (medians[:, 1:] * medians[:, :-1]).mean()
    second = (medians[:, 2:] * medians[:, :-2]).mean()
    white = error.mean() / 2
    chance = _SECOND / np.sqrt(channels.shape[1])
    if -following < _CERTAIN * white or abs(second) > chance * variance or variance == 0:
        return 0.0
    return float(np.sqrt(-following - white))


def _offsets(channels, valid, sigma):
    """Return the (C, H) most likely row offsets, given their standard deviation `sigma`.

    The medians are differences of offsets, plus what the image changes from row to row.
    """
    medians, known, _ = _row_differences(channels, valid)
    offsets = np.zeros(channels.shape[:2])
    if not known.any():
        return offsets
    for number, steps in enumerate(medians):
        scale = 1.4826 * np.median(np.abs(steps[known]))
        change = max(scale**2 - 2 * sigma**2, (_LEAST_CHANGE * sigma) ** 2)
        weights = np.where(known, 1 / change, 0.0)
        bands = np.zeros((2, channels.shape[1]))
        bands[1] = 1 / sigma**2
        bands[1, :-1] += weights
        bands[1, 1:] += weights
        bands[0, 1:] = -weights
        sums = np.zeros(channels.shape[1])
        sums[:-1] -= weights * steps
        sums[1:] += weights * steps
        offsets[number] = solveh_banded(bands, sums)
    return offsets - offsets.mean(axis=1, keepdims=True)


def remaining_offsets(image: Image, estimate, noise: NoiseModel):
    """Return the (C, H, W) offsets in what denoising has removed from an image.

    `estimate` holds the (H, W, C) denoised pixels.
    """
    removed = np.moveaxis(image.pixels - estimate, -1, 0).astype(np.float64)
    offsets = np.zeros(removed.shape)
    if noise.rows:
        means = _centered_means(removed, image.valid)[:, :, None]
        offsets, removed = offsets + means, removed - means
    if noise.columns:
        offsets = offsets + _centered_means(*_turned(removed, image.valid))[:, None, :]
    return offsets


def offsets_as_correlation(noise: NoiseModel, shape, means, share) -> NoiseModel:
    """Return a model of one level whose correlation includes a share of the offsets.

    Parameters
    ----------
    noise : NoiseModel
        One value per channel.
    shape : (int, int)
        Of the image.
    means : sequence of float
        Of its channels.
    share : float
        Share of the standard deviation of the offsets.
    """
    light = np.maximum(np.array(means) - noise.offset, 0)
    shot = np.mean(np.array(noise.gain) * light)
    variance = float(np.mean(np.array(noise.sigma) ** 2) + shot)
    a, b = (min(_REACH, n - 1) for n in shape)
    covariance = np.zeros((2 * a + 1, 2 * b + 1))
    covariance[a, b] = variance
    correlation = noise.mean_correlation()
    if correlation is not None:
        covariance = variance * cut(correlation, (a, b))
    covariance[a] += (share * noise.rows) ** 2
    covariance[:, b] += (share * noise.columns) ** 2
    middle = covariance[a, b]
    sigma = (float(np.sqrt(middle)),) * len(means)
    return NoiseModel(sigma, (0.0,) * len(means), (0.0,) * len(means), covariance / middle)


def _centered_means(channels, valid):
    """Return the (C, H) means of the rows minus their mean; 0 where no pixel is valid."""
    if valid is None:
        means = channels.mean(axis=2)
        return means - means.mean(axis=1, keepdims=True)
    count = valid.sum(axis=1)
    means = np.where(valid, channels, 0).sum(axis=2) / np.maximum(count, 1)
    means -= means[:, count > 0].mean(axis=1, keepdims=True)
    return np.where(count > 0, means, 0)
