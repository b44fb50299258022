"""The pixel grid: numbers of pixels, displacements between them, and rows in memory.

Axes are counted as in numpy; pixels lie side by side along the last one.  There may be any number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

BLOCK_BYTES = 32
"""Bytes of a SIMD block, the same on every instruction set: 8 float32 or 4 float64 pixels."""


@dataclass(frozen=True)
class PixelGrid:
    """Pixels as the nodes of a graph, numbered in row-major order."""

    shape: tuple[int, ...]  # (H, W) of an image, (D, H, W) of a volume

    @property
    def size(self) -> int:
        """Number of pixels."""
        return math.prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Difference of the numbers of neighboring pixels, along each axis."""
        return tuple(math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))

    def positions(self) -> Integers:
        """Return the position of every pixel, (size, axes)."""
        return np.stack(np.unravel_index(np.arange(self.size), self.shape), axis=-1)

    def displacements(self, start: Integers, end: Integers) -> Integers:
        """Return the steps from pixels `start` to pixels `end`, given by number, (n, axes)."""
        axes = zip(
            np.unravel_index(start, self.shape), np.unravel_index(end, self.shape), strict=True
        )
        return np.stack([there - here for here, there in axes], axis=-1)

    def padded_rows(self, radius: int, dtype: npt.DTypeLike) -> PaddedRows:
        """Return the layout in which the Chebyshev recurrence reads images."""
        lanes = BLOCK_BYTES // np.dtype(dtype).itemsize
        blocks, pad = -(-self.shape[-1] // lanes), -(-radius // lanes) * lanes
        return PaddedRows(lanes, blocks, pad, pad + blocks * lanes + pad)

    def lines(self, radii: tuple[int, ...]) -> Lines:
        """Return the layout in which the C core prunes graphs, for a window of these radii."""
        strides = [1]
        for n, radius in zip(self.shape[-2:0:-1], radii[-2:0:-1], strict=True):
            strides.insert(0, strides[0] * (n + radius))
        axes = [stride * np.arange(n) for n, stride in zip(self.shape, strides, strict=False)]
        line: npt.NDArray[Any] = np.zeros((), np.int64)
        for places in axes:
            line = line[..., None] + places
        border = sum(stride * radius for stride, radius in zip(strides, radii, strict=False))
        return Lines(line.ravel(), tuple(strides), border, radii[-1], self.shape[-1])


@dataclass(frozen=True)
class Lines:
    """An image or volume as rows: its lines along the last axis, one below the other.

    Between slices lie rows without pixels, as many as the window's radius: an offset that leaves
    the image along any axis ends in such a gap, or in the border.  Two axes need no gaps.
    """

    rows: Integers  # of each line, in the order of the pixels
    strides: tuple[int, ...]  # rows from one line to the next, along each axis but the last
    border: int  # rows above and below that a window may reach
    radius: int  # pixels to each side that it may reach
    width: int  # pixels in a line

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


@dataclass(frozen=True)
class PaddedRows:
    """A row of an image in whole SIMD blocks, with zeros on both sides."""

    lanes: int  # pixels in a block
    blocks: int  # in a row
    pad: int  # zeros before the first pixel; a whole number of blocks
    stride: int  # numbers in a row, zeros included
