"""`read` and `write` for files of images, volumes and sequences."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.atomic import ImageFileError, atomic_output, check_output
from nnk_image.base.checks import check_number, plain_array, warn
from nnk_image.io import pictures, tiff, volumes
from nnk_image.io.metadata import FormatError, Metadata, Pixels, Save, to_samples

_FORMATS = {
    "PNG": (rb"\x89PNG\r\n\x1a\n", ".png"),
    "JPEG": (rb"\xff\xd8\xff", ".jpg .jpeg"),
    "TIFF": (rb"II[*+]\0|MM\0[*+]", ".tif .tiff .ome.tif .ome.tiff"),
    "PPM": (rb"P[1-6]", ".pnm .pgm .ppm"),
    "GIF": (rb"GIF8[79]a", ""),
    "BMP": (rb"BM", ".bmp"),
    "WEBP": (rb"RIFF.{4}WEBP", ".webp"),
    "AVIF": (rb".{4}ftyp.{,28}avi[fs]", ".avif"),
    "HEIF": (rb".{4}ftyp.{,28}(hei[a-z]|mif1)", ""),
    "NPY": (rb"\x93NUMPY", ".npy"),
    "NIFTI": (rb"\x1f\x8b|.{344}n[+i]1|(\x1c\x02\0\0|\0\0\x02\x1c)n[+i]2", ".nii .nii.gz"),
}
"""Format -> regular expression of the first bytes, and the extensions that are written in it."""

_HEAD = 348  # first bytes of a file, which identify the format

_READERS = {"TIFF": tiff.read, "NPY": volumes.read_npy, "NIFTI": volumes.read_nifti}
_WRITERS = {"TIFF": tiff.writer, "NPY": volumes.npy_writer, "NIFTI": volumes.nifti_writer}
"""Formats that hold floats; all others are read and written by `pictures`."""

_FORMAT_OF = {name: kind for kind, (_, names) in _FORMATS.items() for name in names.split()}

WRITABLE = tuple(_FORMAT_OF)
"""Extensions of the files that `write` writes."""

READABLE = (*WRITABLE, ".pbm", ".gif", ".heic", ".heif")
"""Extensions of the files that `read` reads."""

_RAW = (".nef", ".cr2", ".arw", ".dng", ".orf", ".rw2", ".raf", ".pef")
"""Extensions of raw files of cameras; many are TIFFs whose first page is a thumbnail."""

_LARGEST_OF_UNIT_RANGE = 1.5  # largest value of images from 0 to 1, which noise may exceed
_MOST_TOO_LARGE = 0.01  # share of values above twice white, more than noise alone would cause


def read(
    path: str | os.PathLike[str], *, axes: str | None = None, max_pixels: int | None = None
) -> tuple[npt.NDArray[Any], Metadata]:
    """Read an image, a volume or a sequence from a file, in its full bit depth.

    Formats are PNG, JPEG, TIFF (also ImageJ hyperstacks and OME-TIFF), PNM, WebP, AVIF, BMP,
    ``.npy`` and NIfTI; GIF and HEIF (``.heic``) are read but not written. The format is recognized
    by the content, not by the name. :doc:`/files` lists what is read of each format.

    Parameters
    ----------
    path : str or path-like
        The file to read.
    axes : str, optional
        Meaning of the axes of the stored array, one letter each: T time; Z, Y, X space; C channels;
        S the colors of a pixel; any other letter for independent images. Y and X are required.
        Default: read from the file; if it does not specify them, a third axis is Z and a fourth T.
        Needed for five unnamed axes or more, and if the first or last of them has length 3 or 4, as
        it may be that of colors; not for pictures such as PNG or JPEG.
    max_pixels : int, optional
        Refuse larger arrays before decoding them. Default: about 179 million pixels for a picture
        (twice ``PIL.Image.MAX_IMAGE_PIXELS``), the free memory for anything else.

    Returns
    -------
    array : ndarray
        In native byte order. Pictures are (H, W) or (H, W, 3), upright, without transparency.
    metadata : Metadata
        Other contents of the file: ``axes``, ``spacing``, ``unit``, ``alpha``, ``icc_profile``,
        ``dpi``, ``exif`` and more. Pass it to `write` to preserve them.

    Raises
    ------
    ImageFileError
        If the file is missing, damaged, too large or of unknown format, or `axes` does not fit.

    Examples
    --------
    >>> import nnk_image
    >>> pixels, metadata = nnk_image.io.read(nnk_image.standard_images()["coffee"])
    >>> pixels.shape, pixels.dtype, metadata.format, metadata.axes
    ((400, 600, 3), dtype('uint8'), 'PNG', 'YXS')
    """
    if axes is not None and not isinstance(axes, str):
        raise TypeError(f"axes must be letters such as 'ZYX', not {axes!r}")
    if max_pixels is not None:
        check_number("max_pixels", max_pixels, "most pixels to read")
    with _opened(path) as stream:
        try:
            if extension_of(path) in _RAW:
                raise FormatError("is a raw file of a camera; convert it to PNG or TIFF first")
            kind = _kind(stream)
            if kind in _READERS:
                return _READERS[kind](stream, max_pixels, axes)
            if axes is not None:
                raise FormatError(f"is a picture ({kind}), whose axes are known; leave out axes")
            return pictures.read(stream, kind, max_pixels)
        except (FormatError, ImportError, MemoryError) as error:
            raise ImageFileError(f"{path}: {one_line(error)}") from None
        except UserWarning:  # a warning of this package that the caller has made an error
            raise
        except Exception as error:  # decoders fail in many ways on damaged bytes
            raise damaged_file_error(path, error) from error


def _opened(path: str | os.PathLike[str]) -> IO[bytes]:
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise ImageFileError(f"{path}: is a folder or not an ordinary file; name an image file")
        return open(path, "rb")
    except OSError as error:
        problem = f"{one_line(error)}; check the name and the permissions"
        raise ImageFileError(f"{path}: {problem}") from error


def damaged_file_error(path: str | os.PathLike[str], error: Exception) -> ImageFileError:
    """Return the error to raise for a file that a decoder could not read."""
    problem = f"is damaged or truncated ({one_line(error)}); fetch or export the file again"
    return ImageFileError(f"{path}: {problem}")


def one_line(error: BaseException) -> str:
    """Return the text of `error` on one line, or its type if it has no words."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) if any(map(str.isalpha, text)) else type(error).__name__


