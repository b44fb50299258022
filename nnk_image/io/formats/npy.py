"""NumPy's own files, .npy: any array, without a word on its axes."""

from __future__ import annotations

import numpy as np
from numpy.lib import format as npy

from .common import FormatError
from .stack import StackFile, check_axes, check_voxels, guess_axes, read_array, write_array


def decode(stream, max_pixels: int | None, axes: str | None) -> StackFile:
    """Read an array of real numbers."""
    shape, by_columns, dtype = _header(stream)
    if dtype.hasobject or dtype.kind not in "biuf":
        raise FormatError(f"holds {dtype}, not real numbers; save integers or floats")
    named = guess_axes(shape) if axes is None else check_axes(axes, shape)
    check_voxels(shape, dtype, max_pixels)
    if by_columns:
        pixels = read_array(stream, shape[::-1], dtype).T
    else:
        pixels = read_array(stream, shape, dtype)
    return StackFile(pixels, named, format="NPY", assumed=axes is None)


def _header(stream):
    """Shape, whether the first axis comes first, and dtype."""
    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    return read(stream)


def check(stack: StackFile) -> None:
    """Refuse what .npy cannot hold, which is nothing."""


def write(stream, stack: StackFile) -> None:
    """Write the array; its spacing has no place here."""
    dtype = np.dtype(stack.dtype).newbyteorder("<")
    about = {
        "descr": npy.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": stack.pixels.shape,
    }
    npy.write_array_header_1_0(stream, about)
    write_array(stream, stack.pixels, dtype)
