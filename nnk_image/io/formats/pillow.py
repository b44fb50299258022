"""Helpers for the formats that Pillow decodes: PNG, JPEG, those of `web` and some TIFF."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from .common import FormatError

_ORIENTATION = 0x0112  # EXIF and TIFF tag

# Pillow modes whose samples are grey or RGB in 8 bits already, and what others are
# converted to. Modes in neither table are refused.
_PLAIN = ("L", "LA", "RGB", "RGBA")
_CONVERT = {
    "1": "L",
    "P": "RGB",
    "PA": "RGBA",
    "RGBa": "RGBA",
    "RGBX": "RGB",
    "CMYK": "RGB",
    "YCbCr": "RGB",
}


def eight_bit_samples(image) -> np.ndarray:
    """Decode `image` to uint8 samples of shape (H, W) or (H, W, 2..4)."""
    mode = image.mode
    if mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")
    elif mode in _CONVERT:
        image = image.convert(_CONVERT[mode])
    elif mode not in _PLAIN:
        raise FormatError(f"has pixels of kind {mode!r}; convert it to 8 or 16-bit grey or RGB")
    return np.asarray(image)


def joined_bytes(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Join two uint8 readings of the same 16-bit samples into uint16."""
    return high.astype(np.uint16) << 8 | low


def with_rawmode(image, rawmode: str):
    """Make a just opened Pillow `image` unpack its bytes as `rawmode`; return it.

    Pillow has no 16-bit colour mode: it unpacks 'RGB;16B' (big-endian) by keeping the
    first byte of every pair. Told that the same bytes are 'RGB;16L', it keeps the
    other one, so that two readings give all 16 bits, at the speed of Pillow.
    """
    tiles = []
    for tile in image.tile:
        *place, args = tile
        new = (rawmode, *args[1:]) if isinstance(args, tuple) else rawmode
        make = getattr(tile, "_make", tuple)  # a tuple with names since Pillow 11
        tiles.append(make([*place, new]))
    image.tile = tiles
    return image


def rawmode_of(image) -> str:
    """Return how a just opened Pillow `image` is going to unpack its bytes."""
    args = image.tile[0][-1] if image.tile else ""
    return args[0] if isinstance(args, tuple) else str(args)


def orientation_of(image) -> int:
    """Return the EXIF orientation (1 to 8) of a decoded `image`; 1 where it has none."""
    with suppress(Exception):  # damaged EXIF data must not cost the user the picture
        value = image.getexif().get(_ORIENTATION, 1)
        if value in range(1, 9):
            return int(value)
    return 1
