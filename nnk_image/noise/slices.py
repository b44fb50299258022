"""Correlation of the noise across the slices of a volume, see docs/volumes.md, Noise in volumes."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.fft import dctn

from nnk_image.base.geometry import as_blocks
from nnk_image.base.image import Floats, Image
from nnk_image.noise.blocks import FLAT, PARTS, SIDE, U, V, flattest

SLAB = 5  # neighboring slices that are compared; the noise of the first and last is independent
_FEWEST = 64  # least number of blocks, of which the flattest are used
_MOST_PIXELS = 1 << 22  # approximate number of pixels, above which some are left out
_MOST_EXTREME = 0.05  # largest share of a block with the lowest or highest value of the image
_MOST_CORRELATION = 0.9  # largest one, so that differences of slices show noise
_LEAST_CORRELATIONS = 0.2, 0.04
"""Correlation of adjacent slices below which their noise counts as independent: fine structure in a
few slices may look like as much. The second number is for slices that are farther apart."""


def correlation_across_slices(image: Image) -> Floats | None:
    """Estimate the correlation of the noise along the third axis from the last.

    It is that of the mean of the channels, and has (2 n + 1,) values, for displacements from -n to
    n slices, with 1 in the middle. None if the noise of different slices is independent, or slices
    are too few.
    """
    blocks = _blocks(image)
    if blocks is None:
        return None
    by_frequency = np.concatenate([_correlations(blocks, part) for part in PARTS], axis=1)
    *nearer, farthest = np.median(by_frequency, axis=1)
    structure = np.clip(farthest, 0, 1 - 1e-6)  # its share of the variance
    side = np.minimum((np.array(nearer[1:]) - structure) / (1 - structure), _MOST_CORRELATION)
    near, far = _LEAST_CORRELATIONS
    # Moving edges decay in proportion to the distance: this line, continued, is structure too.
    moving = farthest + (SLAB - 2) * (nearer[-1] - farthest) if structure > far else 0.0
    if side[0] < near or nearer[1] - moving < near * (1 - moving):
        return None
    weak = np.flatnonzero(side < far)
    side = side[: weak[0]] if len(weak) else side
    return np.concatenate([side[::-1], [1.0], side])


def _blocks(image: Image) -> Floats | None:
    """Return the (slices, n, frequencies) coefficients of blocks at the same place in a slab."""
    depth, height, width = (1, *image.shape)[-3:]
    if depth < SLAB:
        return None
    volumes = image.pixels.reshape(-1, depth, height, width, image.channels)
    valid = image.mask.reshape(volumes.shape[:-1])
    n_starts = depth - SLAB + 1
    slabs = _MOST_PIXELS / (SLAB * height * width)
    most, step = max(1, int(slabs)), math.ceil(1 / math.sqrt(min(1, slabs)))
    starts = np.unique(np.linspace(0, len(volumes) * n_starts - 1, most).round().astype(int))
    parts = []
    for number, z in zip(*divmod(starts, n_starts), strict=True):
        slab = number, slice(z, z + SLAB)
        blocks = _cut((volumes[slab] / image.channels).sum(axis=-1), step)
        extreme = (blocks == image.low) | (blocks == image.high)
        usable = extreme.mean(axis=(0, 2, 3)) <= _MOST_EXTREME
        usable &= (blocks.max(axis=(2, 3)) > blocks.min(axis=(2, 3))).all(axis=0)
        usable &= (blocks[1:] != blocks[:-1]).any(axis=(2, 3)).all(axis=0)  # no repeated frames
        usable &= _cut(valid[slab], step).all(axis=(0, 2, 3))
        units = blocks[:, usable] / image.half_range  # so that squares do not overflow
        parts.append(dctn(units.astype(np.float64), axes=(2, 3), norm="ortho")[:, :, U, V])
    coefficients = np.concatenate(parts, axis=1)
    return coefficients if coefficients.shape[1] >= _FEWEST else None


def _cut(slab: npt.NDArray[Any], step: int) -> npt.NDArray[Any]:
    """Return (slices, n, SIDE, SIDE) blocks of a slab, every `step`-th along rows and columns."""
    blocks = as_blocks(slab, 1, SIDE, SIDE)[:, ::step, ::step]
    return blocks.reshape(len(slab), -1, SIDE, SIDE)


def _correlations(blocks: Floats, part: npt.NDArray[np.bool_]) -> Floats:
    """Return the correlation of each slice with the first, (slices, frequencies of the part)."""
    flat = flattest((blocks[:, :, ~part] ** 2).mean(axis=(0, 2)), FLAT)  # in the other part
    waves = blocks[:, flat][:, :, part]
    powers, products = (waves**2).mean(axis=1), (waves[:1] * waves).mean(axis=1)
    result: Floats = products / np.maximum(np.sqrt(powers[0] * powers), 1e-24)
    return result
