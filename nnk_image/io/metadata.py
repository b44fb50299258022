"""Metadata of image files, and the conversions that all formats share."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from nnk_image.base import memory

Pixels = npt.NDArray[Any]
Save = Callable[[IO[bytes]], object]
"""Function that writes an array and its metadata, already checked, to an open file."""

Lengths = tuple[dict[str, float], str | None]
"""Spacing of each axis by its letter, and the unit of length."""

MICROMETERS: Mapping[str | None, float]
MICROMETERS = {"nm": 1e-3, "um": 1.0, "mm": 1e3, "cm": 1e4, "m": 1e6, "inch": 25400.0}
"""Micrometers in each unit of length that can be converted."""

_SECONDS: Mapping[str | None, float]
_SECONDS = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "msec": 1e-3, "usec": 1e-6, "min": 60.0, "h": 3600.0}

_UNIT_NAMES: Mapping[str, str | None]
_UNIT_NAMES = {
    **dict.fromkeys(("µm", "μm", "\\u00B5m", "micron", "microns", "micrometer"), "um"),
    **{"nanometer": "nm", "millimeter": "mm", "centimeter": "cm", "meter": "m", "in": "inch"},
    **dict.fromkeys(("unknown", "reference frame")),  # in NIfTI; in OME
}

EXIF_PREFIX = b"Exif\0\0"
"""First bytes of the EXIF data in a JPEG; other formats store the data without them."""


class FormatError(ValueError):
    """Why a file cannot be read or written, and what to do; the caller prepends the path."""


@dataclass(frozen=True, eq=False)
class Metadata:
    """Contents of an image file besides its pixels; returned by `read` and accepted by `write`.

    Attributes
    ----------
    format : str
        Format of the contents: 'PNG', 'JPEG', 'TIFF', 'PPM' (PBM, PGM and PPM), 'WEBP', 'AVIF',
        'HEIF', 'GIF', 'BMP', 'NPY' or 'NIFTI'.
    axes : str
        Meaning of the axes of the array, one letter each: T time; Z, Y, X space; C channels; S the
        colors of a pixel; any other letter for independent images.
    axes_assumed : bool
        True if the file does not name all of its axes, so that some were guessed.
    spacing : tuple of float or None
        Distance between neighbors along each axis in `unit`, along T in seconds; None if unknown.
    unit : str or None
        Unit of length, such as 'um' or 'mm'.
    dtype : numpy.dtype or None
        Type of the array that was read. `write` rounds and clips floating-point results to it.
    alpha : ndarray of shape (H, W) or None
        Opacity of each pixel, of the type of the array; 0 is transparent.
    icc_profile : bytes or None
        Color profile.
    dpi : tuple of two floats or None
        Horizontal and vertical resolution in pixels per inch.
    exif, xmp : bytes or None
        Data of the camera and of programs. EXIF includes GPS and begins with ``Exif\\0\\0``; its
        orientation is removed, because the pixels are already upright. XMP is XML text.
    original : object
        Data that can only be written to a file of the same format: the NIfTI header, or
        descriptions, resolution and compression of a TIFF.
    """

    format: str = ""
    axes: str = ""
    axes_assumed: bool = False
    spacing: tuple[float | None, ...] = ()
    unit: str | None = None
    dtype: np.dtype[Any] | None = None
    alpha: Pixels | None = None
    icc_profile: bytes | None = None
    dpi: tuple[float, float] | None = None
    exif: bytes | None = field(default=None, repr=False)
    xmp: bytes | None = field(default=None, repr=False)
    original: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        given = self.spacing if np.iterable(self.spacing) else (self.spacing,)
        spacing = tuple(given) or (None,) * len(self.axes)
        known = [length for length in spacing if length is not None]
        if len(spacing) != len(self.axes) or not all(map(is_length, known)):
            raise ValueError(
                f"spacing {spacing} must be one number above 0, or None, for each letter of "
                f"axes={self.axes!r}"
            )
        if self.dpi is not None and plausible_dpi(self.dpi) is None:
            raise ValueError(f"dpi={self.dpi!r} must be two numbers from 1 to 65535")
        object.__setattr__(self, "axes", self.axes.upper())
        object.__setattr__(self, "spacing", spacing)
        if self.dtype is not None:
            object.__setattr__(self, "dtype", np.dtype(self.dtype))
        if self.exif is not None:
            exif = EXIF_PREFIX + bytes(self.exif).removeprefix(EXIF_PREFIX)
            object.__setattr__(self, "exif", exif)

    @property
    def spacing_of(self) -> dict[str, float]:
        """Spacing of each axis by its letter, if known."""
        pairs = zip(self.axes, self.spacing, strict=True)
        return {axis: length for axis, length in pairs if length is not None}

    @property
    def is_picture(self) -> bool:
        """Whether the array is a single image, in grayscale or color."""
        return self.axes in ("YX", "YXS")


def checked_axes(axes: str, shape: tuple[int, ...]) -> str:
    """Return the axes given by a user in capitals; FormatError if they do not fit `shape`."""
    axes = axes.upper()
    if not (axes.isalpha() and len(set(axes)) == len(axes) == len(shape) and {*"YX"} <= {*axes}):
        raise FormatError(
            f"holds an array of shape {shape}; axes={axes!r} must be one letter for each of its "
            "axes, Y and X among them: T time, Z Y X space, C channels, S colors"
        )
    return axes


def assumed_axes(shape: tuple[int, ...]) -> str:
    """Return axes for an array whose file does not name them; FormatError if they are not clear."""
    if len(shape) < 2:
        raise FormatError(f"holds an array of shape {shape}; images have at least two axes")
    maybe_color = len(shape) > 2 and {shape[0], shape[-1]} & {3, 4}
    if len(shape) <= 4 and not maybe_color:
        return "TZYX"[-len(shape) :]
    stacks = {3: "YXS", 4: "ZYXS"} if shape[-1] in (3, 4) else {3: "CYX", 4: "CZYX"}
    example = stacks.get(len(shape), "TZCYX")
    raise FormatError(
        f"does not say what its {len(shape)} axes are, of lengths {_size(shape)}; give axes, one "
        f"letter for each, such as {example}: T time, Z Y X space, C channels, S colors"
    )


def check_size(shape: tuple[int, ...], dtype: npt.DTypeLike, limit: int | None) -> None:
    """Refuse arrays of more than `limit` pixels, or larger than the free memory."""
    count, size = math.prod(shape), _size(shape)
    if count < 1:
        raise FormatError(f"is damaged: its size is {size} pixels; save it again")
    if limit is not None and count > limit:
        raise FormatError(
            f"has {size} = {count} pixels, more than the limit of {limit}; if you trust the "
            f"file, raise the limit (max_pixels) to {count}"
        )
    advice = "work in parts: nnk-image denoise --max-memory"
    memory.require(count * np.dtype(dtype).itemsize, f"reading {size} pixels", advice)


def _size(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def native(array: Pixels) -> Pixels:
    """Return the array contiguous, writable and in native byte order."""
    plain = np.asarray(array)
    return np.require(plain, plain.dtype.newbyteorder("="), ["C", "WRITEABLE"])


def upright(array: Pixels, orientation: int) -> Pixels:
    """Turn an (H, W, ...) array as its EXIF or TIFF orientation (1 to 8) asks."""
    if orientation >= 5:  # these store columns as rows
        array = array.swapaxes(0, 1)
    flip_rows, flip_columns = orientation in (3, 4, 7, 8), orientation in (2, 3, 6, 7)
    return array[:: -1 if flip_rows else 1, :: -1 if flip_columns else 1]


def picture_of(
    samples: Pixels,
    *,
    orientation: int = 1,
    dpi: tuple[float, float] | None = None,
    xmp: Any = None,
    **about: Any,
) -> tuple[Pixels, Metadata]:
    """Return the upright pixels of (H, W) or (H, W, 1..4) samples, and their metadata."""
    if isinstance(xmp, bytes):  # the picture is turned below: viewers must not turn it again
        xmp = re.sub(rb"""(tiff:Orientation(?:=["']|>))\d""", rb"\g<1>1", xmp)
    else:  # nothing, or damaged
        xmp = None
    samples = upright(np.atleast_3d(samples), orientation)
    channels = samples.shape[2]
    pixels = native(samples[..., 0] if channels < 3 else samples[..., :3])
    alpha = native(samples[..., -1]) if channels in (2, 4) else None
    axes = "YX" if channels < 3 else "YXS"
    dpi = dpi[::-1] if dpi and orientation >= 5 else dpi
    return pixels, Metadata(axes=axes, dtype=pixels.dtype, alpha=alpha, dpi=dpi, xmp=xmp, **about)


def samples_of(array: Pixels, metadata: Metadata) -> Pixels:
    """Return a picture and its transparency as one array, the inverse of `picture_of`."""
    if metadata.alpha is None:
        return array
    alpha = np.asarray(metadata.alpha)
    if array.shape[2:] == (4,):
        raise ValueError("the array has 4 channels, the last one transparency; leave out alpha")
    if alpha.shape != array.shape[:2] or alpha.dtype != array.dtype:
        raise ValueError(
            f"the array is {array.dtype} of shape {array.shape}, its transparency {alpha.dtype} "
            f"of {alpha.shape}; convert one of them, or write without metadata"
        )
    return np.concatenate([np.atleast_3d(array), alpha[..., None]], axis=2)


def in_order(array: Pixels, metadata: Metadata, order: str, kind: str) -> tuple[Pixels, Metadata]:
    """Return an array with its axes in the order of a format, and their metadata."""
    axes = metadata.axes
    if not {*axes} <= {*order} or len({*axes}) < len(axes):
        raise FormatError(f"{kind} cannot hold axes {axes}, only some of {order}; write .npy")
    places = sorted(range(len(axes)), key=lambda at: order.index(axes[at]))
    spacing = tuple(metadata.spacing[at] for at in places)
    metadata = replace(metadata, axes="".join(axes[at] for at in places), spacing=spacing)
    return array.transpose(*places, *range(len(places), array.ndim)), metadata


def to_samples(values: Pixels, dtype: npt.DTypeLike) -> Pixels:
    """Convert to the type of a file; round and clip if that is of integers."""
    dtype = np.dtype(dtype)
    if values.dtype == dtype or dtype.kind == "f" or values.dtype.kind == "b":
        return values.astype(dtype, copy=False)
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if values.dtype.kind in "iu":
        here = np.iinfo(values.dtype)
        return np.clip(values, max(low, here.min), min(high, here.max)).astype(dtype)
    if np.isnan(values).any():
        raise ValueError("image contains NaN, which integers cannot hold; replace it first")
    values = values.astype(np.float32) if values.dtype.itemsize < 4 else values
    # The largest integer of 32 or 64 bits may round up to a float that is too large.
    top = values.dtype.type(high)
    top = np.nextafter(top, values.dtype.type(0)) if int(top) > high else top
    return np.clip(np.rint(values), values.dtype.type(low), top).astype(dtype)


def lengths_in_space(metadata: Metadata) -> dict[str, float]:
    """Return the spacing along Z, Y and X, if known: seconds cannot be compared with it."""
    return {axis: length for axis, length in metadata.spacing_of.items() if axis in "ZYX"}


def in_units_of_x(lengths: Mapping[str, float], axes: Sequence[str]) -> tuple[float, ...]:
    """Return the spacing of each axis relative to X, 1 where it is not known."""
    unit = lengths.get("X")
    if unit is None:
        return (1.0,) * len(axes)
    # Lengths in files are rounded: do not let equal ones differ by rounding errors.
    return tuple(float(f"{lengths.get(axis, unit) / unit:.4g}") for axis in axes)


def is_length(value: Any) -> bool:
    """Return whether a value is possible as a distance between pixels."""
    return isinstance(value, Real) and 0 < float(value) < math.inf


def plausible_dpi(dpi: Any) -> tuple[float, float] | None:
    """Return a resolution as two floats; None if it is missing or not plausible."""
    try:
        x, y = (float(value) for value in dpi)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    return (x, y) if all(1 <= value <= 65535 for value in (x, y)) else None


def common_unit(lengths: dict[str, tuple[float, str | None]]) -> Lengths:
    """Return the length of each axis in one unit, and the unit; unknown lengths are left out.

    The interval along T, if given, is returned in seconds.
    """
    interval, time = lengths.get("T", (0.0, None))
    seconds = interval * _SECONDS.get(time, 0.0)
    named = {
        axis: (abs(length), _UNIT_NAMES.get(unit or "", unit))
        for axis, (length, unit) in lengths.items()
        if axis != "T" and is_length(abs(length))
    }
    units = {unit for _, unit in named.values()} or {None}
    scales = dict.fromkeys(units, 1.0) if len(units) == 1 else MICROMETERS
    known = {axis: n * scales[unit] for axis, (n, unit) in named.items() if unit in scales}
    known |= {"T": seconds} if is_length(seconds) else {}
    return known, units.pop() if len(units) == 1 else "um"
