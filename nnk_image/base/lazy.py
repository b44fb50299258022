"""Parts of an image that may be larger than memory, as arguments and results of dask tasks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.extras import requires_extra
from nnk_image.base.image import Layout, check_image
from nnk_image.base.parallel import RowExecutor
from nnk_image.base.reach import Slices

with requires_extra("images in tiles need dask", "tiled"):
    import dask.array as da
    import dask.callbacks
    from dask.delayed import delayed
    from dask.utils import parse_bytes

__all__ = ["da", "dask", "delayed"]


def bytes_of(max_memory: int | str) -> int:
    """Return a number of bytes, given as such or as text: '500MB', '4GiB'."""
    with suppress(ValueError, AttributeError, OverflowError):
        if (number := int(parse_bytes(max_memory))) > 0:
            return number
    raise ValueError(
        f"max_memory={max_memory!r} must be a positive number of bytes, or a text such as '4GiB'"
    )


@dataclass(frozen=True)
class Unread:
    """A part of an array, which is read when it is used."""

    source: Any
    slices: Slices

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        return np.asarray(self.source[self.slices], dtype)


def part_of(image: Any, layout: Layout, spatial: Slices) -> Any:
    """Return a part of an image as an argument of a task; it is read when the task runs."""
    slices = layout.slices(spatial)
    return image[slices] if isinstance(image, da.Array) else Unread(image, slices)


def task(function: Any, image: Any, layout: Layout, spatial: Slices, *arguments: Any) -> Any:
    """Return the task ``function(Image of a part, executor, *arguments)``."""
    return delayed(_run)(function, part_of(image, layout, spatial), layout, spatial, arguments)


def _run(function: Any, pixels: Any, layout: Layout, spatial: Slices, arguments: Any) -> Any:
    try:
        image = check_image(pixels, layout.axis)
    except ValueError as error:
        place = ", ".join(str(axis.start) for axis in spatial)
        raise ValueError(f"in the tile that begins at ({place}): {error}") from error
    with RowExecutor() as executor:
        return function(image, executor, *arguments)


def assembled(
    blocks: list[da.Array], shape: Sequence[int], side: Sequence[int], axes: Sequence[int]
) -> da.Array:
    """Join the arrays of all tiles along `axes`, the axes of space."""
    if not axes:
        return blocks[0]
    n = len(blocks) // -(-shape[0] // side[0])
    groups = (blocks[i : i + n] for i in range(0, len(blocks), n))
    return da.concatenate(
        [assembled(group, shape[1:], side[1:], axes[1:]) for group in groups], axes[0]
    )
