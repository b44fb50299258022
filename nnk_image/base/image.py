"""Check images, and lay them out for the C core.

An image is an array (H, W), or (H, W, C) with ``channel_axis``.  Results do not depend on its
memory layout or byte order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.ndimage import distance_transform_edt

from nnk_image.base import memory
from nnk_image.base.checks import check_number, plain_array, warn, working_dtype
from nnk_image.base.geometry import Lines

MOST_AXES = 4
"""Most spatial axes of an image: volumes in time."""

_EXACT_IN_FLOAT32 = ("b1", "u1", "i1")  # products of differences stay below 2^24
_MAX_EXACT_CHANNELS = 64
_COLORS = (3, 4)  # channels of a color image
Array = npt.NDArray[Any]
Floats = npt.NDArray[np.floating[Any]]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Image:
    """A checked image."""

    pixels: Array  # (H, W, C) in the caller's dtype, or a float one; volumes have more axes
    dtype: np.dtype[Any]  # of everything computed from it: float32 or float64
    valid: Bools | None  # (H, W), True for valid pixels; None: all are
    low: float  # smallest valid value
    high: float  # largest one
    channel_axis: int | None  # of the caller's array, non-negative; None: no channels

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape without the channels: (H, W), or more axes."""
        return self.pixels.shape[:-1]

    @property
    def channels(self) -> int:
        """Number of channels; 1 for a grayscale image."""
        return int(self.pixels.shape[-1])

    @property
    def inside(self) -> Any:
        """Index of the valid pixels: `valid`, or ``...`` if all are."""
        return ... if self.valid is None else self.valid

    @property
    def mask(self) -> Bools:
        """Which pixels are valid: `valid`, or True everywhere."""
        return np.full(self.shape, True) if self.valid is None else self.valid

    @property
    def center(self) -> float:
        """Middle of the range of values."""
        return self.low / 2 + self.high / 2

    @property
    def half_range(self) -> float:
        """Half the range of values; the whole range may be infinite."""
        return self.high / 2 - self.low / 2

    def replaced(self, **changes: Any) -> Self:
        """Return the image with other `pixels`, or another mask `valid`, and their range."""
        image = replace(self, **changes)
        values = image.pixels[image.inside]
        return replace(image, low=float(values.min()), high=float(values.max()))

    def filled(self, pixels: Array) -> Array:
        """Return (..., C) pixels with masked ones replaced by valid ones; noise is still noise.

        Areas mirror the pixels around them. A pixel whose mirror image is masked too, or outside of
        the image, gets the value of the nearest valid one.
        """
        if self.valid is None:
            return pixels
        result = pixels.copy()
        result[~self.valid] = pixels[self._substitutes]
        return result

    @cached_property
    def _substitutes(self) -> tuple[Array, ...]:
        return _find_substitutes(self.mask)  # slower than most steps that use them

    def restore(self, pixels: Array) -> Array:
        """Return (H, W, C) pixels with the caller's axes."""
        if self.channel_axis is None:
            return pixels[..., 0]
        return np.ascontiguousarray(np.moveaxis(pixels, -1, self.channel_axis))


@dataclass(frozen=True)
class Layout:
    """What is known of an image before it is read, converted or copied."""

    shape: tuple[int, ...]  # without the channels
    axis: int | None  # of the channels, non-negative
    channels: int
    dtype: np.dtype[Any]  # of the results

    @classmethod
    def of(
        cls,
        image: Any,
        channel_axis: int | None,
        spaced: bool = True,
        volume: str = "spacing=1",
    ) -> Layout:
        """Return the layout of an image that has not been checked yet.

        Unless `spaced`, an array that may be a color image, or images, or a volume is an error,
        whose message names the argument that makes it a volume, `volume`.
        """
        if isinstance(image, Image):
            return cls(image.shape, image.channel_axis, image.channels, image.dtype)
        _refuse_other_objects(image)
        if not isinstance(getattr(image, "dtype", None), np.dtype):
            image = np.asarray(image)  # such as a tensor of PyTorch, whose memory the array shares
        _check_dtype(image.dtype)
        shape = tuple(image.shape)
        axis, dtype = _check_axes(shape, channel_axis), working_dtype(image.dtype)
        if 0 in shape:
            raise ValueError(f"the image has no pixel: shape {shape}")
        if axis is not None:
            return cls(shape[:axis] + shape[axis + 1 :], axis, shape[axis], dtype)
        # The first of four axes is more often a short time than color.
        may_be_colors = (shape[0], shape[-1]) if len(shape) == 3 else shape[3:]
        if not spaced and {*may_be_colors} & {*_COLORS}:
            raise ValueError(
                f"an image of shape {shape} may be a color image or a volume: pass channel_axis= "
                f"(-1 if the channels come last), or {volume} for a volume"
            )
        return cls(shape, None, 1, dtype)

    def require(self, bytes_of: Callable[[int, int], float], what: str) -> None:
        """Raise MemoryError unless there is enough memory to process the image.

        ``bytes_of(itemsize, channels)`` is the need per pixel, for the item size of `dtype`. `what`
        names the operation in the message.
        """
        need = math.prod(self.shape) * bytes_of(self.dtype.itemsize, self.channels)
        size = "x".join(map(str, self.with_channels(self.shape, self.channels)))
        memory.require(int(need), f"{what} of an image of shape {size}")

    def with_channels(self, spatial: Sequence[Any], channels: Any) -> tuple[Any, ...]:
        """Insert `channels` among items of the spatial axes, if there is a channel axis."""
        if self.axis is None:
            return tuple(spatial)
        return (*spatial[: self.axis], channels, *spatial[self.axis :])

    def slices(self, spatial: tuple[slice, ...]) -> tuple[slice, ...]:
        """Return the slices of the array for those of the spatial axes."""
        return self.with_channels(spatial, slice(None))


