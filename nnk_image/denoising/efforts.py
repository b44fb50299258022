"""The settings of the patch methods, and how they adapt to images with short axes."""

import math
from dataclasses import dataclass, replace

COLOR_NOISE_LEFT = (1.0, 0.3, 0.0)  # see `Effort.noise_left`


@dataclass(frozen=True)
class Grouping:
    """How groups of similar patches are found; lengths in pixels."""

    patch: int  # side of a patch
    group: int  # number of patches in a group
    radius: int  # of the search around a reference patch
    step: int  # distance between reference patches

    def sizes(self, shape, spacing=None):
        """Return patch, radius and step along each axis of an image, as tuples of int.

        Steps never exceed patches, so that every pixel is covered.
        """
        patch = fill(shape, self.patch, spacing)
        windows = fill(tuple(2 * n - 1 for n in shape), 2 * self.radius + 1, spacing)
        if len(shape) == 2 and spacing is not None:  # equal for all patches: allows small tiles
            step = tuple(map(min, fill(shape, self.step, spacing), patch))
        else:
            share = min(self.step, self.patch) / self.patch
            step = tuple(max(1, round(share * side)) for side in patch)
        # Slices far apart, too, have more similar patches than one slice alone.
        radius = (max(window // 2, min(1, n - 1)) for window, n in zip(windows, shape, strict=True))
        return patch, tuple(radius), step


@dataclass(frozen=True)
class Effort:
    """The searches and passes of a patch method."""

    first: Grouping  # of the first estimate
    searches: tuple[Grouping, ...]
    """Later ones, each on the result so far; colors at full size use the last."""
    noise_left: tuple[tuple[float, ...], ...]
    """In the working image before the first pass of each search and after each pass, relative to
    sigma: from 1 in the noisy image to 0."""
    coarse_colors: Grouping  # of the colors at half size and below
    polished: bool = False
    """Smooth the luminance of images on its NNK graph even if the noise is white."""


# First estimates need about two members for each value of a patch of usual size, so that the
# covariance of a group is not mostly chance. Later passes know the result better, and need fewer.
#
# Tiles begin at common multiples of all steps of a method: equal steps, or steps that divide each
# other, allow small tiles.
_IMAGES = {
    "fast": Effort(
        first=Grouping(5, 64, 7, 5),
        searches=(Grouping(5, 40, 18, 5),),
        noise_left=((1.0, 0.5, 0.25, 0.0),),
        coarse_colors=Grouping(5, 64, 18, 5),
        polished=True,
    ),
    "best": Effort(
        first=Grouping(5, 64, 7, 4),
        searches=(Grouping(5, 40, 24, 4), Grouping(7, 64, 24, 4)),
        noise_left=((1.0, 0.65, 0.35), (0.35, 0.1, 0.0)),
        coarse_colors=Grouping(5, 64, 24, 4),
    ),
}

_VOLUMES = {
    "fast": Effort(
        first=Grouping(4, 128, 5, 4),
        searches=(Grouping(4, 56, 7, 4),) * 2,
        noise_left=((1.0, 0.65, 0.35), (0.35, 0.2, 0.1, 0.0)),
        coarse_colors=Grouping(4, 48, 3, 4),
    ),
}
_VOLUMES["best"] = replace(
    _VOLUMES["fast"], first=Grouping(4, 128, 6, 3), searches=(Grouping(4, 64, 8, 3),) * 2
)

# Patches of side 4 would have 256 pixels on four axes: slow, and few others would be similar.
_SEQUENCES_OF_VOLUMES = {
    "fast": replace(
        _VOLUMES["fast"],
        first=Grouping(3, 160, 3, 3),
        searches=(Grouping(3, 64, 4, 3),) * 2,
        coarse_colors=Grouping(3, 48, 3, 3),
    ),
}
_SEQUENCES_OF_VOLUMES["best"] = replace(
    _SEQUENCES_OF_VOLUMES["fast"],
    first=Grouping(3, 160, 4, 3),
    searches=(Grouping(3, 80, 5, 2),) * 2,
)


def effort(name, axes, channels):
    """Return the settings of a method for an image with these numbers of axes and of channels."""
    settings = (_IMAGES, _VOLUMES, _SEQUENCES_OF_VOLUMES)[axes - 2][name]
    if name == "fast" and axes == 2 and channels > 1:
        # An average of channels has less noise, which needs fewer passes. The noise of photographs
        # varies more than a model says, and larger groups leave fewer specks of it.
        return replace(settings, searches=(Grouping(5, 48, 18, 5),), noise_left=((1.0, 0.3, 0.0),))
    return settings


def fill(shape, side, spacing=None):
    """Return the sides of a box of about ``side ** axes`` pixels, of equal length in space.

    The box covers a short axis fully, and one pixel of an axis whose spacing is too large; the
    other sides grow in return. So a volume of few slices is treated much like an image.
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
