"""What the formats of stacks share: the class of their files, and the way of samples to and fro."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nnk_image.base import memory

from .common import FormatError, to_samples

_CHUNK = 1 << 20  # bytes read or written at a time, so that Ctrl-C is heard

_ORDER = "TZCYXS"  # how axes are told where only their number is known

# Units of length in micrometres, and the other names that files give them.
_MICROMETRES = {"nm": 1e-3, "um": 1.0, "mm": 1e3, "cm": 1e4, "m": 1e6, "inch": 25400.0}
_NAMES = {
    **dict.fromkeys(("µm", "μm", "\\u00B5m", "micron", "microns", "micrometer"), "um"),
    **{"nanometer": "nm", "millimeter": "mm", "centimeter": "cm", "meter": "m", "in": "inch"},
}


@dataclass(frozen=True, eq=False)
class StackFile:
    """A volume, a sequence or any other array of more than a picture, as a file holds it.

    Attributes
    ----------
    pixels : ndarray
        The values in native byte order, one axis for each letter of `axes`.
    axes : str
        What each axis is, in numpy's order: T time, Z, Y and X space, C channels, S
        colours of a pixel, as of RGB; any other letter for places that are apart from each other.
    spacing : tuple of float or None
        Distance of neighbours along each axis, None where the file does not tell it: in `unit`
        along Z, Y and X, in seconds along T.  An empty tuple stands for None everywhere.
    unit : str or None
        Unit of length, such as 'um' or 'mm'; None where the file does not tell it.
    format : {'TIFF', 'NPY', 'NIFTI'}
        The format the bytes are in, whatever the file is called.
    dtype : numpy.dtype
        Of the samples in the file: that of `pixels`, unless the file scales them.
    assumed : bool
        True if the file does not say what all of its axes are.
    kept : object
        What the format writes again: metadata, resolution, compression, affine.
    """

    pixels: np.ndarray
    axes: str
    spacing: tuple[float | None, ...] = ()
    unit: str | None = None
    format: str = "NPY"
    dtype: np.dtype | None = None
    assumed: bool = False
    kept: Any = field(default=None, repr=False)

    def __post_init__(self):
        if len(self.axes) != self.pixels.ndim:
            raise ValueError(
                f"axes {self.axes!r} are {len(self.axes)}, the pixels have {self.pixels.ndim}: "
                "give one letter for each"
            )
        if not self.spacing:
            object.__setattr__(self, "spacing", (None,) * len(self.axes))
        if len(self.spacing) != len(self.axes):
            raise ValueError(
                f"spacing {self.spacing} must be one number, or None, for each of the axes "
                f"{self.axes}"
            )
        if self.dtype is None:
            object.__setattr__(self, "dtype", self.pixels.dtype)

    def spacing_along(self, axis: str) -> float | None:
        """Return the spacing along the axis of this letter, None if there is none."""
        return dict(zip(self.axes, self.spacing, strict=True)).get(axis)


def check_axes(axes: str, shape: tuple[int, ...]) -> str:
    """Return what a user says the axes are, in capitals, if they fit to an array of `shape`."""
    axes = axes.upper()
    if not (axes.isalpha() and len(set(axes)) == len(axes) == len(shape) and {*"YX"} <= {*axes}):
        raise FormatError(
            f"has {len(shape)} axes, of lengths {'x'.join(map(str, shape))}; axes={axes!r} must be "
            "one letter for each, Y and X among them: T time, Z Y X space, C channels, S colours"
        )
    return axes


def guess_axes(shape: tuple[int, ...]) -> str:
    """Return what the axes of an array probably are that comes without their names."""
    maybe_colour = len(shape) > 2 and {shape[0], shape[-1]} & {3, 4}
    if 2 <= len(shape) <= 4 and not maybe_colour:
        return "TZYX"[-len(shape) :]
    example = "TZCYX" if len(shape) == 5 else "YXS" if len(shape) == 3 else "ZYXS"
    raise FormatError(
        f"does not say what its {len(shape)} axes are, of lengths {'x'.join(map(str, shape))}; "
        f"say it with axes, one letter for each, such as {example}: T time, Z Y X space, C "
        "channels, S colours"
    )


def check_voxels(shape: tuple[int, ...], dtype: np.dtype, max_pixels: int | None) -> None:
    """Refuse a stack that is larger than wished, or than memory, before it is read."""
    count = math.prod(shape)
    size = "x".join(map(str, shape))
    if count < 1:
        raise FormatError(f"claims to be {size} pixels; save it again")
    if max_pixels is not None and count > max_pixels:
        raise FormatError(
            f"claims {size} = {count} pixels, more than the limit of {max_pixels}; "
            f"if you trust the file, raise the limit (max_pixels) to {count}"
        )
    memory.require(count * dtype.itemsize, f"reading {size} pixels", "cut it into smaller files")


def read_array(stream, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Read samples that lie one after the other, straight into their array."""
    array = np.empty(shape, dtype)
    view = memoryview(array.reshape(-1).view(np.uint8))
    done = 0
    while done < len(view):
        n = stream.readinto(view[done : done + _CHUNK])
        if not n:
            raise FormatError(
                f"is truncated: {done} of {len(view)} bytes of pixels; fetch the file again"
            )
        done += n
    return native(array)


