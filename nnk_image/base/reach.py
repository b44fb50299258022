"""How far the result of an operation at one pixel depends on the image around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LANES = 8
"""Pixels of the longest SIMD block; parts of an image begin at multiples of it along rows."""


@dataclass(frozen=True)
class Reach:
    """Overlap that makes the result for a part of an image equal that for the whole, bit for bit.

    Attributes
    ----------
    border : tuple of int
        Pixels needed on each side, along each axis.
    unit : tuple of int
        A part must begin at a multiple of this along each axis, so that patches and SIMD blocks
        begin where they do in the whole image.
    """

    border: tuple[int, ...]
    unit: tuple[int, ...]

    @classmethod
    def none(cls, axes: int) -> Reach:
        """Overlap of an operation on single pixels, in an image with this number of axes."""
        return cls((0,) * axes, (1,) * (axes - 1) + (LANES,))

    @classmethod
    def of_polynomial(
        cls, order: int, window: Sequence[int], laplacian: str = "combinatorial"
    ) -> Reach:
        """Overlap of a polynomial of a pixel graph's Laplacian; `window` has one side per axis.

        Each order reaches one window radius further, and the edge weights depend on one radius
        more; the normalized Laplacian also needs the degrees at the far ends of the edges.  Sums
        over the edges are rounded in SIMD blocks, which must be complete.
        """
        steps = order + 2 if laplacian == "normalized" else order + 1
        *others, last = (steps * (side // 2) for side in window)
        return cls((*others, last + LANES - 1), cls.none(len(window)).unit)

    def __add__(self, other: Reach) -> Reach:
        """Overlap of one operation after another."""
        return Reach(
            tuple(a + b for a, b in zip(self.border, other.border, strict=True)),
            tuple(map(math.lcm, self.unit, other.unit)),
        )

    def at_half_size(self) -> Reach:
        """Overlap in the image, of an operation on the image at half size."""
        return Reach(tuple(2 * b for b in self.border), tuple(2 * u for u in self.unit))
