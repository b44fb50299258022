"""Row and column noise: offsets that all pixels of a row, or of a column, share.

Sensors that are read row by row add an offset to each row, scanners one to each column. A window
or patch sees too little of a row to separate its offset from the image. The whole row shows it:
the image changes from one row to the next at some of its pixels, an offset at all of them. So the
median of these differences shows the change of the offset.
"""

import numpy as np
from scipy.linalg import solveh_banded

from nnk_image.base.image import Floats, Image
from nnk_image.noise.autocovariance import REACH, cut
from nnk_image.noise.blocks import constant_pixels, empty_pixels, is_drawing
from nnk_image.noise.model import LEAST_NOISE, NoiseModel

_TO_DEVIATION = 1.4826  # standard deviation of normal values over the median of their magnitudes
_LEAST_ROWS = 32  # rows, or columns, that an estimate needs
_LEAST_PIXELS = 16  # of a row that an estimate needs: the median of a few dots is one of them
_FARTHEST, _MOST_CORRELATION = 20, 5.0
"""Limit of the correlation of row differences 2 to 20 rows apart, times the root of their number.
For independent offsets it is 0 apart from random error. In interlaced video and lines of text it is
larger."""

_SPREAD_PIXELS = 2**18  # about how many of a channel show the spread of the differences

_CERTAIN = 4.0  # least ratio of total to white-noise variance at which offsets are accepted
_MOST_OFFSETS = 2.0
"""Standard deviation of estimated offsets, relative to their level, from which they belong to the
picture, such as lines of text. It is 0.6 to 1.2 for noise."""

_MOST_STEP = 3.0  # standard deviations beyond which a step is a change of the image, as at a border
_CHANGES = np.geomspace(1e-3, 1e12, 192)[:, None]
"""Variances of the image's change from row to row, relative to that of the offsets, of which the
most likely one is used."""


def row_column_levels(image: Image) -> tuple[float, float]:
    """Estimate the standard deviations of row and of column offsets; 0 where there are none."""
    unit = image.half_range
    constant = _constant(image)
    if unit == 0 or is_drawing(constant, image.mask):
        return 0.0, 0.0
    # Divided, so that squares do not overflow.
    channels = np.moveaxis(image.pixels, -1, 0) / np.float64(unit)
    varying = _varying(image, constant)
    rows, columns = _level(channels, varying), _level(*_turned(channels, varying))
    return unit * rows, unit * columns


def estimate_offsets(image: Image, rows: float, columns: float) -> Floats:
    """Estimate the (C, H, W) offsets of rows and columns, given their standard deviations."""
    channels = np.moveaxis(image.pixels, -1, 0).astype(np.float64)
    return _rows_and_columns(image, channels, rows, columns, _offsets)


def remaining_offsets(image: Image, estimate: Floats, noise: NoiseModel) -> Floats:
    """Return the (C, H, W) offsets in what denoising removed; its result is `estimate`."""
    removed = np.moveaxis(image.pixels - estimate, -1, 0).astype(np.float64)
    return _rows_and_columns(image, removed, noise.rows, noise.columns, _centered_means)


def without_offsets(image: Image, offsets: Floats) -> Image:
    """Return the image minus (C, H, W) offsets; masked pixels and empty areas stay as they are."""
    valid = _varying(image, _constant(image))
    varying = ... if valid is None else valid
    pixels = image.pixels.astype(image.dtype)
    pixels[varying] -= np.moveaxis(offsets, 0, -1)[varying].astype(image.dtype)
    return image.replaced(pixels=pixels)


def offsets_as_correlation(noise: NoiseModel, image: Image, means) -> NoiseModel:
    """Return a model of one level, whose correlation includes row and column noise.

    `noise` has one value per channel, and `means` holds the mean pixel of each channel.
    """
    light = np.maximum(np.array(means) - noise.offset, 0)
    variances = np.array(noise.sigma) ** 2 + np.array(noise.gain) * light
    variance = variances.sum() / max(1, np.count_nonzero(variances))  # constant channels have 0
    a, b = (min(REACH, n - 1) for n in image.shape)
    correlation = noise.mean_correlation()
    covariance = variance * cut(np.ones((1, 1)) if correlation is None else correlation, (a, b))
    covariance[a] += noise.rows**2
    covariance[:, b] += noise.columns**2
    middle = covariance[a, b]
    return NoiseModel(np.sqrt(middle), correlation=covariance / middle).for_channels(len(means))


def _rows_and_columns(image, channels, rows, columns, find) -> Floats:
    """Return the (C, H, W) sum of the offsets that `find` returns for rows, and then for columns.

    ``find(channels, valid, sigma)`` returns (C, H) offsets, given their standard deviation.
    """
    valid = _varying(image, _constant(image))
    offsets = np.zeros(channels.shape)
    if rows:
        offsets += find(channels, valid, rows)[:, :, None]
    if columns:
        offsets += find(*_turned(channels - offsets, valid), columns)[:, None, :]
    return offsets


def _constant(image):
    return constant_pixels(image.pixels, image.valid) & image.mask


def _varying(image, constant):
    """Return which pixels are valid and outside of empty areas, which show no offsets."""
    empty = empty_pixels(image.pixels, constant)
    varying = image.mask & ~empty
    return varying if empty.any() and varying.any() else image.valid