def native(array: np.ndarray) -> np.ndarray:
    """Return an array that nobody else has in native byte order, turned in place."""
    if array.dtype.isnative:
        return array
    return array.byteswap(inplace=True).view(array.dtype.newbyteorder("="))


def write_array(stream, pixels: np.ndarray, dtype: np.dtype) -> None:
    """Write samples one after the other in `dtype`, rounded and clipped to it if need be."""
    for part in parts(pixels):
        stream.write(np.ascontiguousarray(to_samples(part, dtype)).data)


def put_samples(target: np.ndarray, values: np.ndarray) -> bool:
    """Write `values` over samples of a stack, in their dtype; whether that changed any of them."""
    changed = False
    if values.nbytes > _CHUNK and values.ndim > 1:
        for places, part in zip(target, values, strict=True):
            changed = put_samples(places, part) or changed
        return changed
    samples = to_samples(values, target.dtype)
    changed = not np.array_equal(samples, target)
    target[...] = samples
    return changed


def parts(array: np.ndarray) -> Iterator[np.ndarray]:
    """Cut an array along its first axes into parts of a megabyte or so, in their order."""
    if array.nbytes <= _CHUNK or array.ndim < 2:
        yield array
    else:
        for part in array:
            yield from parts(part)


Lengths = tuple[dict[str, float], str | None]
"""Spacing along some axes, by their letters, and its unit."""


def common_unit(lengths: dict[str, tuple[float, str | None]]) -> Lengths:
    """Return lengths in one unit, and the unit; those whose own unit is not known are left out.

    Parameters
    ----------
    lengths : dict from str to (float, str or None)
        Length and unit of each axis.
    """
    named = {
        axis: (abs(length), _NAMES.get(unit, unit))
        for axis, (length, unit) in lengths.items()
        if math.isfinite(length) and length
    }
    units = {unit for _, unit in named.values()}
    if len(units) <= 1:
        return {axis: length for axis, (length, _) in named.items()}, next(iter(units), None)
    known = {k: v * _MICROMETRES[unit] for k, (v, unit) in named.items() if unit in _MICROMETRES}
    return known, "um"


def micrometres(unit: str | None) -> float | None:
    """Return the length of a unit in micrometres, None for a unit that is not known."""
    return _MICROMETRES.get(unit)


def in_order(axes: str) -> bool:
    """Return whether axes are of those that formats know, one after the other as they wish."""
    places = [_ORDER.find(axis) for axis in axes]
    return places == sorted(set(places)) and places[0] >= 0