def check_image(image: Any, channel_axis: int | None = None, mask: Any = None) -> Image:
    """Check an image and its mask; an `Image` is returned as it is.

    Without `channel_axis` it is grayscale. `mask` is True for valid pixels, all of which must be
    finite; the mask of a masked array is applied as well.
    """
    if isinstance(image, Image):
        return image
    _refuse_other_objects(image)
    pixels = np.ma.getdata(image) if isinstance(image, np.ma.MaskedArray) else np.asarray(image)
    layout = Layout.of(pixels, channel_axis)
    pixels = np.require(pixels, requirements=["ALIGNED"])  # in any layout
    pixels = pixels[..., None] if layout.axis is None else np.moveaxis(pixels, layout.axis, -1)
    if pixels.dtype.kind == "f" and pixels.dtype.newbyteorder("=") != layout.dtype:
        pixels = pixels.astype(layout.dtype)
    valid = _check_mask(mask, layout.shape)
    if isinstance(image, np.ma.MaskedArray):
        hidden: Any = np.ma.getmaskarray(image)
        if layout.axis is not None:
            hidden = hidden.any(axis=layout.axis)
        valid = _check_mask(~hidden if valid is None else valid & ~hidden, layout.shape)
    low, high = _finite_range(pixels, valid)
    return Image(pixels, layout.dtype, valid, low, high, layout.axis)


def image_array(image: Any) -> Array:
    """Return an image of any shape as an array of real numbers, NaN where it is masked."""
    _refuse_other_objects(image)
    array = plain_array(image)
    _check_dtype(array.dtype)
    return array


def check_spacing(spacing: Any, axes: int) -> tuple[float, ...]:
    """Return `spacing` as a tuple of positive floats, one per axis; all are 1 if it is None."""
    if spacing is None or not np.iterable(spacing):
        spacing = (1.0 if spacing is None else spacing,) * axes
    if len(spacing) != axes:
        raise ValueError(f"spacing must be one number, or one per axis ({axes}), got {spacing!r}")
    what = "distance of pixels along an axis"
    return tuple(check_number("spacing", s, what) for s in spacing)


def relative_spacing(spacing: Any, axes: int) -> tuple[float, ...] | None:
    """Check `spacing`, and return it relative to the smallest distance; None if all are equal."""
    spacing = check_spacing(spacing, axes)
    least = min(spacing)
    return None if least == max(spacing) else tuple(s / least for s in spacing)


def data_range_of(image: Image) -> float:
    """Return the range of values `image` may take; ValueError if its dtype does not say."""
    kind, size = image.pixels.dtype.kind, image.pixels.dtype.itemsize
    if kind == "u" and size <= 2:
        largest = float(np.iinfo(image.pixels.dtype).max)
        if size == 2 and image.high < largest / 8:
            warn(
                f"the values of this uint16 image are {image.high:g} at most, but the default "
                f"sigma_f is 10/255 of {largest:g}; pass sigma_f, such as 10/255 of the largest "
                "value that the camera may give",
            )
        return largest
    if kind == "b" or (kind == "f" and image.low >= 0 and image.high <= 1):
        return 1.0
    raise ValueError(
        f"the data range of this {image.pixels.dtype} image with values from {image.low:g} to "
        f"{image.high:g} is not known; pass sigma_f in the image's units, such as 10 "
        "for values up to 255"
    )


def feature_planes(image: Image, lines: Lines) -> tuple[bool, Array]:
    """Return whether float32 is exact, and (C, rows, stride) features as the C core reads them.

    It is exact for 8-bit values, because it holds every product of their differences: their graph
    is that of the float64 image, bit for bit. Features are NaN on the border, in gaps and masks.
    """
    exact = image.channels <= _MAX_EXACT_CHANNELS
    exact = exact and image.pixels.dtype.str[1:] in _EXACT_IN_FLOAT32
    radius, width = lines.radius, lines.width
    shape = image.channels, *lines.feature_plane()
    planes = np.full(shape, np.nan, np.float32 if exact else image.dtype)
    inside = planes[:, lines.border : lines.border + lines.height, radius : radius + width]
    inside[:, lines.rows] = np.moveaxis(image.pixels, -1, 0).reshape(image.channels, -1, width)
    if image.valid is not None:
        absent = np.zeros((lines.height, width), bool)
        absent[lines.rows] = ~image.valid.reshape(-1, width)
        inside[:, absent] = np.nan
    return exact, planes


