"""Blocks of an image that may show its noise, as cosine coefficients, and how flat ones are chosen.

Noise has the same covariance at an offset and at the opposite one. So the even and the odd part
of a block about its center are uncorrelated whatever the spectrum, while edges and texture are in
both. Blocks are chosen by the energy of one part and measured by the other: the choice does not
make noise seem weaker than it is. The parts are the discrete cosine coefficients (u, v) with
u + v even, and those with u + v odd.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import maximum_filter, minimum_filter

from nnk_image.base.channels import cosine_matrix
from nnk_image.noise.clipping import few_values

SIDE = 8  # of a block; that of JPEG
FLAT = 1 / 3  # share of the blocks that count as flat: white noise and texture are measured there
_STEPS = 4, 2, 1  # pixels between blocks: the first at which there are enough blocks
_ENOUGH_BLOCKS, _MOST_BLOCKS = 2_000, 17_000
_FEWEST = 16  # blocks that are chosen
_MOST_BAD, _MANY_BAD, _FEW_WHOLE = 0.05, 0.5, 0.1
"""Share of absent and clipped values in a block; if fewer than a tenth of the blocks have so few,
more. Constant areas, which show no noise, are not excused, and their blocks do not count."""

_MOST_CLIPPED, _LEAST_VARIANCE = 0.75, 0.15
"""Share of absent and clipped values in a block of paper around text, and the share of the variance
that normal noise keeps where so much of it is clipped."""

_FEW_AWAY = 0.2  # share of the pixels that are more than a block away from constant areas: in noisy
# photographs, also of quality 75, 0.8 and more; in clean pages of text less than this

U, V = (i[np.add(*np.mgrid[:SIDE, :SIDE]) > 1] for i in np.mgrid[:SIDE, :SIDE])
"""Frequencies of the coefficients: all but the mean and the two slopes."""

_WAVES_OF_BLOCK = np.kron(cosine_matrix(SIDE), cosine_matrix(SIDE))[SIDE * U + V].T
"""The (pixels, frequencies) matrix from the pixels of a block to these coefficients."""

ODD = (U + V) % 2 == 1


def usable_pixels(pixels, valid):
    """Return (H, W) floats: the share of the channels that are not clipped, 0 in absent pixels."""
    inside = pixels if valid is None else pixels[valid]
    usable = np.ones(pixels.shape[:2]) if valid is None else valid.astype(float)
    if few_values(inside) is not None:  # counts, whose smallest value is not a clipped one
        return usable
    return usable * ((pixels > inside.min()) & (pixels < inside.max())).mean(axis=2)


def constant_pixels(pixels):
    """Return (H, W) bools: pixels of squares of 3 x 3 that are equal in all channels."""
    highest, lowest = (f(pixels, (3, 3, 1)) for f in (maximum_filter, minimum_filter))
    middles = (highest == lowest).all(axis=2)[1:-1, 1:-1]
    return maximum_filter(np.pad(middles, 1), 3)


def is_drawing(constant, valid):
    """Whether constant areas are everywhere, so that they are not the surround of an image.

    The arguments are (H, W) bools: pixels of constant areas, and those that are there.
    """
    away = valid & ~maximum_filter(constant, 2 * SIDE + 1)
    return np.count_nonzero(away) <= _FEW_AWAY * np.count_nonzero(valid & ~constant)


def coefficients_of_blocks(channels, usable, constant):
    """Return coefficients (n, C, frequencies) of blocks, and their brightness.

    `channels` are the (C, H, W) opponent channels of `cosine_matrix`; `usable` are those of
    `usable_pixels`, and `constant` are (H, W) bools: pixels of constant areas.
    """
    area = usable[~constant].sum()
    step = next((n for n in _STEPS if area >= _ENOUGH_BLOCKS * n**2), _STEPS[-1])
    step = max(step, np.sqrt(area / _MOST_BLOCKS))
    y, x = (np.arange(0, n - SIDE + 1, step).astype(int) for n in usable.shape)
    bad, same = (
        sliding_window_view(a, (SIDE, SIDE))[y[:, None], x].mean(axis=(2, 3))
        for a in (1 - usable, constant)
    )
    row, column = np.nonzero((same <= _MOST_BAD) & (bad <= _MOST_CLIPPED))
    windows = sliding_window_view(channels, (SIDE, SIDE), axis=(1, 2))[:, y[row], x[column]]
    blocks = np.moveaxis(windows, 0, 1).astype(np.float64)
    blocks = blocks[_least_clipped(bad[row, column], blocks[:, 0].var(axis=(1, 2)))]
    brightness = blocks[:, 0].mean(axis=(1, 2)) / np.sqrt(len(channels))
    coefficients = blocks.reshape(-1, SIDE * SIDE) @ _WAVES_OF_BLOCK
    return coefficients.reshape(*blocks.shape[:2], len(U)), brightness


def _least_clipped(bad, variances):
    """Return which blocks to use, given the share of bad values and the variance of each.

    They are those with the fewest, unless clipping cannot explain how much less the others vary.
    Then the former are text and the latter are paper, and all of them are used.
    """
    limit = np.quantile(bad, _FEW_WHOLE) if len(bad) else 0.0
    few = bad <= np.clip(limit, _MOST_BAD, _MANY_BAD)
    if limit > _MOST_BAD and few.any() and not few.all():
        flattest = np.quantile(variances[~few], _FEW_WHOLE)
        if flattest < _LEAST_VARIANCE * np.median(variances[few]):
            return np.full(len(bad), True)
    return few


def energies_of_parts(coefficients):
    """Return the (2, n) energies of the even and the odd part, all channels alike."""
    squares = coefficients**2
    typical = np.quantile(squares.mean(axis=2), FLAT, axis=0)
    weights = 1 / np.maximum(typical, tiny(typical)) / len(typical)
    return np.stack([(squares @ part / part.sum()) @ weights for part in (~ODD, ODD)])


def flattest(energies, bins, share):
    """Return for each bin the blocks with little energy in the even part, and in the odd part.

    The former are for measuring the odd part, the latter for the even part.
    """
    chosen = []
    for members in bins:
        order = np.argsort(energies[:, members], axis=1, kind="stable")
        chosen.append(members[order[:, : number_of(len(members), share)]])
    return chosen


def number_of(blocks, share):
    """Return how many of so many blocks are chosen."""
    return max(_FEWEST, int(share * blocks))


def tiny(values):
    """Return a positive number that is small beside the values."""
    return 1e-12 * np.max(values) + 1e-24
