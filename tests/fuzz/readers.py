"""Checks of files with arbitrary content: each must be read, or refused in one line."""

import zlib

import numpy as np

from nnk_image.io import ImageFileError, read, write

MOST_PIXELS = 1 << 16
_WRITTEN_AGAIN = 4  # one in this many files
_EXTENSIONS = {"TIFF": ".tif", "NPY": ".npy", "NIFTI": ".nii"}


def check_file(data, folder):
    """Read a file, and write some files again; raise if a check fails; return if it was read."""
    path = folder / "input"
    path.write_bytes(data)
    try:
        array, about = read(path, max_pixels=MOST_PIXELS)
    except ImageFileError as error:
        text = str(error)
        assert "\n" not in text, text
        assert text.startswith(f"{path}: "), text
        return False
    _check_content(array, about)
    if zlib.crc32(data) % _WRITTEN_AGAIN == 0:
        _check_written(array, about, folder)
    return True


def _check_content(array, about):
    assert array.dtype.kind in "biuf"
    assert array.dtype.isnative
    assert array.flags.c_contiguous
    assert array.dtype == about.dtype
    assert len(about.axes) == len(about.spacing) == array.ndim
    assert 0 < array.size <= 3 * MOST_PIXELS
    for length in (*about.spacing, *(about.dpi or ())):
        assert length is None or (np.isfinite(length) and length > 0), about
    if about.alpha is not None:
        assert (about.alpha.shape, about.alpha.dtype) == (array.shape[:2], array.dtype)


def _check_written(array, about, folder):
    """Check that the image is the same after writing and reading, if it can be written."""
    target = folder / f"again{_EXTENSIONS.get(about.format, '.tif')}"
    try:
        write(target, array, about)
    except ImageFileError:
        return
    axes = None if about.is_picture and about.format != "NPY" else about.axes
    back, metadata = read(target, axes=axes)
    np.testing.assert_array_equal(back, array, strict=True)
    if about.format in _EXTENSIONS:
        assert metadata.spacing == about.spacing
