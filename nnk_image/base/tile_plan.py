"""How a large image is cut into tiles that overlap, so that each can be denoised by itself."""

import math
from dataclasses import dataclass
from itertools import product

from nnk_image.base.reach import Reach


@dataclass(frozen=True)
class Tile:
    """A part of an image.

    Attributes
    ----------
    number : int
        From 0.
    core : tuple of slice
        What is to be made: the cores of all tiles cover the image, and none overlap.
    padded : tuple of slice
        What is needed for that.
    """

    number: int
    core: tuple[slice, ...]
    padded: tuple[slice, ...]

    @property
    def inside(self):
        """The core, within what is cut out as `padded`."""
        return tuple(
            slice(core.start - padded.start, core.stop - padded.start)
            for core, padded in zip(self.core, self.padded, strict=True)
        )


@dataclass(frozen=True)
class TilePlan:
    """All tiles of an image.

    Attributes
    ----------
    shape : tuple of int
        Of the image, without channels.
    side : tuple of int
        Of the cores of all but the last tiles along each axis.
    reach : Reach
    """

    shape: tuple[int, ...]
    side: tuple[int, ...]
    reach: Reach

    def __len__(self):
        return math.prod(-(-n // side) for n, side in zip(self.shape, self.side, strict=True))

    def __iter__(self):
        starts = (range(0, n, side) for n, side in zip(self.shape, self.side, strict=True))
        return (self._tile(number, at) for number, at in enumerate(product(*starts)))

    @property
    def padded_pixels(self):
        """Pixels of the largest padded tile."""
        borders = zip(self.shape, self.side, self.reach.border, self.reach.unit, strict=True)
        return math.prod(min(n, side + 2 * border + unit) for n, side, border, unit in borders)

    def _tile(self, number, at):
        core, padded = [], []
        sizes = zip(at, self.shape, self.side, self.reach.border, self.reach.unit, strict=True)
        for start, n, side, border, unit in sizes:
            stop = min(start + side, n)
            core.append(slice(start, stop))
            first = max(0, start - border) // unit * unit
            padded.append(slice(first, min(stop + border, n)))
        return Tile(number, tuple(core), tuple(padded))


def plan_tiles(shape, reach, most_pixels):
    """Tiles of at most so many pixels, borders included.

    Parameters
    ----------
    shape : tuple of int
    reach : Reach
    most_pixels : int

    Returns
    -------
    TilePlan
        Of one tile where the image has no more pixels than that; else of cores as nearly square as
        the image allows.

    Raises
    ------
    MemoryError
        Not even the smallest tiles are so small.
    """
    side = list(shape)
    while TilePlan(shape, tuple(side), reach).padded_pixels > most_pixels:
        axis = max(range(len(side)), key=side.__getitem__)
        unit = reach.unit[axis]
        smaller = (side[axis] - 1) * 7 // 8 // unit * unit
        if smaller < unit:
            raise MemoryError(
                f"tiles of at most {most_pixels} pixels are too small: {reach.border} pixels on "
                "each side are needed beside what is made; allow more memory"
            )
        side[axis] = smaller
    return TilePlan(shape, tuple(side), reach)
