"""Image files as bytes: one module per format, and `decode` and `encode`, which choose it.

The modules know nothing of paths. They read from an open stream into an
:class:`ImageFile` and turn an :class:`ImageFile` back into bytes, and never drop
a bit of depth in either direction.
"""

from __future__ import annotations

from typing import BinaryIO

from . import jpeg, png, pnm, tiff, web
from .common import FormatError, ImageFile

__all__ = ["FormatError", "ImageFile", "decode", "encode"]

_MODULES = {"PNG": png, "JPEG": jpeg, "TIFF": tiff, "PPM": pnm}

# The first bytes of a file, which tell its format.
_MAGIC = {
    "PNG": (b"\x89PNG\r\n\x1a\n",),
    "JPEG": (b"\xff\xd8\xff",),
    "TIFF": (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    "PPM": (b"P1", b"P2", b"P3", b"P4", b"P5", b"P6"),
}

# The same for formats that are only read.
_WEB = {"GIF": (b"GIF87a", b"GIF89a"), "BMP": (b"BM",)}
_AVIF = (b"avif", b"avis")

# Formats people will try that are not read, so that the refusal can name them.
_FOREIGN = {
    "JPEG 2000": (b"\0\0\0\x0cjP", b"\xff\x4f\xff\x51"),
    "PAM (P7)": (b"P7",),
    "PDF": (b"%PDF",),
}


def decode(stream: BinaryIO, max_pixels: int | None = None) -> ImageFile:
    """Read the one image in `stream`, whatever its file name claimed.

    Raises FormatError, with the cure, for images this library has to refuse, and
    whatever the decoder raises for damaged ones.
    """
    head = stream.read(16)
    stream.seek(0)
    kind = _sniff(head, _MAGIC)
    if kind is not None:
        return _MODULES[kind].decode(stream, max_pixels)
    kind = _web_kind(head)
    if kind is None:
        raise FormatError(_unknown(head))
    return web.decode(stream, max_pixels, kind)


def encode(image: ImageFile) -> bytes:
    """Return the bytes of a file of `image.format` that holds `image`."""
    return _MODULES[image.format].encode(image)


def _sniff(head: bytes, magic: dict[str, tuple[bytes, ...]]) -> str | None:
    """Return the format, of those in `magic`, that the first bytes of a file belong to."""
    return next((kind for kind, marks in magic.items() if head.startswith(marks)), None)


def _web_kind(head: bytes) -> str | None:
    """Return the format of the module `web` that a file belongs to."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp" and head[8:12] in _AVIF:
        return "AVIF"
    return _sniff(head, _WEB)


def _unknown(head: bytes) -> str:
    """Return why a file that begins like this is refused, and the cure."""
    if not head:
        return "the file is empty; save the image again"
    foreign = "HEIF" if head[4:8] == b"ftyp" else _sniff(head, _FOREIGN)
    what = f"this is a {foreign} file" if foreign else "this is no image format known here"
    return f"{what}; convert it to PNG, JPEG, TIFF or PGM/PPM first"
