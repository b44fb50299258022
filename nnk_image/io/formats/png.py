"""PNG: 8 and 16 bits, grey and colour, with and without transparency."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngImageFile

from .common import ImageFile, assemble, check_frames, check_size, plausible_dpi
from .pillow import eight_bit_samples, joined_bytes, orientation_of, rawmode_of, with_rawmode

_COLOUR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}  # by number of channels
_METRES_PER_INCH = 0.0254
_FILTER_UP = 2
_LEVEL = 4  # compression, 0 to 9: fast, and files hardly larger than at the usual 6


def decode(stream, max_pixels: int | None) -> ImageFile:
    """Read a PNG, all of its bits; 1, 2 and 4-bit grey is scaled to 8."""
    image = PngImageFile(stream)
    check_size(*image.size, max_pixels)
    check_frames(getattr(image, "n_frames", 1), "an animated PNG")
    rawmode = rawmode_of(image)
    if rawmode.endswith(";16B"):
        samples = _sixteen_bit_samples(stream, image, rawmode)
    else:
        samples = eight_bit_samples(image)
    return assemble(
        samples,
        "PNG",
        alpha=_colour_key_alpha(samples, image, rawmode),
        orientation=orientation_of(image),
        icc_profile=image.info.get("icc_profile"),
        dpi=plausible_dpi(image.info.get("dpi")),
    )


def _sixteen_bit_samples(stream, image: PngImageFile, rawmode: str) -> np.ndarray:
    """Return samples of 16 bits, read twice where Pillow keeps 8 of them; see `with_rawmode`."""
    if rawmode == "I;16B":
        return np.asarray(image)
    if rawmode == "LA;16B":  # four bytes per pixel, which Pillow hands on unchanged as RGBA
        return np.asarray(with_rawmode(image, "RGBA")).view(">u2")
    high = np.asarray(image)
    stream.seek(0)
    low = np.asarray(with_rawmode(PngImageFile(stream), rawmode.replace("16B", "16L")))
    return joined_bytes(high, low)


def _colour_key_alpha(samples: np.ndarray, image: PngImageFile, rawmode: str):
    """Return the alpha of a PNG that declares one grey level or colour transparent."""
    key = image.info.get("transparency")
    channels = 1 if samples.ndim == 2 else samples.shape[2]
    if key is None or channels in (2, 4):
        return None
    if rawmode in ("L;2", "L;4"):  # Pillow scales the pixels to 8 bits, but not the key
        key *= 255 // (2 ** int(rawmode[2:]) - 1)
    hidden = np.all(samples.reshape(*samples.shape[:2], channels) == key, axis=2)
    return np.where(hidden, 0, np.iinfo(samples.dtype).max).astype(samples.dtype)


def encode(image: ImageFile) -> bytes:
    """Return the bytes of a PNG with every bit of `image`."""
    samples = image.samples()
    if samples.dtype == np.uint16:  # Pillow cannot write them
        return _encode_sixteen_bit(samples, image)
    picture = Image.fromarray(samples[..., 0] if samples.shape[2] == 1 else samples)
    options = {"icc_profile": image.icc_profile, "dpi": image.dpi}
    target = io.BytesIO()
    picture.save(target, "PNG", **{name: value for name, value in options.items() if value})
    return target.getvalue()


def _encode_sixteen_bit(samples: np.ndarray, image: ImageFile) -> bytes:
    """Return the bytes of a PNG with 16 bits per sample, put together chunk by chunk."""
    height, width, channels = samples.shape
    header = struct.pack(">IIBBBBB", width, height, 16, _COLOUR_TYPE[channels], 0, 0, 0)
    chunks = [_chunk(b"IHDR", header)]
    if image.icc_profile:
        chunks.append(_chunk(b"iCCP", b"ICC Profile\0\0" + zlib.compress(image.icc_profile)))
    if image.dpi:
        per_metre = [round(dots / _METRES_PER_INCH) for dots in image.dpi]
        chunks.append(_chunk(b"pHYs", struct.pack(">IIB", *per_metre, 1)))

    rows = samples.astype(">u2").view(np.uint8).reshape(height, -1)
    filtered = np.empty((height, 1 + rows.shape[1]), np.uint8)
    filtered[:, 0] = _FILTER_UP  # each byte minus the one above it compresses far better
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    chunks += [_chunk(b"IDAT", zlib.compress(filtered.tobytes(), _LEVEL)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(name: bytes, body: bytes) -> bytes:
    """Return a chunk of a PNG file: length, name, content and checksum."""
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
