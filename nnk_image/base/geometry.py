"""The pixel grid: how pixels are numbered, how far apart nodes are, how rows lie in memory.

Everything that knows where a pixel is asks here.  Axes are counted as in numpy; the last one is
the one along which pixels lie side by side, and nothing depends on there being two.
"""

import math
from dataclasses import dataclass

import numpy as np

BLOCK_BYTES = 32
"""Bytes of a SIMD block, the same on every instruction set: 8 float32 or 4 float64 pixels."""


@dataclass(frozen=True)
class PixelGrid:
    """Pixels as the nodes of a graph, numbered in row-major order.

    Attributes
    ----------
    shape : tuple of int
        (H, W) of an image, (D, H, W) of a volume.
    """

    shape: tuple[int, ...]

    @property
    def size(self):
        """Number of pixels."""
        return math.prod(self.shape)

    @property
    def strides(self):
        """By how much the number of a pixel grows with one step along each axis."""
        return tuple(math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))

    def positions(self):
        """(size, axes) int64 ndarray: the position of every pixel."""
        return np.stack(np.unravel_index(np.arange(self.size), self.shape), axis=-1)

    def displacements(self, start, end):
        """(n, axes) ndarray: from pixels of numbers `start` to those of numbers `end`."""
        axes = zip(
            np.unravel_index(start, self.shape), np.unravel_index(end, self.shape), strict=True
        )
        return np.stack([there - here for here, there in axes], axis=-1)

    def padded_rows(self, radius, dtype):
        """The layout in which the Chebyshev recurrence reads images (`PaddedRows`)."""
        lanes = BLOCK_BYTES // np.dtype(dtype).itemsize
        blocks, pad = -(-self.shape[-1] // lanes), -(-radius // lanes) * lanes
        return PaddedRows(lanes, blocks, pad, pad + blocks * lanes + pad)

    def lines(self, radii):
        """How the C core lays out the image as rows, for a window of these radii (`Lines`)."""
        strides = [1]
        for n, radius in zip(self.shape[-2:0:-1], radii[-2:0:-1], strict=True):
            strides.insert(0, strides[0] * (n + radius))
        axes = [stride * np.arange(n) for n, stride in zip(self.shape, strides, strict=False)]
        line = np.zeros((), np.int64)
        for places in axes:
            line = line[..., None] + places
        border = sum(stride * radius for stride, radius in zip(strides, radii, strict=False))
        return Lines(line.ravel(), tuple(strides), border, radii[-1], self.shape[-1])


@dataclass(frozen=True)
class Lines:
    """An image as rows: its lines along the last axis, one below the other.

    Where another axis begins anew, rows without pixels lie between, so many as a window reaches
    over: what leads out of the image along any axis ends in such a gap, or in the border.  An
    image of two axes has no gaps.

    Attributes
    ----------
    rows : (n,) int64 ndarray
        The row of each line, in the order of the pixels.
    strides : tuple of int
        Rows from one line to the next, along each axis but the last.
    border : int
        Rows that a window reaches over, up and down.
    radius : int
        Pixels that it reaches over, to the sides.
    width : int
        Pixels of a line.
    """

    rows: np.ndarray
    strides: tuple[int, ...]
    border: int
    radius: int
    width: int

    @property
    def height(self):
        """Rows from the first line to the last, gaps included."""
        return int(self.rows[-1]) + 1

    @property
    def first_node(self):
        """(height,) int64 ndarray: number of the first pixel of each row, -1 for gaps."""
        numbers = np.full(self.height, -1, np.int64)
        numbers[self.rows] = self.width * np.arange(len(self.rows))
        return numbers

    def feature_plane(self):
        """(rows, stride) of a feature plane: the image in its border.

        Rows are read in words of 64 pixels, short ones in halves and quarters of words.
        """
        unit = next((unit for unit in (16, 32) if self.width <= unit), 64)
        return self.height + 2 * self.border, 2 * self.radius + -(-self.width // unit) * unit


@dataclass(frozen=True)
class PaddedRows:
    """A row of an image in whole SIMD blocks, with zeros on both sides.

    Attributes
    ----------
    lanes : int
        Pixels of a block.
    blocks : int
        Blocks of a row.
    pad : int
        Zeros before the first pixel; a whole number of blocks.
    stride : int
        Numbers of a row, zeros included.
    """

    lanes: int
    blocks: int
    pad: int
    stride: int
