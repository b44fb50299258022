"""How far a result depends on the image around it, and the overlapping tiles that follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

Slices = tuple[slice, ...]

LANES = 8
"""Pixels of the longest SIMD block; parts of an image begin at multiples of it along rows."""


@dataclass(frozen=True)
class Reach:
    """Overlap that makes the result for a part of an image equal that for the whole, bit for bit.

    A part must begin at a multiple of `unit` along each axis, so that patches and SIMD blocks begin
    where they do in the whole image.
    """

    border: tuple[int, ...]  # pixels needed on each side, along each axis
    unit: tuple[int, ...]

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
        return cls((*others, last + LANES - 1), (1,) * len(others) + (LANES,))

    def __add__(self, other: Reach) -> Reach:
        """Overlap of one operation after another."""
        return Reach(
            tuple(a + b for a, b in zip(self.border, other.border, strict=True)),
            tuple(map(math.lcm, self.unit, other.unit)),
        )

    def at_half_size(self) -> Reach:
        """Overlap in the image, of an operation on the image at half size."""
        return Reach(tuple(2 * b for b in self.border), tuple(2 * u for u in self.unit))


@dataclass(frozen=True)
class Tile:
    """A part of an image, as slices of its spatial axes."""

    core: Slices  # what is computed; the cores of all tiles cover the image once
    padded: Slices  # what is read for it

    @property
    def inside(self) -> Slices:
        """The core within the padded part."""
        return tuple(
            slice(core.start - padded.start, core.stop - padded.start)
            for core, padded in zip(self.core, self.padded, strict=True)
        )


def cut(shape: Sequence[int], side: Sequence[int], reach: Reach) -> list[Tile]:
    """Return the tiles of an image whose cores have the given sides, row by row."""
    axes = [
        [
            (
                slice(start, min(start + length, n)),
                slice(max(0, start - border) // unit * unit, min(start + length + border, n)),
            )
            for start in range(0, n, length)
        ]
        for n, length, border, unit in zip(shape, side, reach.border, reach.unit, strict=True)
    ]
    return [Tile(*map(tuple, zip(*pairs, strict=True))) for pairs in product(*axes)]


def largest_side(
    shape: Sequence[int], reach: Reach, max_bytes: int, bytes_per_pixel: float
) -> tuple[int, ...]:
    """Return sides of nearly square tiles that need at most `max_bytes` with their overlap."""
    side, most_pixels = list(shape), max_bytes / bytes_per_pixel

    def pixels() -> int:
        axes = zip(shape, side, reach.border, reach.unit, strict=True)
        return math.prod(min(n, length + 2 * border + unit) for n, length, border, unit in axes)

    while pixels() > most_pixels:
        axis = max(range(len(side)), key=side.__getitem__)
        unit, smaller = reach.unit[axis], (side[axis] - 1) * 7 // 8
        steps = (math.lcm(unit, 128), math.lcm(unit, LANES))  # so that chunks divide tiles
        step = next((step for step in steps if smaller >= 8 * step), unit)
        if smaller < step:
            least, given = math.ceil(pixels() * bytes_per_pixel / 2**20), max_bytes / 2**20
            raise MemoryError(
                f"max_memory is too small: a tile needs {least} MiB, but has {given:.5g} MiB"
            )
        side[axis] = smaller // step * step
    return tuple(side)
