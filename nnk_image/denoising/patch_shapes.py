"""How large patches, search windows and steps are along each axis of an image."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class PatchSizes:
    """Pixels along each axis.

    Attributes
    ----------
    patch : tuple of int
        Sides of a patch.
    radius : tuple of int
        Reach of the search for similar patches.
    step : tuple of int
        Distance of reference patches, never more than a patch: every pixel is covered.
    """

    patch: tuple[int, ...]
    radius: tuple[int, ...]
    step: tuple[int, ...]


def sizes(shape, patch, grouping, spacing=None):
    """Return the sizes for an image of this shape.

    `patch` is the side of a patch where all axes are long and of equal spacing; the radius and step
    of `grouping` are those for such patches.
    """
    if len(shape) == 2 and not min(shape) < patch < max(shape):
        side = min(patch, *shape)
        step, radius = min(grouping.step, side), min(grouping.radius, max(shape))
        return PatchSizes((side,) * 2, (radius,) * 2, (step,) * 2)
    sides = fill(shape, patch, spacing)
    windows = fill(tuple(2 * n - 1 for n in shape), 2 * grouping.radius + 1, spacing)
    step = min(grouping.step, patch) / patch
    steps = tuple(max(1, round(step * side)) for side in sides)
    return PatchSizes(sides, tuple(window // 2 for window in windows), steps)


def fill(shape, side, spacing=None):
    """Return the sides of a box of about ``side ** axes`` pixels, of equal length in space.

    An axis that is too short is taken whole, and one pixel of an axis that is too coarse; the
    others make up for it.  So a volume of few slices is treated much like an image.
    """
    spacing = (1.0,) * len(shape) if spacing is None else spacing
    fixed = {}
    while len(fixed) < len(shape):
        free = [axis for axis in range(len(shape)) if axis not in fixed]
        pixels = side ** len(shape) / math.prod(fixed.values())
        length = (pixels * math.prod(spacing[axis] for axis in free)) ** (1 / len(free))
        sides = {axis: length / spacing[axis] for axis in free}
        excess = {axis: max(sides[axis] / shape[axis], 1 / sides[axis]) for axis in free}
        worst = max(free, key=excess.get)
        if excess[worst] <= 1:
            fixed.update((axis, round(sides[axis])) for axis in free)
        else:
            fixed[worst] = shape[worst] if sides[worst] > shape[worst] else 1
    return tuple(fixed[axis] for axis in range(len(shape)))
