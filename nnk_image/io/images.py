"""Reads and writes image files; finds the standard images that come with the package.

>>> from nnk_image.io import read_image, standard_images
>>> read_image(standard_images()["camera"]).pixels.shape
(256, 256)
"""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from nnk_image.base.atomic import (
    ImageFileError,
    atomic_output,
    check_output,
    write_bytes_atomically,
)
from nnk_image.io.formats import FormatError, ImageFile, decode, encode
from nnk_image.io.formats.common import to_samples

__all__ = [
    "EXTENSIONS",
    "ImageFile",
    "ImageFileError",
    "atomic_output",
    "check_writable",
    "image_paths",
    "read_image",
    "standard_image",
    "standard_images",
    "write_bytes_atomically",
    "write_image",
]

# What is written for each extension, and the extensions looked for in a folder.
_WRITES = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".pgm": "PPM",
    ".ppm": "PPM",
    ".pnm": "PPM",
}
EXTENSIONS = tuple(_WRITES)
"""Extensions of the files that `write_image` writes."""

_READS = (*EXTENSIONS, ".pbm", ".webp", ".avif", ".gif", ".bmp")

_DTYPES = {
    "PNG": (np.uint8, np.uint16),
    "JPEG": (np.uint8,),
    "TIFF": (np.uint8, np.uint16, np.float32),
    "PPM": (np.uint8, np.uint16),
}
_HOLDS_ALPHA = ("PNG", "TIFF")


def read_image(path: str | os.PathLike, *, max_pixels: int | None = None) -> ImageFile:
    """Read an image file without losing a bit of its depth.

    PNG, JPEG, TIFF and PBM/PGM/PPM, which can also be written; WebP, AVIF, GIF and BMP, which
    are only read, the first frame of animations, with a warning.

    The content decides on the format, not the name. Palettes and CMYK become RGB,
    fewer than 8 bits are scaled to 8, floating point becomes float32, and the
    picture is turned upright as its EXIF orientation asks.

    Parameters
    ----------
    path : str or path-like
        The file to read.
    max_pixels : int, optional
        Refuse larger pictures before decoding them. By default Pillow's limit,
        ``PIL.Image.MAX_IMAGE_PIXELS`` (about 89 million pixels).

    Returns
    -------
    ImageFile
        ``pixels`` of shape (H, W) or (H, W, 3), uint8, uint16 or float32; ``alpha``
        of shape (H, W) or None; ``format``, ``icc_profile`` and ``dpi``.

    Raises
    ------
    ImageFileError
        If the file is missing, unreadable, damaged, too large, of another format,
        or a PNG or TIFF of several frames.

    Examples
    --------
    >>> coffee = read_image(standard_images()["coffee"])
    >>> coffee.format, coffee.pixels.shape, coffee.pixels.dtype
    ('PNG', (400, 600, 3), dtype('uint8'))
    """
    with open_image(path) as stream:
        try:
            return decode(stream, max_pixels)
        except FormatError as error:
            raise ImageFileError(f"{path}: {error}") from None
        except MemoryError as error:
            raise ImageFileError(f"{path}: does not fit in memory; make it smaller") from error
        except Exception as error:  # decoders fail in many ways on damaged bytes
            raise ImageFileError(
                f"{path}: is damaged or truncated ({one_line(error)}); "
                "fetch or export the file again"
            ) from error


def open_image(path: str | os.PathLike):
    """Open a file for reading; failures become ImageFileError."""
    try:
        if Path(path).is_dir():
            raise ImageFileError(f"{path}: is a folder; name an image file in it")
        if Path(path).exists() and not Path(path).is_file():
            raise ImageFileError(f"{path}: is not an ordinary file; save its content as one")
        return open(path, "rb")
    except FileNotFoundError:
        raise ImageFileError(f"{path}: no such file; check the name and the folder") from None
    except PermissionError:
        raise ImageFileError(f"{path}: may not be read; check its permissions") from None
    except OSError as error:
        raise ImageFileError(f"{path}: cannot be opened ({one_line(error)})") from error