def _turned(channels, valid):
    return channels.swapaxes(1, 2), None if valid is None else valid.T


def _row_differences(channels, valid):
    """Return (C, H - 1) medians of differences to the next row, where known, and their variance."""
    n, height, width = channels.shape
    steps, used = np.diff(channels, axis=1), np.full(height - 1, width)
    if valid is not None:
        both = valid[1:] & valid[:-1]
        steps[:, ~both] = np.nan
        used = both.sum(axis=1)
    known = used >= min(_LEAST_PIXELS, width)
    medians = np.zeros((n, height - 1))
    if not known.any():
        return medians, known, np.zeros(n)
    if not known.all():  # a copy takes half as long as the medians
        steps, used = steps[:, known], used[known]
    middles = _medians(steps, used)
    medians[:, known] = middles
    some = slice(None, None, 1 + len(middles[0]) * width // _SPREAD_PIXELS)
    spread = np.abs(steps[..., some] - middles[..., None]).reshape(n, -1)
    spread = _TO_DEVIATION * _medians(spread, np.count_nonzero(~np.isnan(spread[0])))
    return medians, known, np.pi / 2 * spread**2 / used.mean()


def _medians(values, numbers):
    """Return medians along the last axis, which has these numbers of values; the others are NaN."""
    ordered = np.sort(values)  # NaN come last; this is several times as fast as np.median
    middle = np.stack([(numbers - 1) // 2, numbers // 2], axis=-1)
    middle = np.broadcast_to(middle, (*values.shape[:-1], 2))
    return np.take_along_axis(ordered, middle, axis=-1).mean(axis=-1)


def _level(channels, valid):
    """Estimate the standard deviation of row offsets; 0 unless the evidence is clear."""
    medians, known, error = _row_differences(channels, valid)
    medians = medians[:, known]
    if medians.shape[1] < _LEAST_ROWS - 1:
        return 0.0
    limit = _MOST_STEP * _TO_DEVIATION * np.median(np.abs(medians), axis=1, keepdims=True)
    medians = np.clip(medians, -limit, limit)
    medians -= medians.mean(axis=1, keepdims=True)
    variance = (medians**2).mean()
    apart = range(1, _FARTHEST + 1)
    first, *others = ((medians[:, n:] * medians[:, :-n]).mean() for n in apart)
    white = error.mean() / 2
    chance = _MOST_CORRELATION / np.sqrt(medians.shape[1])
    if -first < _CERTAIN * white or np.abs(others).max() > chance * variance or variance == 0:
        return 0.0
    level = float(np.sqrt(-first - white))
    if level < LEAST_NOISE:  # rounding errors
        return 0.0
    offsets = _offsets(channels, valid, level, most_step=np.inf)
    return level if offsets.std(axis=1).max() < _MOST_OFFSETS * level else 0.0


def _offsets(channels, valid, sigma, most_step=_MOST_STEP):
    """Return the (C, H) most likely row offsets, given their standard deviation.

    The medians are differences of offsets, plus the changes of the image from row to row. Unusually
    large ones, as at a border or a horizon, do not count.
    """
    medians, known, _ = _row_differences(channels, valid)
    offsets = np.zeros(channels.shape[:2])
    if not known.any():
        return offsets
    for channel_offsets, steps in zip(offsets, medians, strict=True):
        scale = _TO_DEVIATION * np.median(np.abs(steps[known]))
        usual = known & (np.abs(steps) <= most_step * max(scale, np.sqrt(2) * sigma))
        steps = np.where(usual, steps - steps[usual].mean(), 0)  # without a steady gradient
        weights = usual / (sigma**2 * _relative_change(steps / sigma))
        diagonal = 1 / sigma**2 + np.append(weights, 0) + np.append(0, weights)
        sums = -np.diff(weights * steps, prepend=0, append=0)
        channel_offsets[:] = solveh_banded(np.stack([np.append(0, -weights), diagonal]), sums)
    return offsets - offsets.mean(axis=1, keepdims=True)


def _relative_change(steps):
    """Return the variance of the image's change from row to row, relative to that of the offsets.

    It is the most likely one by Whittle's approximation, given (H - 1,) differences relative to the
    deviation of the offsets: those of offsets are strongest at high frequencies, and those of the
    image equally strong at all.
    """
    power = np.abs(np.fft.rfft(steps)[1:]) ** 2 / len(steps)
    of_offsets = 2 - 2 * np.cos(2 * np.pi * np.arange(1, len(power) + 1) / len(steps))
    spectra = _CHANGES + of_offsets
    return _CHANGES[np.argmin((np.log(spectra) + power / spectra).sum(axis=1)), 0]


def _centered_means(channels, valid, _sigma):
    """Return the (C, H) means of the rows minus their mean; 0 where no pixel is valid."""
    valid = np.ones(channels.shape[1:], bool) if valid is None else valid
    count = valid.sum(axis=1)
    means = np.where(valid, channels, 0).sum(axis=2) / np.maximum(count, 1)
    means -= means[:, count > 0].mean(axis=1, keepdims=True)
    return np.where(count > 0, means, 0)
