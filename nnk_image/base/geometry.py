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
        (H, W) of an image.
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

    def feature_planes(self, radius):
        """(rows, stride) of a feature plane: the image with a border of `radius` pixels.

        Rows are read in words of 64 pixels.
        """
        rows, width = self.shape
        return rows + 2 * radius, 2 * radius + -(-width // 64) * 64


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