def one_line(error: BaseException) -> str:
    """Return the text of `error` on one line; its kind where it has no text."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__


def check_writable(path: str | os.PathLike, like: ImageFile | None = None) -> None:
    """Raise now what `write_image` would raise after a long computation.

    Parameters
    ----------
    path : str or path-like
        The file to be written. The format follows from its extension: .png, .jpg,
        .jpeg, .tif, .tiff, .pgm, .ppm or .pnm.
    like : ImageFile, optional
        The image whose colours, depth and transparency the result will have.

    Raises
    ------
    ImageFileError
        If the extension is unknown, the format cannot hold an image like `like`, or
        the place cannot be written to.

    Examples
    --------
    >>> photo = ImageFile(np.zeros((4, 4), np.uint16))
    >>> check_writable("photo.jpg", photo)
    Traceback (most recent call last):
    nnk_image.base.atomic.ImageFileError: photo.jpg: JPEG cannot hold uint16; write .png or .tif
    """
    _format_for(path)
    if like is not None:
        _check_fits(path, like)
    check_output(path)


def _format_for(path: str | os.PathLike) -> str:
    """Return the format that the extension of `path` asks for."""
    extension = Path(path).suffix.lower()
    if extension not in _WRITES:
        problem = f"unknown extension {extension!r}" if extension else "no extension"
        if extension in _READS:
            problem = f"{extension} is only read, not written"
        raise ImageFileError(f"{path}: {problem}; use one of {', '.join(EXTENSIONS)}")
    return _WRITES[extension]


def _check_fits(path: str | os.PathLike, image: ImageFile) -> None:
    """Refuse images whose colours, depth or transparency the format cannot hold."""
    kind, dtype = _format_for(path), image.pixels.dtype
    name = "PGM/PPM" if kind == "PPM" else kind
    if dtype not in _DTYPES[kind]:
        cure = ".tif" if dtype.kind == "f" else ".png or .tif"
        raise ImageFileError(f"{path}: {name} cannot hold {dtype}; write {cure}")
    if image.alpha is not None and kind not in _HOLDS_ALPHA:
        raise ImageFileError(f"{path}: {name} cannot hold transparency; write .png or .tif")
    if image.pixels.ndim == 3 and Path(path).suffix.lower() == ".pgm":
        raise ImageFileError(f"{path}: PGM cannot hold colour; write .ppm or .png")


def write_image(
    path: str | os.PathLike, image: np.ndarray, *, like: ImageFile | None = None
) -> None:
    """Write `image` to `path`, in the format of the extension, entirely or not at all.

    Parameters
    ----------
    path : str or path-like
        .png, .jpg, .jpeg, .tif, .tiff, .pgm, .ppm or .pnm. May be the file `like`
        was read from. JPEG is written at quality 95 without chroma subsampling.
    image : ndarray of shape (H, W) or (H, W, 3)
        uint8 and uint16 are written as they are. Any other dtype is rounded and
        clipped to the dtype of ``like.pixels``, or to uint8 without `like`.
    like : ImageFile, optional
        The image that `image` was made from: lends dtype, transparency, resolution
        and colour profile.

    Raises
    ------
    ImageFileError
        If the format cannot hold the image or the file cannot be written; an
        existing file is then untouched. See `check_writable`.
    ValueError
        If `image` has the wrong shape, contains NaN, or does not match `like`.

    Examples
    --------
    >>> import tempfile
    >>> ramp = np.linspace(-20.0, 300.0, 5) * np.ones((4, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_image(Path(folder, "ramp.png"), ramp)
    ...     read_image(Path(folder, "ramp.png")).pixels[0]
    array([  0,  60, 140, 220, 255], dtype=uint8)
    """
    kind = _format_for(path)
    result = _dress(_as_pixels(np.asarray(image), like), kind, like)
    _check_fits(path, result)
    check_output(path)
    if Path(path).suffix.lower() == ".ppm" and result.pixels.ndim == 2:
        result = replace(result, pixels=np.stack([result.pixels] * 3, axis=2))
    try:
        data = encode(result)
    except Exception as error:
        raise ImageFileError(
            f"{path}: cannot be stored as {kind} ({one_line(error)}); try .png or .tif"
        ) from error
    write_bytes_atomically(path, data)


def _as_pixels(image: np.ndarray, like: ImageFile | None) -> np.ndarray:
    """Return `image` in a dtype that files can hold."""
    if image.ndim not in (2, 3) or image.size == 0 or (image.ndim == 3 and image.shape[2] != 3):
        raise ValueError(f"image has shape {image.shape}; give (H, W) or (H, W, 3)")
    image = image.astype(image.dtype.newbyteorder("="), copy=False)
    if image.dtype in (np.uint8, np.uint16):
        return image
    if image.dtype.kind not in "fiu":
        raise ValueError(f"image has dtype {image.dtype}; give integers or floats")
    dtype = np.dtype(np.uint8) if like is None else like.pixels.dtype
    return to_samples(image, dtype)


def _dress(pixels: np.ndarray, kind: str, like: ImageFile | None) -> ImageFile:
    """Return `pixels` with the transparency, resolution and profile of `like`."""
    if like is None:
        return ImageFile(pixels, format=kind)
    if like.alpha is not None and like.alpha.shape != pixels.shape[:2]:
        raise ValueError(
            f"image has shape {pixels.shape}, its transparency {like.alpha.shape}; "
            "give both the same height and width, or like=None"
        )
    if like.alpha is not None and like.alpha.dtype != pixels.dtype:
        raise ValueError(
            f"image is {pixels.dtype}, its transparency {like.alpha.dtype}; "
            f"convert the image to {like.alpha.dtype} or to float"
        )
    # A profile for RGB says nothing about grey, and the other way round.
    profile = like.icc_profile if like.pixels.ndim == pixels.ndim else None
    return ImageFile(pixels, like.alpha, kind, profile, like.dpi)


def image_paths(
    arguments: Iterable[str | os.PathLike], *, more: tuple[str, ...] = ()
) -> list[Path]:
    """Return the image files that command line arguments name, each once.

    Parameters
    ----------
    arguments : iterable of str or path-like
        Files; folders, standing for the image files directly in them, sorted by
        name; and glob patterns such as ``photos/*.png`` (``**`` for any depth).
    more : tuple of str, optional
        Extensions that files in folders may have beside those of images.

    Raises
    ------
    ImageFileError
        If there is no argument, or one of them names nothing.

    Examples
    --------
    >>> folder = standard_images()["camera"].parent
    >>> [path.name for path in image_paths([folder / "c*e.png"])]
    ['coffee.png']
    """
    found = []
    for argument in map(os.fspath, arguments):
        try:
            found += _expand(argument, (*_READS, *more))
        except OSError as error:  # a folder that may not be searched, a name too long
            raise ImageFileError(f"{argument}: {one_line(error)}; name other files") from error
    if not found:
        raise ImageFileError("no image given; name a file, a folder or a pattern like '*.png'")
    return list(dict.fromkeys(found))


def _expand(argument: str, extensions: tuple[str, ...]) -> list[Path]:
    """Return the image files that one argument names."""
    path = Path(argument)
    if path.is_dir():
        names = [p for p in sorted(path.iterdir()) if not p.name.startswith(".") and p.is_file()]
        files = [p for p in names if p.name.lower().endswith(extensions)]
        if not files:
            known = ", ".join(f"*{extension}" for extension in dict.fromkeys(extensions))
            raise ImageFileError(f"{argument}: no image in this folder; wanted: {known}")
        return files
    if path.exists():  # also a file whose name happens to look like a pattern
        return [path]
    if glob.has_magic(argument):
        files = [Path(p) for p in sorted(glob.glob(argument, recursive=True))]
        files = [p for p in files if p.is_file()]
        if not files:
            raise ImageFileError(f"{argument}: no file matches; check the pattern and the folder")
        return files
    raise ImageFileError(f"{argument}: no such file or folder; check the name")


def standard_images() -> dict[str, Path]:
    """Return the paths of the standard test images, by name.

    All are free of copyright (CC0 or public domain); images/SOURCES.md in the
    source repository tells where each one comes from.

    Returns
    -------
    dict from str to pathlib.Path

    Raises
    ------
    ImageFileError
        If the images were not installed with the package.

    Examples
    --------
    >>> sorted(standard_images())[:3]
    ['astronaut', 'astronaut_grey', 'brick']
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "images", package.parent / "images"):  # installed; checked out
        if (folder / "camera.png").is_file():
            return {path.stem: path for path in sorted(folder.glob("*.png"))}
    raise ImageFileError(
        f"{package / 'images'}: the standard images are missing; "
        "reinstall nnk_image, or use a complete checkout of its repository"
    )


def standard_image(name: str) -> np.ndarray:
    """Return the pixels of one standard image.

    Parameters
    ----------
    name : str
        A key of `standard_images`, for example 'camera'.

    Returns
    -------
    ndarray of shape (H, W) or (H, W, 3), uint8
        Grey levels or RGB.

    Raises
    ------
    ImageFileError
        If there is no such image; the message lists all names.

    Examples
    --------
    >>> standard_image("camera").shape
    (256, 256)
    """
    images = standard_images()
    if name not in images:
        close = difflib.get_close_matches(str(name), images, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ImageFileError(f"no standard image {name!r}; {hint}choose from {', '.join(images)}")
    return read_image(images[name]).pixels