def place_of(position: tuple[int, ...]) -> str:
    """Describe the position of a pixel."""
    if len(position) == 2:
        return f"row {position[0]}, column {position[1]}"
    return f"position {position}"


def _refuse_other_objects(image: Any) -> None:
    if hasattr(image, "adjacency"):
        raise TypeError(
            f"image must be an array, not a graph ({type(image).__name__}): give the image first"
        )
    if getattr(image, "mode", None) in ("P", "PA"):  # a picture of Pillow
        raise TypeError(
            f"mode {image.mode!r} holds numbers of colors in a palette: use image.convert('RGB')"
        )


def _check_dtype(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "buif":
        raise TypeError(
            f"an image is an array of real numbers, not {dtype}; image.real or image.astype(float) "
            "converts an array, nnk_image.io.read reads a file"
        )


def _check_axes(shape: tuple[int, ...], channel_axis: Any) -> int | None:
    """`channel_axis` as a non-negative axis or None, checked against the shape."""
    axes = len(shape)
    cure = "pass one image at a time, such as image[0]" if axes > 2 else "reshape it to two axes"
    if channel_axis is None:
        if 2 <= axes <= MOST_AXES:
            return None
        if axes == MOST_AXES + 1:
            cure = "give channel_axis= if it has channels (-1 if they come last), or " + cure
        raise ValueError(
            f"an image has 2 to {MOST_AXES} axes, this one {axes}: shape {shape}; {cure}"
        )
    if not isinstance(channel_axis, Integral) or isinstance(channel_axis, bool):
        raise TypeError(f"channel_axis must be an integer or None, not {channel_axis!r}")
    if not 3 <= axes <= MOST_AXES + 1:
        cure = "a grayscale image of two axes has no channel axis" if axes == 2 else cure
        raise ValueError(
            f"channel_axis={channel_axis} is for arrays of 3 to {MOST_AXES + 1} axes, this one has "
            f"{axes}: shape {shape}; {cure}"
        )
    if not -axes <= int(channel_axis) < axes:
        raise ValueError(
            f"channel_axis={channel_axis} is outside an array of shape {shape}; -1 is the last axis"
        )
    return int(channel_axis) % axes


def _check_mask(mask: Any, shape: tuple[int, ...]) -> Bools | None:
    if mask is None:
        return None
    valid = np.array(np.ma.filled(mask, False))  # masked entries of the mask are not valid
    if valid.dtype != bool:
        raise TypeError(
            f"mask must be boolean (True: the pixel takes part), not {valid.dtype}: mask > 0"
        )
    if valid.shape != shape:
        raise ValueError(
            f"mask has shape {valid.shape}, the image without channels {shape}: they must be "
            "equal. For an image with channels, give channel_axis, and a mask without that axis"
        )
    if not valid.any():
        raise ValueError("mask is False everywhere, or all pixels are masked: one must be valid")
    return valid


def _finite_range(pixels: Array, valid: Bools | None) -> tuple[float, float]:
    """Return the smallest and the largest value; ValueError says where values are not finite."""
    values = pixels if valid is None else pixels[valid]
    low, high = values.min(), values.max()
    if np.isfinite(low) and np.isfinite(high):
        return float(low), float(high)
    bad = ~np.isfinite(pixels).all(axis=-1)
    if valid is not None:
        bad &= valid
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    value = next(v for v in pixels[first] if not np.isfinite(v))
    axis = ".all(axis=channel_axis)" if pixels.shape[-1] > 1 else ""
    raise ValueError(
        f"{int(bad.sum())} of {bad.size} pixels are not finite, the first at {place_of(first)} "
        f"({value}); replace them, or leave them out with "
        f"mask=numpy.isfinite(image){axis} where a mask is accepted"
    )


def _find_substitutes(valid: Bools) -> tuple[Array, ...]:
    """Return the indices along each axis of the pixels whose values the masked ones get."""
    nearest = distance_transform_edt(~valid, return_distances=False, return_indices=True)
    nearest = nearest[:, ~valid]
    masked = np.array(np.nonzero(~valid), nearest.dtype)
    away = masked - nearest
    mirrored = nearest - away + np.sign(away)
    sizes = np.array(valid.shape)[:, None]
    usable = np.all((mirrored >= 0) & (mirrored < sizes), axis=0)
    usable[usable] = valid[tuple(mirrored[:, usable])]
    return tuple(np.where(usable, mirrored, nearest))
