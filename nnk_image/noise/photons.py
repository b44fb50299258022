"""Counts of photons, or of other single events, recognized by a variance that equals their mean.

Where the light is the same on two neighboring pixels, the expected square of the difference of
their counts is the expected sum of the counts, however few they are (Fisher 1950, see
docs/estimation.md). Structure adds to the squares, but little where counts are few.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.image import Bools, Floats, Image
from nnk_image.noise.blocks import SIDE
from nnk_image.noise.levels import UNCERTAINTY
from nnk_image.noise.model import NoiseModel

_GROUPS, _FEWEST = 4, 64  # groups of blocks by brightness, and least number of counts in a group
_GROWTH = 6  # structure adds this many times as much to the ratio in sums of 2 x 2 pixels
_LEAST_RATIO, _MOST_RATIO = 0.85, 1.25  # bounds of squares over sums, without structure
_LEAST_DARK = 0.05  # least share of pixels without a photon, to find the value that these have
_MOST_COUNTS = 20  # mean count per pixel, above which other noise may have such a ratio by chance


@np.errstate(over="ignore")
def photon_noise(image: Image) -> NoiseModel | None:
    """Return the noise of an image whose values are counts of photons, or None if they are not."""
    valid = np.full(image.shape, True) if image.valid is None else image.valid
    gains, offsets = [], []
    for channel in np.moveaxis(image.pixels, -1, 0):
        offset = _value_without_light(channel[valid])
        light = np.subtract(channel, offset, dtype=np.float64)
        seen = light[valid & (light != 0)]
        value = float(seen.min()) if seen.size else 0.0
        if value <= 0 or seen.sum() / value > _MOST_COUNTS * valid.sum():
            return None
        counts = np.rint(light / value)
        exact = np.allclose(counts * value, light, rtol=1e-6, atol=0)
        if not (exact and _are_of_photons(counts, valid)):
            return None
        gains.append(value)
        offsets.append(offset)
    none = np.zeros(len(gains))
    return NoiseModel(none, gain=gains, offset=offsets, uncertainty=UNCERTAINTY)


def _value_without_light(values: npt.NDArray[Any]) -> float:
    """Return the lowest value if many pixels have it, as they do without light, else 0."""
    lowest = values.min()
    return float(lowest) if np.mean(values == lowest) >= _LEAST_DARK else 0.0


def _are_of_photons(counts: Floats, valid: Bools) -> bool:
    """Whether the squared differences are as large as the sums, apart from structure.

    Structure only adds to them, so they must not be smaller in any group. What it adds is then
    subtracted with its typical growth: that of sharp edges is less, and that of slopes is more.
    """
    full = _squares_over_sums(counts, valid)
    half = _squares_over_sums(_by_blocks(counts, 2, 2), _by_blocks(valid, 2, 2) == 4)
    noise = (_GROWTH * full - half) / (_GROWTH - 1)
    known = ~np.isnan(noise)
    if not known.any():
        return False
    typical = np.median(noise[known])
    return bool(full[known].min() > _LEAST_RATIO and _LEAST_RATIO < typical < _MOST_RATIO)


def _squares_over_sums(counts: Floats, valid: Bools) -> Floats:
    """Return the ratio in groups of blocks, the darkest first; NaN where counts are too few."""
    parts = []
    for own, there in ((counts, valid), (counts.T, valid.T)):
        width = own.shape[1] // 2 * 2
        first, second = own[:, 0:width:2], own[:, 1:width:2]
        pairs = there[:, 0:width:2] & there[:, 1:width:2]
        terms = (first - second) ** 2 * pairs, (first + second) * pairs
        parts.append([_by_blocks(a, SIDE, SIDE // 2).ravel() for a in terms])
    squares, sums = np.concatenate(parts, axis=1)
    order = np.argsort(sums, kind="stable")
    found = [(squares[own].sum(), sums[own].sum()) for own in np.array_split(order, _GROUPS)]
    return np.array([s / total if total >= _FEWEST else np.nan for s, total in found])


def _by_blocks(values: npt.NDArray[Any], height: int, width: int) -> npt.NDArray[Any]:
    """Return the sums of values in blocks; incomplete blocks are left out."""
    rows, columns = values.shape[0] // height, values.shape[1] // width
    inside = values[: rows * height, : columns * width]
    return inside.reshape(rows, height, columns, width).sum(axis=(1, 3))
