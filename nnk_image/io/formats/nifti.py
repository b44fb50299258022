"""NIfTI, .nii and .nii.gz: volumes of medicine, x first and time last; needs nibabel."""

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np

from .common import FormatError, to_samples
from .stack import (
    StackFile,
    check_axes,
    check_voxels,
    micrometres,
    parts,
    read_array,
    write_array,
)

HEADER = 348
"""Bytes from which `is_nifti` tells the format."""

_AXES = "XYZTC"  # in the order of the file
_LEVEL = 4  # of deflate, 1 to 9
_LONGEST = 2**15 - 1  # axis of NIfTI 1
_EXACT = 2**22  # float32 holds integers of this size and the halves between them
_UNITS = {"mm": "mm", "micron": "um", "meter": "m"}
_SECONDS = {"sec": 1.0, "msec": 1e-3, "usec": 1e-6}


def is_nifti(head: bytes) -> bool:
    """Return whether a file begins as a header of NIfTI 1 or 2, in either byte order."""
    if int.from_bytes(head[:4], "little") == 540 or int.from_bytes(head[:4], "big") == 540:
        return head[4:7] in (b"n+2", b"ni2")
    return head[344:347] in (b"n+1", b"ni1")


def _nibabel():
    try:
        import nibabel
    except ImportError:
        raise FormatError('NIfTI needs nibabel: pip install "nnk_image[nifti]"') from None
    return nibabel


def decode(stream, max_pixels: int | None, axes: str | None) -> StackFile:
    """Read a volume or a series of volumes, its axes turned round: x last."""
    if stream.read(2) == b"\x1f\x8b":
        stream.seek(0)
        stream = gzip.GzipFile(fileobj=stream)
    stream.seek(0)
    head = stream.read(HEADER)
    stream.seek(0)
    nibabel = _nibabel()
    if head[344:347] == b"ni1" or head[4:7] == b"ni2":
        raise FormatError("keeps its header and its values in two files; save it as one .nii")
    two = head[344:347] != b"n+1"
    header = (nibabel.Nifti2Header if two else nibabel.Nifti1Header).from_fileobj(stream)
    shape, dtype = header.get_data_shape()[::-1], header.get_data_dtype()
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise FormatError(f"holds {dtype}, not plain numbers; save integers or floats")
    named, assumed = _axes(shape, axes)
    check_voxels(shape, dtype, max_pixels)
    stream.seek(header.get_data_offset())
    pixels = _scaled(read_array(stream, shape, dtype), *_scale(header))
    spacing, unit = _spacing(header, named)
    return StackFile(
        pixels, named, spacing, unit, "NIFTI", dtype.newbyteorder("="), assumed, header
    )


def _axes(shape: tuple[int, ...], given: str | None) -> tuple[str, bool]:
    if given is not None:
        return check_axes(given, shape), False
    if not 2 <= len(shape) <= len(_AXES):
        raise FormatError(
            f"has {len(shape)} axes, of lengths {'x'.join(map(str, shape))}; 2 to 5 are known: "
            "x, y, z, time, channels"
        )
    return _AXES[: len(shape)][::-1], False


def _scale(header) -> tuple[float, float]:
    """Slope and intercept by which stored values become those that are meant."""
    slope, intercept = header.get_slope_inter()
    return (1.0, 0.0) if slope is None else (float(slope), float(intercept or 0))


def _scaled(stored: np.ndarray, slope: float, intercept: float) -> np.ndarray:
    """Return the values that are meant, of which the stored ones can be found again."""
    if (slope, intercept) == (1, 0):
        return stored
    largest = abs(intercept / slope)
    if stored.dtype.kind in "iu":
        largest += np.iinfo(stored.dtype).max
    small = stored.dtype.itemsize <= 2 and largest < _EXACT
    values = stored.astype(np.float32 if small else np.float64)
    values *= slope
    values += intercept
    return values


def _spacing(header, axes: str) -> tuple[tuple[float | None, ...], str | None]:
    length, time = header.get_xyzt_units()
    zooms = header.get_zooms()[::-1]
    spacing = [float(str(zoom)) if zoom > 0 else None for zoom in zooms]  # .9, not .8999999
    for place, axis in enumerate(axes):
        if axis == "T" and spacing[place] is not None:
            per = _SECONDS.get(time)
            spacing[place] = None if per is None else spacing[place] * per
        elif axis not in "ZYX":
            spacing[place] = None
    return tuple(spacing), _UNITS.get(length)


def check(stack: StackFile):
    """Return the header that `write` will write, and the stack in its order, if NIfTI can hold it.

    A stack that came from NIfTI has the header it came with.
    """
    nibabel = _nibabel()
    if isinstance(stack.kept, nibabel.Nifti1Header):
        return stack.kept.copy(), stack
    stack = _in_order(stack)
    return _new_header(nibabel, stack), stack


def write(stream, stack: StackFile) -> None:
    """Write a volume, scaled as its header says."""
    header, stack = check(stack)
    slope, intercept = _scale(header)
    header.write_to(stream)
    stream.write(bytes(header.get_data_offset() - stream.tell()))
    dtype = header.get_data_dtype()
    if (slope, intercept) == (1, 0):
        write_array(stream, stack.pixels, dtype)
        return
    for part in parts(stack.pixels):
        stored = to_samples((part.astype(float) - intercept) / slope, dtype)
        stream.write(np.ascontiguousarray(stored).data)


def packed(stream):
    """A stream to write to, whose bytes go to `stream` deflated; to be closed."""
    return gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=stream, mtime=0)


def _in_order(stack: StackFile) -> StackFile:
    """Return a stack with its axes in the order of NIfTI; those between that it lacks, of 1."""
    axes = stack.axes.replace("S", "C")
    if not {*axes} <= {*_AXES} or len({*axes}) < len(axes):
        raise FormatError(f"NIfTI cannot hold axes {stack.axes}; write .tif or .npy")
    wanted = _AXES[: 1 + max(map(_AXES.index, axes))][::-1]
    places = [axes.index(axis) for axis in wanted if axis in axes]
    pixels, spacing = stack.pixels.transpose(places), [stack.spacing[place] for place in places]
    for place, axis in enumerate(wanted):
        if axis not in axes:
            pixels = np.expand_dims(pixels, place)
            spacing.insert(place, None)
    return replace(stack, pixels=pixels, axes=wanted, spacing=tuple(spacing), kept=None)


def _new_header(nibabel, stack: StackFile):
    """A header for a stack that came from no NIfTI file."""
    large = max(stack.pixels.shape) > _LONGEST
    header = (nibabel.Nifti2Header if large else nibabel.Nifti1Header)()
    try:
        header.set_data_dtype(stack.dtype)
        header.set_data_shape(stack.pixels.shape[::-1])
    except nibabel.spatialimages.HeaderDataError as error:
        raise FormatError(f"NIfTI cannot hold {stack.dtype} of this size ({error})") from None
    scale = micrometres(stack.unit)
    to_mm = 1.0 if scale is None else scale / 1000
    zooms = [
        1.0 if length is None else length * (1.0 if axis == "T" else to_mm)
        for axis, length in zip(stack.axes, stack.spacing, strict=True)
    ]
    header.set_zooms(zooms[::-1])
    time = "sec" if stack.spacing_along("T") is not None else "unknown"
    header.set_xyzt_units("unknown" if scale is None else "mm", time)
    return header
