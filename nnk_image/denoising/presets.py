"""The settings of the patch methods, in one table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """How `patch_filter.wiener` works on an image; sizes in pixels.

    Attributes
    ----------
    first_patch, first_group : int
        Side of the patches and members of the groups of the first estimate.
    patches, patches_noisy : tuple of int
        Side of the patches of each matching epoch, the last repeated; the second one
        where noise is strong.
    group : int
        Members of a group in the Wiener passes.
    radius, step : int
        Reach of the search, distance of reference patches.
    passes, passes_per_epoch : int
        Wiener passes, and after how many of them groups are found anew.
    right_last : bool
        In the last epoch filter across the pixels of a patch, if noise is white: if it is
        correlated filtering across patches does better (measured).
    """

    first_patch: int
    first_group: int
    patches: tuple[int, ...]
    patches_noisy: tuple[int, ...]
    group: int
    radius: int
    step: int
    passes: int
    passes_per_epoch: int
    right_last: bool = False


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


_IMAGES = {
    "fast": Preset(9, 16, (7, 8), (7, 8), 48, 10, 6, 3, 2, right_last=True),
    "coarse": Preset(9, 16, (7,), (7,), 48, 10, 6, 1, 2),
    "balanced": Preset(11, 16, (6,), (8,), 64, 18, 5, 6, 2),
    "best": Preset(11, 16, (6, 6, 8), (6, 7, 8), 64, 18, 4, 9, 3, right_last=True),
    "second look": Preset(11, 16, (10,), (10,), 64, 18, 5, 1, 1, right_last=True),
}

_VOLUMES = {
    "fast": Preset(5, 16, (4,), (4,), 48, 4, 3, 6, 2),
    "coarse": Preset(5, 16, (4,), (4,), 48, 4, 3, 1, 2),
    "balanced": Preset(5, 16, (4,), (4,), 64, 4, 3, 6, 2),
    "best": Preset(5, 16, (4,), (4,), 80, 5, 3, 6, 2),
    "second look": Preset(5, 16, (5,), (5,), 64, 5, 3, 1, 1),
}

_PRESETS = {2: _IMAGES, 3: _VOLUMES, 4: _VOLUMES}


def preset(name, axes):
    """Return the settings of a method for an image of the given number of axes.

    'second look' is the additional pass of 'best' under strong noise, 'coarse' the run of 'fast'
    at half the size.
    """
    return _PRESETS[axes][name]


_QUICK_IMAGES = {
    "first": Grouping(9, 16, 8, 8),
    "pass": Grouping(6, 64, 10, 6),
    "half size, first": Grouping(7, 16, 8, 7),
    "half size, pass": Grouping(6, 64, 8, 6),
}

_QUICK_VOLUMES = {
    "first": Grouping(5, 16, 3, 5),
    "pass": Grouping(4, 48, 4, 4),
    "half size, first": Grouping(4, 16, 3, 4),
    "half size, pass": Grouping(4, 48, 3, 4),
}


def quick(search, axes):
    """Return a search of 'quick' by its purpose, for an image of the given number of axes."""
    return (_QUICK_IMAGES if axes == 2 else _QUICK_VOLUMES)[search]
