"""Parts of an image that may be larger than memory, as arguments and results of dask tasks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import working_dtype
from nnk_image.base.extras import requires_extra
from nnk_image.base.image import Image, check_image, spatial_shape
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
class Layout:
    """Shape without channels, axis and number of channels, and type of the results."""

    shape: tuple[int, ...]
    axis: int | None
    channels: int
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, image: Any, channel_axis: int | None, spaced: bool) -> Layout:
        shape = spatial_shape(image, channel_axis, spaced)
        if 0 in image.shape:
            raise ValueError(f"the image has no pixel: shape {tuple(image.shape)}")
        axis = None if channel_axis is None else channel_axis % len(image.shape)
        channels = 1 if axis is None else image.shape[axis]
        return cls(shape, axis, channels, working_dtype(np.dtype(image.dtype)))

    def with_channels(self, spatial: Sequence[Any], channels: Any) -> tuple[Any, ...]:
        """Insert `channels` among items of the spatial axes, if there is a channel axis."""
        if self.axis is None:
            return tuple(spatial)
        return (*spatial[: self.axis], channels, *spatial[self.axis :])

    def slices(self, spatial: Slices) -> Slices:
        """Return the slices of the array for those of the spatial axes."""
        return self.with_channels(spatial, slice(None))

    def chunk(self, spatial: Slices) -> tuple[int, ...]:
        """Return the shape of the part of the array with these slices of the spatial axes."""
        return self.with_channels([axis.stop - axis.start for axis in spatial], self.channels)

    def checked(self, pixels: Any, spatial: Slices) -> Image:
        try:
            return check_image(pixels, self.axis)
        except ValueError as error:
            place = ", ".join(str(axis.start) for axis in spatial)
            raise ValueError(f"in the tile that begins at ({place}): {error}") from error


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
    with RowExecutor() as executor:
        return function(layout.checked(pixels, spatial), executor, *arguments)


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
