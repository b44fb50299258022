"""PBM, PGM and PPM: a line of text, then the samples; 8 and 16 bits, never with alpha."""

from __future__ import annotations

import re

import numpy as np

from .common import FormatError, ImageFile, assemble, check_frames, check_size

_MAGIC = (b"P1", b"P2", b"P3", b"P4", b"P5", b"P6")
_NUMBER = re.compile(rb"(?:\s|#[^\r\n]*[\r\n])+([0-9]{1,9})")
_COMMENT = re.compile(rb"#[^\r\n]*")


def decode(stream, max_pixels: int | None) -> ImageFile:
    """Read a PBM, PGM or PPM, plain (P1 to P3) or raw (P4 to P6).

    Samples of an odd range (`maxval` other than 255 and 65535) are scaled to the
    full range of uint8 or uint16, which is one-to-one.
    """
    data = stream.read()
    samples, end = _decode_one(data, 0, max_pixels)
    frames = 1
    while data[end : end + 2] in _MAGIC:  # images may simply follow each other
        _, end = _decode_one(data, end, max_pixels)
        frames += 1
    check_frames(frames, "a PNM stream")
    return assemble(samples, "PPM")


def _decode_one(data: bytes, start: int, max_pixels: int | None) -> tuple[np.ndarray, int]:
    """Return the samples of the image at `start` and the offset at which it ends."""
    kind = int(data[start + 1 : start + 2])
    names = ("width", "height") if kind in (1, 4) else ("width", "height", "maxval")
    numbers, offset = [], start + 2
    for name in names:
        match = _NUMBER.match(data, offset)
        if match is None:
            raise FormatError(f"has a damaged PNM header: no {name}; save the image again")
        numbers.append(int(match[1]))
        offset = match.end()
    width, height, maxval = (*numbers, 1)[:3]
    check_size(width, height, max_pixels)
    if not 1 <= maxval <= 65535:
        raise FormatError(f"has PNM maxval {maxval}, outside 1..65535; save the image again")

    shape = (height, width, 3) if kind in (3, 6) else (height, width)
    if kind <= 3:
        return _plain(data[offset:], kind, shape, maxval), len(data)
    return _raw(data, offset + 1, kind, shape, maxval)


def _plain(text: bytes, kind: int, shape: tuple[int, ...], maxval: int) -> np.ndarray:
    """Return samples that are written as decimal numbers (P1 to P3)."""
    tokens = _COMMENT.sub(b"", text).split()
    if kind == 1:  # bits need no space between them
        tokens = [bytes([bit]) for bit in b"".join(tokens)]
    count = int(np.prod(shape))
    _check_complete(len(tokens), count, "samples")
    samples = np.array([int(token) for token in tokens[:count]]).reshape(shape)
    return _full_range(samples if kind > 1 else 1 - samples, maxval)


def _raw(data, start, kind, shape, maxval) -> tuple[np.ndarray, int]:
    """Return samples that are written as bytes (P4 to P6), and the offset at which they end."""
    row_shape = ((shape[1] + 7) // 8,) if kind == 4 else shape[1:]
    dtype = np.dtype(">u2" if maxval > 255 else "u1")
    count = shape[0] * int(np.prod(row_shape))
    end = start + count * dtype.itemsize
    _check_complete(max(0, len(data) - start), end - start, "bytes of pixels")
    samples = np.frombuffer(data, dtype, count, start).reshape(shape[0], *row_shape)
    if kind == 4:  # a set bit is ink: black
        samples = 1 - np.unpackbits(samples, axis=1, count=shape[1])
    return _full_range(samples, maxval), end


def _check_complete(found: int, needed: int, what: str) -> None:
    if found < needed:
        raise FormatError(f"is truncated: {found} of {needed} {what}; fetch the file again")


def _full_range(samples: np.ndarray, maxval: int) -> np.ndarray:
    """Return samples of 0 to `maxval` scaled to the range of uint8 or uint16."""
    if samples.min() < 0 or samples.max() > maxval:
        raise FormatError(f"has samples outside 0..{maxval}, its maxval; save the image again")
    dtype = np.uint16 if maxval > 255 else np.uint8
    top = int(np.iinfo(dtype).max)
    if maxval == top:
        return samples.astype(dtype)
    return ((samples.astype(np.uint32) * top + maxval // 2) // maxval).astype(dtype)


def encode(image: ImageFile) -> bytes:
    """Return the bytes of a raw PGM (grey) or PPM (colour)."""
    pixels = image.pixels
    height, width = pixels.shape[:2]
    magic = "P5" if pixels.ndim == 2 else "P6"
    header = f"{magic}\n{width} {height}\n{np.iinfo(pixels.dtype).max}\n"
    big_endian = pixels.astype(pixels.dtype.newbyteorder(">"))
    return header.encode("ascii") + big_endian.tobytes()
