"""Stripes: noise that all pixels of a row, or of a column, share.

Sensors that are read row by row add an offset to each row, scanners one to each column.  A window
or patch sees too little of a row to tell its offset from the image.  The whole row tells it well:
the image changes from one row to the next at some of its pixels, an offset at all of them.  So the
offsets are found and taken away first.

- First guess: of the differences between a row and the next the median is taken, and the offsets
  are those that explain the medians best, given how strong they are known to be.
- Then the image is denoised, what stripes are left being told as correlated noise.  The mean of
  what was taken away from a row is added to its offset.  That is done twice.
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import solveh_banded

from nnk_image.noise.model import NoiseModel
from nnk_image.noise.standard import cut

ROUNDS = (0.35, 0.15)
"""Share of the stripes' standard deviation that is taken to be left in each round."""

_LEAST_ROWS = 32  # to find out whether there are stripes
_NEXT, _SECOND = -0.3, 5.0
"""Differences between rows with independent offsets correlate by -1/2 with the next ones, and not
with the second next, but for chance: the second limit is to be divided by the root of the number of
rows.  What is beyond the limits is something else, such as a texture or the fields of a video."""

_CERTAIN = 4.0  # times the variance that white noise alone would show
_LEAST_CHANGE = 0.2
"""Of the image from row to row, in units of the stripes: medians are trusted no further."""

_REACH = 48  # offsets between pixels for which stripes are told as a correlation


def stripe_levels(image):
    """Standard deviations of the stripes along rows and along columns of an `Image`; 0 for none."""
    channels = np.moveaxis(image.pixels, -1, 0).astype(np.float64)
    return _level(channels, image.valid), _level(*_turned(channels, image.valid))


def first_guess(image, rows, columns):
    """The offsets of an image with stripes, from differences between rows.

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


def without(image, offsets):
    """The image less (C, H, W) offsets; absent pixels stay as they are."""
    pixels = image.pixels.astype(image.dtype)
    less = pixels - np.moveaxis(offsets, 0, -1).astype(image.dtype)
    if image.valid is not None:
        less[~image.valid] = pixels[~image.valid]
    there = less if image.valid is None else less[image.valid]
    return replace(image, pixels=less, low=float(there.min()), high=float(there.max()))


def remove(image, noise, denoise):
    """The image without its stripes.

    Parameters
    ----------
    image : Image
    noise : NoiseModel
        With `rows` or `columns` above 0.
    denoise : function
        ``denoise(image, noise)`` returns (H, W, C) pixels.

    Returns
    -------
    Image
    """
    offsets = first_guess(image, noise.rows, noise.columns)
    for share in ROUNDS:
        rest = without(image, offsets)
        estimate = denoise(rest, _with_stripes_as_correlation(noise, rest, share))
        left = np.moveaxis(rest.pixels - estimate, -1, 0).astype(np.float64)
        if noise.rows:
            means = _centred_means(left, image.valid)[:, :, None]
            offsets, left = offsets + means, left - means
        if noise.columns:
            offsets = offsets + _centred_means(*_turned(left, image.valid))[:, None, :]
    return without(image, offsets)


def _turned(channels, valid):
    return channels.swapaxes(1, 2), None if valid is None else valid.T


def _row_differences(channels, valid):
    """(C, H - 1) medians of the differences to the next row, and the variance of their error."""
    steps = np.diff(channels, axis=1)
    if valid is not None:
        steps[:, ~(valid[1:] & valid[:-1])] = np.nan
    known = np.isfinite(steps[0]).any(axis=1)
    medians = np.zeros(steps.shape[:2])
    medians[:, known] = np.nanmedian(steps[:, known], axis=2)
    around = np.abs(steps[:, known] - medians[:, known, None])
    spread = 1.4826 * np.nanmedian(around, axis=(1, 2)) if known.any() else np.zeros(len(steps))
    return medians, known, np.pi / 2 * spread**2 / channels.shape[2]


def _level(channels, valid):
    """Standard deviation of the offsets of rows; 0 if they are not seen clearly."""
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
    if -following < _CERTAIN * white or variance == 0:
        return 0.0
    chance = _SECOND / np.sqrt(channels.shape[1])
    if following / variance > _NEXT or abs(second / variance) > chance:
        return 0.0
    return float(np.sqrt(-following - white))


def _offsets(channels, valid, sigma):
    """(C, H) most likely offsets of the rows, whose standard deviation is `sigma`.

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


def _centred_means(channels, valid):
    """(C, H) means of the rows, less their own mean; 0 where no pixel takes part."""
    if valid is None:
        means = channels.mean(axis=2)
        return means - means.mean(axis=1, keepdims=True)
    there = valid.sum(axis=1)
    means = np.where(valid, channels, 0).sum(axis=2) / np.maximum(there, 1)
    means -= means[:, there > 0].mean(axis=1, keepdims=True)
    return np.where(there > 0, means, 0)


def _with_stripes_as_correlation(noise, image, share):
    """A model of one level and correlation for the noise, and a share of the stripes."""
    there = slice(None) if image.valid is None else image.valid
    light = image.pixels[there].reshape(-1, image.channels).mean(axis=0, dtype=np.float64)
    gains, offsets = (noise.of_channels(name, image.channels) for name in ("gain", "offset"))
    photons = np.mean(gains * np.maximum(light - offsets, 0))
    variance = float(np.mean(noise.of_channels("sigma", image.channels) ** 2) + photons)
    a, b = (min(_REACH, n - 1) for n in image.shape)
    covariance = np.zeros((2 * a + 1, 2 * b + 1))
    covariance[a, b] = variance
    if noise.correlation is not None:
        covariance = variance * cut(noise.mean_correlation(), (a, b))
    covariance[a] += (share * noise.rows) ** 2
    covariance[:, b] += (share * noise.columns) ** 2
    return NoiseModel.of_covariance(covariance)
