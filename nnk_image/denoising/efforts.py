"""The settings of the patch methods, in one table."""

from dataclasses import dataclass, replace

COLOR_LEFT = (0.3, 0.0)
"""Noise left in the colors after each pass."""


@dataclass(frozen=True)
class Grouping:
    """How groups of similar patches are found; sizes in pixels.

    Attributes
    ----------
    patch, group : int
        Side of the patches, members of a group.
    radius, step : int
        Reach of the search, distance of reference patches.
    """

    patch: int
    group: int
    radius: int
    step: int


@dataclass(frozen=True)
class Effort:
    """What a patch method does.

    Attributes
    ----------
    first : Grouping
        For the first estimate.
    searches : tuple of Grouping
        Groups are found anew for each; the last one serves the colors too.
    left : tuple of tuple of float
        Noise left after each pass over the groups of each search; the last is 0.
    coarse_colors : Grouping
        For the colors at half size and below; in images also at full size, unless noise is white.
    second_look : Grouping or None
        For one more pass on the noisy image itself, if noise is white, whose result is averaged
        with the others'.
    polished : bool
        Whether the luminance of an image is smoothed on its NNK graph even if noise is white.
    light : bool
        Whether, if an image at half size came first and noise is coarse, the groups of the first
        estimate of the luminance serve one pass, and the colors; and every second group is enough
        for colors, and for the luminance where the image has no detail finer than half size.
    """

    first: Grouping
    searches: tuple[Grouping, ...]
    left: tuple[tuple[float, ...], ...]
    coarse_colors: Grouping
    second_look: Grouping | None = None
    polished: bool = False
    light: bool = False


# Tiles begin at multiples of all steps of a method: equal steps keep the tiles small.
_IMAGES = {
    "fast": Effort(
        first=Grouping(5, 64, 9, 5),
        searches=(Grouping(5, 48, 14, 5), Grouping(6, 64, 14, 5)),
        left=((0.5, 0.25), (0.0,)),
        coarse_colors=Grouping(5, 64, 14, 5),
        polished=True,
    ),
    "best": Effort(
        first=Grouping(6, 64, 8, 6),
        searches=(Grouping(5, 48, 24, 4), Grouping(6, 64, 24, 4), Grouping(7, 64, 24, 4)),
        left=((0.65, 0.5), (0.35, 0.2), (0.1, 0.0)),
        second_look=Grouping(12, 64, 24, 6),
        coarse_colors=Grouping(5, 64, 24, 4),
    ),
}

_IMAGES["wide"] = replace(
    _IMAGES["fast"], searches=(Grouping(5, 48, 24, 5), Grouping(6, 64, 24, 5))
)
"""For sums of pixels with few counts: the wider search gains up to 0.06 dB for 7 % of the time."""

_VOLUMES = {
    "fast": Effort(
        first=Grouping(4, 64, 5, 4),
        searches=(Grouping(4, 56, 5, 4),) * 3,
        left=((0.6, 0.5), (0.4, 0.25), (0.1, 0.0)),
        coarse_colors=Grouping(4, 48, 3, 4),
    ),
}
_VOLUMES["best"] = replace(
    _VOLUMES["fast"], first=Grouping(4, 64, 6, 3), searches=(Grouping(4, 64, 6, 3),) * 3
)
_VOLUMES["wide"] = _VOLUMES["best"]

# A patch of 4 pixels along four axes has too many: it is slow, and few others are similar.
_SEQUENCES_OF_VOLUMES = {
    "fast": replace(
        _VOLUMES["fast"],
        first=Grouping(3, 64, 3, 3),
        searches=(Grouping(3, 64, 3, 3),) * 3,
        coarse_colors=Grouping(3, 48, 3, 3),
    ),
}
_SEQUENCES_OF_VOLUMES["best"] = replace(
    _SEQUENCES_OF_VOLUMES["fast"],
    first=Grouping(3, 64, 4, 3),
    searches=(Grouping(3, 80, 4, 2),) * 3,
)
_SEQUENCES_OF_VOLUMES["wide"] = _SEQUENCES_OF_VOLUMES["fast"]


def effort(name, axes, channels):
    """Return the settings of a method for an image with these numbers of axes and of channels.

    The luminance of a color image, an average of its channels, has less noise, and that of
    photographs is coarse: 'fast' does less.
    """
    settings = (_IMAGES, _VOLUMES, _SEQUENCES_OF_VOLUMES)[axes - 2][name]
    if name == "fast" and axes == 2 and channels > 1:
        searches, left = (Grouping(6, 64, 14, 5),), ((0.3, 0.0),)
        return replace(settings, searches=searches, left=left, light=True, polished=False)
    return settings
