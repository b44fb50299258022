"""The pixels of an image as rows in memory.

Axes are counted as in numpy; pixels lie side by side along the last one.  There may be any number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

BLOCK_BYTES = 32
"""Bytes of a SIMD block, the same on every instruction set: 8 float32 or 4 float64 pixels."""


def strides_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return how far neighboring pixels are apart in row-major order, along each axis."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def as_blocks(array: npt.NDArray[Any], *sides: int) -> npt.NDArray[Any]:
    """Cut the first axes of an array into blocks: (blocks along each axis, pixels of a block, ...).

    Incomplete blocks at the end are left out.
    """
    n, others = len(sides), array.shape[len(sides) :]
    pairs = [(length // side, side) for length, side in zip(array.shape, sides, strict=False)]
    whole = array[tuple(slice(count * side) for count, side in pairs)]
    split = whole.reshape(*chain.from_iterable(pairs), *others)
    blocks = split.transpose(*range(0, 2 * n, 2), *range(1, 2 * n, 2), *range(2 * n, split.ndim))
    return blocks.reshape(*blocks.shape[:n], math.prod(sides), *others)


@dataclass(frozen=True)
class Lines:
    """An image or volume as rows: its lines along the last axis, one below the other.

    The slices of a volume are separated by gaps, as many rows as the window's radius: an offset
    that leaves the image along any axis ends in such a gap, or in the border.
    """

    rows: Integers  # of each line, in the order of the pixels
    strides: tuple[int, ...]  # rows from one line to the next, along each axis but the last
    border: int  # rows above and below that a window may reach
    radius: int  # pixels to each side that it may reach
    width: int  # pixels in a line

    @classmethod
    def of(cls, shape: tuple[int, ...], radii: tuple[int, ...]) -> Lines:
        """Return the layout of images of a shape for a window of these radii."""
        *sides, width = shape
        *reach, radius = radii
        strides = strides_of(tuple(n + r for n, r in zip(sides, reach, strict=True)))
        axes = (s * np.arange(n, dtype=np.int64) for s, n in zip(strides, sides, strict=True))
        border = sum(s * r for s, r in zip(strides, reach, strict=True))
        rows = sum(np.ix_(*axes), np.int64(0)).ravel()
        return cls(rows, strides, border, radius, width)

    @property
    def height(self) -> int:
        """Rows from the first line to the last, gaps included."""
        return int(self.rows[-1]) + 1

    @property
    def first_node(self) -> Integers:
        """Number of the first pixel in each row, (height,); -1 in gaps."""
        numbers = np.full(self.height, -1, np.int64)
        numbers[self.rows] = self.width * np.arange(len(self.rows))
        return numbers

    def feature_plane(self) -> tuple[int, int]:
        """Return (rows, stride) of a feature plane: the image in its border.

        Rows are read in words of 64 pixels, short ones in halves and quarters of words.
        """
        unit = next((unit for unit in (16, 32) if self.width <= unit), 64)
        return self.height + 2 * self.border, 2 * self.radius + -(-self.width // unit) * unit
