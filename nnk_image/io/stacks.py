"""Reads and writes volumes and sequences: TIFF of many pages, .npy, and NIfTI.

>>> from nnk_image.io import StackFile, read_stack, write_stack
"""

from __future__ import annotations

import gzip
import logging
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np

from nnk_image.base.atomic import ImageFileError, atomic_output, check_output
from nnk_image.io.formats import FormatError, nifti, npy, tiff_stack
from nnk_image.io.formats.stack import StackFile, parts
from nnk_image.io.images import one_line, open_image

__all__ = [
    "STACK_EXTENSIONS",
    "StackFile",
    "check_stack_writable",
    "extension_of",
    "is_stack",
    "read_stack",
    "write_stack",
]

_WRITES = {
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".npy": "NPY",
    ".nii": "NIFTI",
    ".nii.gz": "NIFTI",
}
STACK_EXTENSIONS = tuple(_WRITES)
"""Extensions of the files that `write_stack` writes."""

_MODULES = {"TIFF": tiff_stack, "NPY": npy, "NIFTI": nifti}
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_NPY = b"\x93NUMPY"
_GZIP = b"\x1f\x8b"


def extension_of(path: str | os.PathLike) -> str:
    """Return the extension of a file in small letters, '.nii.gz' as one.

    Examples
    --------
    >>> extension_of("brain.NII.gz")
    '.nii.gz'
    """
    name = Path(path).name.lower()
    return ".nii.gz" if name.endswith(".nii.gz") else Path(name).suffix


def is_stack(path: str | os.PathLike) -> bool:
    """Return whether a file is one for `read_stack`, by its content.

    That is: .npy and NIfTI of any shape; TIFF of several pages, or of numbers that pictures do
    not have, such as int16.

    Raises
    ------
    ImageFileError
        If the file is missing, unreadable or damaged.
    """
    with open_image(path) as stream, _told(path):
        kind = _kind(stream)
        return kind in ("NPY", "NIFTI") or (kind == "TIFF" and tiff_stack.is_stack(stream))


def read_stack(
    path: str | os.PathLike, *, axes: str | None = None, max_pixels: int | None = None
) -> StackFile:
    """Read a volume, a sequence or another array of many axes, without losing a bit.

    TIFF of one or more pages (ImageJ hyperstacks, OME-TIFF, plain pages), .npy, and NIfTI
    (.nii, .nii.gz; needs ``pip install "nnk_image[nifti]"``). The content decides on the format,
    not the name.

    Parameters
    ----------
    path : str or path-like
        The file to read.
    axes : str, optional
        What the axes are, one letter for each, in the order of the array: T time, Z, Y, X
        space, C channels, S colours, any other letter for places that are apart.  By default as the
        file says; where it says nothing, a third axis is Z and a fourth T (``assumed`` is then
        True), unless an axis at an end has length 3 or 4 and may so be one of colours.
    max_pixels : int, optional
        Refuse larger arrays before they are read.  By default the memory that is free decides.

    Returns
    -------
    StackFile
        ``pixels`` in native byte order and in the dtype of the file (float32 or float64 where a
        NIfTI file scales its values), ``axes``, ``spacing`` and what is to be kept.

    Raises
    ------
    ImageFileError
        If the file is missing, unreadable, damaged, too large or of another format, has
        transparency or a palette, or does not tell its axes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "volume.npy"), np.zeros((10, 32, 48), np.uint16))
    ...     stack = read_stack(Path(folder, "volume.npy"))
    >>> stack.axes, stack.pixels.shape, stack.assumed
    ('ZYX', (10, 32, 48), True)
    """
    with open_image(path) as stream, _told(path):
        kind = _kind(stream)
        if kind is None:
            raise FormatError("is no stack: no TIFF, .npy or NIfTI file; convert it to one first")
        return _MODULES[kind].decode(stream, max_pixels, axes)


def _kind(stream) -> str | None:
    """Return the format of an open file, from its first bytes; rewinds it."""
    head = stream.read(nifti.HEADER)
    stream.seek(0)
    if head.startswith(_TIFF):
        return "TIFF"
    if head.startswith(_NPY):
        return "NPY"
    if head.startswith(_GZIP):
        head = gzip.GzipFile(fileobj=stream).read(nifti.HEADER)
        stream.seek(0)
    return "NIFTI" if nifti.is_nifti(head) else None