def _kind(stream: IO[bytes]) -> str:
    """Return the format of an open file, from its first bytes; rewinds it."""
    head = stream.read(_HEAD)
    stream.seek(0)
    for kind, (beginning, _) in _FORMATS.items():
        if re.match(beginning, head, re.DOTALL):
            return kind
    if not head:
        raise FormatError("is empty; fetch or export the file again")
    raise FormatError("is not in a known image format; convert it to PNG, JPEG, TIFF or NIfTI")


def write(
    path: str | os.PathLike[str],
    array: npt.ArrayLike,
    metadata: Metadata | Mapping[str, Any] | None = None,
) -> None:
    """Write an image, a volume or a sequence to a file.

    The file extension determines the format. An interrupted call leaves no half-written file.

    Parameters
    ----------
    path : str or path-like
        Name of the file: .png, .jpg, .jpeg, .tif, .tiff, .pgm, .ppm, .pnm, .webp, .avif, .bmp,
        .npy, .nii or .nii.gz. It may be the file that was read. JPEG and AVIF are written at
        quality 95 without chroma subsampling, WebP without loss. A name that ends in .ome.tif or
        .ome.tiff makes an OME-TIFF.
    array : array_like
        Integers are written as they are. Floats are rounded and clipped to ``metadata.dtype``;
        without metadata they are stored as floats in TIFF, .npy and NIfTI, as uint8 elsewhere,
        without rescaling. Masked values become NaN.
    metadata : Metadata or dict, optional
        What `read` returned for the image that `array` was made from, or some of its attributes,
        such as ``{"axes": "ZYX", "spacing": (2, 0.5, 0.5), "unit": "um"}``. Each format keeps
        what it can hold. Default: an array of 3 or 4 values along its last axis is in color;
        else the axes are the last ones of TZYX.

    Raises
    ------
    ImageFileError
        If the format cannot hold the array or the file cannot be written; it is then unchanged.
    ValueError
        If `array` contains NaN that the file cannot hold, is empty or complex, does not match the
        metadata, or holds floats that would become a black or white picture, such as 0 to 1.

    Warns
    -----
    UserWarning
        If EXIF data, XMP data, the color profile or the transparency are lost, because they are not
        written to the format; if floats are far below or beyond the integers of ``metadata.dtype``.

    Examples
    --------
    >>> import tempfile
    >>> volume = np.zeros((10, 32, 48), np.float32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "volume.tif")
    ...     write(path, volume, {"axes": "ZYX", "spacing": (2, 0.5, 0.5), "unit": "um"})
    ...     again, metadata = read(path)
    >>> metadata.axes, metadata.spacing, metadata.unit
    ('ZYX', (2.0, 0.5, 0.5), 'um')
    """
    kind, lost, save = _prepared(path, array, metadata)
    if lost:
        why = f"nnk_image does not write it to {kind}; write .png to keep it"
        warn(f"{path}: {lost} will be lost: {why}")
    with atomic_output(path) as stream:
        try:
            save(stream)
        except (OSError, MemoryError, ImageFileError):
            raise
        except Exception as error:
            raise ImageFileError(
                f"{path}: cannot be stored as {kind} ({one_line(error)}); try .tif or .npy"
            ) from error


