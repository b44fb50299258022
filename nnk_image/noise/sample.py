"""Images of two axes in which noise is measured: of a volume, some slices."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from nnk_image.base.image import Bools, Image
from nnk_image.noise.blocks import SIDE

_FEWEST_SLICES, _MOST_PIXELS = 4, 1 << 21
"""At least this many slices of a volume are used; more, up to this many pixels together."""


def plane_of(image: Image) -> Image:
    """Return an image of two axes, in C order so that sums do not depend on the memory layout.

    Of a volume, some slices are placed one below the other. Masked pixels get the values of valid
    ones nearby. ValueError if there is no room for a block.
    """
    height, width = image.shape[-2:]
    if min(height, width) < SIDE and image.low < image.high:
        count = f"{image.channels} channel" + "s" * (image.channels > 1)
        along = " along two of the last three axes" if len(image.shape) > 2 else ""
        raise ValueError(
            f"the noise of {count} of {'x'.join(map(str, image.shape))} pixels cannot be "
            f"estimated: at least {SIDE}x{SIDE} are needed{along}; check channel_axis, or give "
            "sigma to denoise"
        )
    if len(image.shape) == 2:
        return replace(image, pixels=np.ascontiguousarray(image.filled(image.pixels)))
    usable = np.any(image.mask.reshape(-1, height * width), axis=1)
    return stacked(image, some_slices(np.asarray(usable), image))


def some_slices(usable: Bools, image: Image) -> npt.NDArray[np.intp]:
    """Return the numbers of some of the usable slices, evenly spaced."""
    some = np.flatnonzero(usable)
    number = max(_FEWEST_SLICES, _MOST_PIXELS // math.prod(image.shape[-2:]))
    return some[np.unique(np.linspace(0, len(some) - 1, number).round().astype(int))[: len(some)]]


def stacked(image: Image, numbers: npt.NDArray[np.intp]) -> Image:
    """Return slices of a volume, one below the other, with a masked row between them."""
    height, width = image.shape[-2:]
    valid = image.mask.reshape(-1, height, width)[numbers]
    valid = np.pad(valid, ((0, 0), (0, 1), (0, 0))).reshape(-1, width)
    rows = image.pixels.reshape(-1, height, width, image.channels)[numbers]
    rows = np.pad(rows, ((0, 0), (0, 1), (0, 0), (0, 0)), mode="edge")
    stacked = replace(image, pixels=rows.reshape(-1, width, image.channels), valid=valid)
    if image.valid is None:
        return stacked
    return replace(stacked, pixels=stacked.filled(stacked.pixels))