@contextmanager
def _told(path: str | os.PathLike) -> Iterator[None]:
    """Make whatever goes wrong while a file is read an ImageFileError, and nothing but that."""
    loggers = [logging.getLogger(name) for name in ("tifffile", "nibabel.global")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:  # what they say of a damaged file is said once, by the error
            logger.setLevel(logging.CRITICAL + 1)
        yield
    except (FormatError, MemoryError) as error:
        raise ImageFileError(f"{path}: {one_line(error)}") from None
    except Exception as error:  # decoders fail in many ways on damaged bytes
        raise ImageFileError(
            f"{path}: is damaged or truncated ({one_line(error)}); fetch or export the file again"
        ) from error
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def check_stack_writable(path: str | os.PathLike, like: StackFile) -> None:
    """Raise now what `write_stack` would raise after a long computation.

    Raises
    ------
    ImageFileError
        If the extension is unknown, the format cannot hold such a stack, or the place cannot be
        written to.
    """
    kind = _format_for(path, like)
    try:
        _MODULES[kind].check(_fitted(like, kind))
    except FormatError as error:
        raise ImageFileError(f"{path}: {error}") from None
    check_output(path)


def _format_for(path: str | os.PathLike, stack: StackFile) -> str:
    extension = extension_of(path)
    if extension not in _WRITES:
        size = "x".join(map(str, stack.pixels.shape))
        raise ImageFileError(
            f"{path}: {extension or 'a name without extension'} cannot hold a stack of {size} "
            f"{stack.dtype}; use one of {', '.join(STACK_EXTENSIONS)}"
        )
    return _WRITES[extension]


def _fitted(stack: StackFile, kind: str) -> StackFile:
    """Return a stack as a format may write it: what another format has kept is left out."""
    if stack.format == kind:
        return stack
    # NIfTI alone keeps the scale by which its values become the integers of the file.
    dtype = stack.pixels.dtype if stack.format == "NIFTI" else stack.dtype
    return replace(stack, format=kind, kept=None, dtype=dtype)


def write_stack(
    path: str | os.PathLike, pixels: np.ndarray, *, like: StackFile | None = None
) -> None:
    """Write an array of many axes, in the format of the extension, entirely or not at all.

    Nothing is copied but a page, or a megabyte, at a time.

    Parameters
    ----------
    path : str or path-like
        .tif, .tiff, .npy, .nii or .nii.gz; may be the file `like` was read from.  A TIFF keeps
        the compression of `like`, deflate in place of any other, and is a BigTIFF where it
        must be.  .npy knows nothing of axes and spacing.
    pixels : ndarray
        Of any real dtype; rounded and clipped to ``like.dtype`` if that is of integers.
    like : StackFile, optional
        The stack that `pixels` were made from, of the same shape: lends dtype, axes, spacing
        and, within a format, everything else that it has kept.  Without it the axes are taken
        to be the last ones of TZYX.

    Raises
    ------
    ImageFileError
        If the format cannot hold the array or the file cannot be written; an existing file is
        then untouched.
    ValueError
        If `pixels` contain NaN, for integers, or do not match `like`.

    Examples
    --------
    >>> import tempfile
    >>> stack = StackFile(np.zeros((10, 32, 48)), "ZYX", (2.0, 0.5, 0.5), "um")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_stack(Path(folder, "volume.tif"), stack.pixels, like=stack)
    ...     again = read_stack(Path(folder, "volume.tif"))
    >>> again.axes, again.spacing, again.unit
    ('ZYX', (2.0, 0.5, 0.5), 'um')
    """
    pixels = np.asarray(pixels)
    if pixels.size == 0 or pixels.dtype.kind not in "biuf":
        raise ValueError(
            f"pixels are {pixels.dtype} of shape {pixels.shape}; give integers or floats"
        )
    if like is None:
        like = StackFile(pixels, "TZYX"[-pixels.ndim :])
    if pixels.shape != like.pixels.shape:
        raise ValueError(
            f"pixels have shape {pixels.shape}, those of like {like.pixels.shape}: they must agree"
        )
    check_stack_writable(path, like)
    kind = _format_for(path, like)
    stack = replace(_fitted(like, kind), pixels=pixels)
    if stack.dtype.kind != "f" and any(np.isnan(part).any() for part in parts(pixels)):
        raise ValueError("pixels contain NaN, which no integer can hold; replace it first")
    with atomic_output(path) as file:
        packed = nifti.packed(file) if extension_of(path) == ".nii.gz" else None
        with nullcontext(file) if packed is None else closing(packed) as stream:
            try:
                _MODULES[kind].write(stream, stack)
            except (OSError, MemoryError, ImageFileError):
                raise
            except Exception as error:
                raise ImageFileError(
                    f"{path}: cannot be stored as {kind} ({one_line(error)}); try .npy"
                ) from error