def check_writable(
    path: str | os.PathLike[str],
    array: npt.ArrayLike = ((0.0,),),
    metadata: Metadata | Mapping[str, Any] | None = None,
) -> None:
    """Raise at once the error that `write` would raise for an array like this one."""
    _prepared(path, array, metadata)
    check_output(path)


def _prepared(
    path: str | os.PathLike[str],
    array: npt.ArrayLike,
    metadata: Metadata | Mapping[str, Any] | None,
) -> tuple[str, str, Save]:
    """Return the format, the names of metadata that it cannot hold, and the `Save` function."""
    kind = _format_for(path)
    pixels = plain_array(array)
    if pixels.ndim < 2 or pixels.size == 0 or pixels.dtype.kind not in "biuf":
        raise ValueError(
            f"array is {pixels.dtype} of shape {pixels.shape}; give integers or floats of at least "
            "two axes"
        )
    if pixels.dtype.itemsize > 8 and kind != "NPY":
        raise ImageFileError(f"{path}: {kind} cannot hold {pixels.dtype}; convert it to float64")
    if not isinstance(metadata, Metadata | Mapping | None):
        raise TypeError(
            "metadata must be what nnk_image.io.read returned, or a dict such as {'axes': 'ZYX'}, "
            f"not {type(metadata).__name__}"
        )
    metadata = Metadata(**metadata) if isinstance(metadata, Mapping) else metadata or Metadata()
    if not metadata.axes and kind != "NPY":
        metadata = replace(metadata, axes=_likely_axes(pixels.shape), spacing=())
    if metadata.axes and len(metadata.axes) != pixels.ndim:
        raise ValueError(
            f"array has shape {pixels.shape}, its metadata axes {metadata.axes}; give metadata "
            "with one axis for each, or none"
        )
    pixels = _in_dtype(pixels, metadata, kind)
    metadata, lost = pictures.without_what_is_lost(metadata, kind)
    try:
        writer = _WRITERS.get(kind, pictures.writer)
        return kind, lost, writer(pixels, metadata, kind, extension_of(path))
    except (FormatError, ImportError) as error:
        raise ImageFileError(f"{path}: {error}") from None


def _format_for(path: str | os.PathLike[str]) -> str:
    extension = extension_of(path)
    if extension not in _FORMAT_OF:
        problem = f"unknown extension {extension!r}" if extension else "no extension"
        if extension in READABLE:
            problem = f"{extension} is only read, not written"
        raise ImageFileError(f"{path}: {problem}; use one of {', '.join(WRITABLE)}")
    return _FORMAT_OF[extension]


def copied(path: Path, target: Path, metadata: Metadata) -> bool:
    """Copy a file unchanged if the target's extension denotes its format; return whether it did."""
    same = extension_of(target) == extension_of(path) or metadata.format == "JPEG"
    if not same or _FORMAT_OF.get(extension_of(target)) != metadata.format:
        return False
    with _opened(path) as source, atomic_output(target) as stream:
        shutil.copyfileobj(source, stream)
    return True


def extension_of(path: str | os.PathLike[str]) -> str:
    """Return the lowercase extension of a file, '.nii.gz' and '.ome.tif' as a whole."""
    name = Path(path).name.lower()
    double = re.search(r"\.(nii\.gz|ome\.tiff?)$", name)
    return double[0] if double else Path(name).suffix


def _likely_axes(shape: tuple[int, ...]) -> str:
    if len(shape) > 2 and shape[-1] in (3, 4):
        return f"{_likely_axes(shape[:-1])}S"
    if len(shape) > 4:
        raise ValueError(f'array has shape {shape}: give metadata={{"axes": ...}}, such as "TZCYX"')
    return "TZYX"[-len(shape) :]


def _in_dtype(array: Pixels, metadata: Metadata, kind: str) -> Pixels:
    """Return the array in native byte order, floats in the type of the metadata."""
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    dtype = metadata.dtype or (None if kind in _WRITERS else np.dtype(np.uint8))
    if array.dtype.kind != "f" or dtype is None:
        return array
    problem = _wrong_scale(array, dtype) if dtype.kind in "iu" else ""
    if problem and metadata.dtype is None:
        raise ValueError(f"{problem}, write .tif to keep floats, or round them yourself")
    if problem:
        warn(problem)
    return to_samples(array, dtype)


def _wrong_scale(array: Pixels, dtype: np.dtype[Any]) -> str:
    """Return an error text if the range of floats does not suit an integer type, else ''."""
    low, high, white = float(array.min()), float(array.max()), np.iinfo(dtype).max
    if high <= _LARGEST_OF_UNIT_RANGE and (low or high):
        result, cure = "rounded to a black", f"multiply them by {white} if 1 is white"
    elif high > 2.0 * white and np.mean(array > 2.0 * white) > _MOST_TOO_LARGE:
        result, cure = "clipped to a white", "pass metadata of 16 bits, convert them to uint16"
    else:
        return ""
    return f"values from {low:.3g} to {high:.3g} would be {result} picture of {dtype}: {cure}"
