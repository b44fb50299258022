"""Blocks of an image as cosine coefficients, and the selection of flat ones, which show its noise.

Blocks are selected by their even part and measured by the odd one, and vice versa, see step 1 in
docs/estimation.md. The parts are uncorrelated because the covariance of noise is the same at an
offset and at the opposite one.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import maximum_filter

from nnk_image.base.channels import cosine_matrix
from nnk_image.base.image import Array, Bools, Floats
from nnk_image.base.pyramid import halve
from nnk_image.noise.clipping import clipped_noise, clipped_normal

SIDE = 8  # height and width of a block in pixels, as in JPEG
FLAT = 1 / 3  # share of the blocks, the flattest, in which white noise and texture are measured
_STEPS = 4, 2, 1  # possible distances of blocks in pixels; the first with enough blocks is used
_ENOUGH_BLOCKS, _MOST_BLOCKS = 2_000, 17_000  # if there would be more, they are farther apart
_FEWEST = 16  # least number of blocks that are selected, if available
_MOST_UNUSABLE, _RAISED_MOST_UNUSABLE, _LOW_QUANTILE = 0.05, 0.5, 0.1
"""Largest share of masked values and values clipped at white in a block. If less than a tenth of
the blocks comply, it is raised until a tenth does, up to the second number. The first number is
also the largest share of pixels of constant areas, which show no noise; there it is not raised."""

_MOST_BLACK = 0.6  # largest share of values clipped at black in a block, in any channel
_MOST_CLIPPED, _LEAST_VARIANCE = 0.75, 0.15
"""Largest share of such values in a block of paper around text, and the share of its
variance that normal noise retains where that share is clipped."""

_MOST_AWAY = 0.2
"""Largest share of a drawing's pixels outside constant areas that are over `SIDE` pixels away from
them. In noisy photographs, also as JPEG of quality 75, it is 0.8 or more."""

_BINS = 8  # largest number of bins of equal size by brightness, before the brightest is halved
_PER_BIN = 64  # least number of blocks in a bin; small images have fewer bins
_MOST_OF_CONTRAST = 0.5  # largest part of the contrast that the brightest bin spans, if possible
CLIPPED = 0.05  # share of clipped pixels from which noise counts as clipped
_LEAST_WIDTH = 1.5  # distance of its bins, in standard deviations of the noise of a block's mean

U, V = (i[np.add(*np.mgrid[:SIDE, :SIDE]) > 1] for i in np.mgrid[:SIDE, :SIDE])
"""Vertical and horizontal frequencies of the coefficients: all but the mean and the two slopes."""

DCT_MATRIX = np.kron(cosine_matrix(SIDE), cosine_matrix(SIDE))[SIDE * U + V].T
"""The (pixels, frequencies) matrix from the pixels of a block to these coefficients. Its transpose
leads back, to a block without mean and slopes."""

_ODD = (U + V) % 2 == 1
PARTS = _ODD, ~_ODD
"""Coefficients of the odd and of the even part. Lists of blocks by part are in this order."""


def constant_pixels(pixels, valid=None):
    """Return (H, W) bools: pixels of those 3 x 3 squares that are constant in all channels.

    Squares of noise that is clipped are not among them: there, they are constant by chance.
    """
    if min(pixels.shape[:2]) < 3:
        return np.zeros(pixels.shape[:2], bool)
    channels = np.moveaxis(pixels, -1, 0)
    as_above = np.all([c[1:] == c[:-1] for c in channels], axis=0)
    as_left = np.all([c[:, 1:] == c[:, :-1] for c in channels], axis=0)
    rows = as_left[:, 1:] & as_left[:, :-1]  # of three equal pixels
    middles = rows[:-2] & rows[1:-1] & rows[2:] & (as_above[1:] & as_above[:-1])[:, 1:-1]
    constant = maximum_filter(np.pad(middles, 1), 3)
    return constant & ~clipped_noise(pixels, valid).any(axis=0) if constant.any() else constant


def empty_pixels(pixels, constant):
    """Return which `constant` pixels, (H, W), are in their commonest area, such as around a scan.

    Constant areas with other values, as in JPEG files, are part of the picture.
    """
    empty = constant.copy()
    if constant.any():
        with np.errstate(over="ignore"):
            sums = pixels[constant].sum(axis=-1, dtype=np.float64)
        _, places, counts = np.unique(sums, return_inverse=True, return_counts=True)
        empty[constant] = places == counts.argmax()
    return empty


def is_drawing(constant, valid):
    """Return whether constant areas are everywhere in an image, and not only around its content.

    Both are (H, W) bools: pixels of constant areas, and pixels that are not masked.
    """
    away = valid & ~maximum_filter(constant, 2 * SIDE + 1)
    return np.count_nonzero(away) <= _MOST_AWAY * np.count_nonzero(valid & ~constant)


class Planes(NamedTuple):
    """An image of two axes in which noise is measured, and where it can be."""

    channels: Floats  # (C, H, W)
    brightness: Floats  # (H, W) mean of the channels, or of those of which they are differences
    usable: Floats  # (H, W) shares of the channels that are neither masked nor clipped at white
    constant: Bools  # (H, W) pixels of constant areas
    black: Array  # (C, H, W) shares clipped at black

    def halved(self) -> Self:
        """Return the planes of the image at half its size."""
        channels = halve(self.channels)
        brightness, usable = (halve(a[None])[0] / 2 for a in (self.brightness, self.usable))
        constant = halve(self.constant[None].astype(float))[0] > 1
        black = halve(self.black.astype(channels.dtype)) / 2
        return type(self)(channels, brightness, usable, constant, black)


def coefficients_of_blocks(planes):
    """Return (n, C, frequencies) coefficients of usable blocks, and two values of each block.

    The latter are its brightness, and the share of its pixels that were clipped at black in the
    channel with the fewest. The coefficients are those of the opponent channels of `cosine_matrix`,
    raised by as much as clipping at black has weakened the noise.
    """
    channels, brightness, usable, constant, black = planes
    area = usable[~constant].sum()
    step = next((n for n in _STEPS if area >= _ENOUGH_BLOCKS * n**2), _STEPS[-1])
    step = max(step, np.sqrt(area / _MOST_BLOCKS))
    y, x = (np.arange(0, n - SIDE + 1, step).astype(int) for n in usable.shape)
    unusable, uniform, brightness, black = (
        _means(values, y, x) for values in (1 - usable, constant, brightness, black)
    )
    chosen = (uniform <= _MOST_UNUSABLE) & (unusable <= _MOST_CLIPPED)
    row, column = np.nonzero(chosen & (black.max(axis=0) <= _MOST_BLACK))
    windows = sliding_window_view(channels, (SIDE, SIDE), axis=(1, 2))[:, y[row], x[column]]
    unusable, black = unusable[row, column], black[:, row, column]
    weakened = (black > 0) & (unusable <= _MOST_UNUSABLE)  # not if clipped at white too
    if weakened.any():
        weak, (deviations, _) = windows[weakened], clipped_normal(black[weakened])
        means = weak.mean(axis=(1, 2), keepdims=True)
        windows[weakened] = means + (weak - means) / deviations[:, None, None]
    blocks = np.tensordot(windows, cosine_matrix(len(channels)), (0, 1)).transpose(0, 3, 1, 2)
    kept = _least_clipped(unusable, blocks[:, 0])
    blocks, row, column = blocks[kept], row[kept], column[kept]
    coefficients = blocks.reshape(-1, SIDE * SIDE) @ DCT_MATRIX
    coefficients = coefficients.reshape(*blocks.shape[:2], len(U))
    return coefficients, brightness[row, column], black.min(axis=0)[kept]


def _means(values, y, x):
    """Return the means of (..., H, W) values in the blocks that begin at rows `y`, columns `x`."""
    rows = sum(values[..., y + i, :].astype(np.float64) for i in range(SIDE))
    return sum(rows[..., x + i] for i in range(SIDE)) / SIDE**2


def _least_clipped(unusable, luminance):
    """Return which blocks to use, given the share of unusable values and the luminance of each.

    These are the blocks with the fewest such values, or all, if the others are paper around text.
    """
    limit = np.quantile(unusable, _LOW_QUANTILE) if len(unusable) else 0.0
    few = unusable <= np.clip(limit, _MOST_UNUSABLE, _RAISED_MOST_UNUSABLE)
    if limit > _MOST_UNUSABLE and few.any() and not few.all():
        variances = luminance.var(axis=(1, 2))
        lowest = np.quantile(variances[~few], _LOW_QUANTILE)
        if lowest < _LEAST_VARIANCE * np.median(variances[few]):
            return np.full(len(unusable), True)
    return few


def bins_by_brightness(coefficients, brightness, black, halvings):
    """Split blocks into bins of equal size by brightness, and the brightest bin further.

    `black` is the share of each block that is clipped at black. Bins of such noise are joined if
    their means hardly differ, apart from noise: because it is skewed, it varies more in blocks that
    seem brighter. `brightness` has been averaged down `halvings` times.
    """
    order = np.argsort(brightness, kind="stable")
    *bins, last = np.array_split(order, int(np.clip(len(order) // _PER_BIN, 1, _BINS)))
    contrast = np.ptp(brightness)
    while len(last) >= 2 * _PER_BIN and np.ptp(brightness[last]) > _MOST_OF_CONTRAST * contrast:
        lower, last = np.array_split(last, 2)
        bins.append(lower)
    low = (coefficients[:, 0, U + V < 5] ** 2).mean(axis=1)
    least = _LEAST_WIDTH * np.sqrt(np.median(low) / coefficients.shape[1]) / (SIDE * 2**halvings)
    joined = []
    for members in (*bins, last):
        distance = brightness[members].mean() - brightness[joined[-1]].mean() if joined else np.inf
        if distance < least and black[members].mean() > CLIPPED:
            members = np.concatenate([joined.pop(), members])
        joined.append(members)
    return joined


def energies_of_parts(coefficients):
    """Return the (2, n) energies of the `PARTS` of blocks; channels have equal weights."""
    squares = coefficients**2
    typical = np.quantile(squares.mean(axis=2), FLAT, axis=0)
    weights = 1 / np.maximum(typical, epsilon(typical)) / len(typical)
    return np.stack([(squares @ part / part.sum()) @ weights for part in PARTS])


def flattest_in_bins(energies, bins, share):
    """Return for each of the `PARTS` and each bin the blocks with least energy in the other part.

    `energies` are those of the `PARTS`.
    """
    others = energies[::-1]
    return [[members[flattest(energy[members], share)] for members in bins] for energy in others]


def flattest(energies, share):
    """Return the indices of this share of the blocks: those with the least energy."""
    return np.argsort(energies, kind="stable")[: max(_FEWEST, int(share * len(energies)))]


def epsilon(values):
    """Return a positive number that is negligible beside the values, as a lower bound for them."""
    return 1e-12 * np.max(values) + 1e-24


def logarithms(variances):
    """Return the logarithms of variances, raised to at least 1e-4 of their median."""
    least = 1e-4 * np.median(variances) + epsilon(variances)
    return np.log(np.maximum(variances, least))
