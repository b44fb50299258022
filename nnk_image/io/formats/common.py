"""What all formats share: the class of image files, and checks that refuse some."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from PIL import Image


class FormatError(ValueError):
    """Says why a file is refused, and the cure; the caller puts the path in front."""


@dataclass(frozen=True, eq=False)
class ImageFile:
    """An image as a file holds it: pixels, and what is to be kept when it is written again.

    Attributes
    ----------
    pixels : ndarray of shape (H, W) or (H, W, 3), uint8, uint16 or float32
        Grey levels or RGB, upright, in native byte order, transparency taken out.
    alpha : ndarray of shape (H, W) or None
        Opacity in the dtype of `pixels`, from 0 (transparent) to the largest value
        of an integer dtype; None where the file has no transparency.
    format : {'PNG', 'JPEG', 'TIFF', 'PPM', 'WEBP', 'AVIF', 'GIF', 'BMP'}
        The format the bytes are in, whatever the file is called. 'PPM' stands for
        the whole family PBM, PGM and PPM.
    icc_profile : bytes or None
        The colour profile that gives `pixels` their meaning.
    dpi : tuple of two floats or None
        Horizontal and vertical resolution in pixels per inch.
    """

    pixels: np.ndarray
    alpha: np.ndarray | None = None
    format: str = "PNG"
    icc_profile: bytes | None = None
    dpi: tuple[float, float] | None = None

    def samples(self) -> np.ndarray:
        """Return grey, grey + alpha, RGB or RGBA as one contiguous (H, W, 1..4) array."""
        pixels = self.pixels[..., np.newaxis] if self.pixels.ndim == 2 else self.pixels
        layers = [pixels] if self.alpha is None else [pixels, self.alpha[..., np.newaxis]]
        return np.ascontiguousarray(np.concatenate(layers, axis=2))


def assemble(samples, kind, *, alpha=None, orientation=1, icc_profile=None, dpi=None) -> ImageFile:
    """Build an upright ImageFile from samples of shape (H, W) or (H, W, 1..4)."""
    samples = samples[..., np.newaxis] if samples.ndim == 2 else samples
    samples = upright(samples, orientation)
    channels = samples.shape[2]
    if channels in (2, 4):
        alpha = samples[..., -1]
    elif alpha is not None:
        alpha = upright(alpha, orientation)
    pixels = samples[..., 0] if channels < 3 else samples[..., :3]
    if dpi is not None and orientation >= 5:
        dpi = dpi[::-1]
    return ImageFile(_own(pixels), None if alpha is None else _own(alpha), kind, icc_profile, dpi)


def upright(array: np.ndarray, orientation: int) -> np.ndarray:
    """Turn an (H, W, ...) array the way its EXIF/TIFF orientation (1 to 8) asks for."""
    if orientation >= 5:  # these store columns as rows
        array = array.swapaxes(0, 1)
    flip_rows = orientation in (3, 4, 7, 8)
    flip_columns = orientation in (2, 3, 6, 7)
    return array[:: -1 if flip_rows else 1, :: -1 if flip_columns else 1]


def _own(array: np.ndarray) -> np.ndarray:
    """Copy into fresh, contiguous memory of native byte order."""
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")


def check_size(width: int, height: int, max_pixels: int | None) -> None:
    """Refuse decompression bombs before a single pixel is decoded.

    Pillow's own guard warns, and its limit is a global; here the same limit is an
    error, and `max_pixels` replaces it for one file, upwards or downwards.
    """
    limit = Image.MAX_IMAGE_PIXELS if max_pixels is None else max_pixels
    if width < 1 or height < 1:
        raise FormatError(f"claims to be {width}x{height} pixels; save the image again")
    if limit is not None and width * height > limit:
        raise FormatError(
            f"claims {width}x{height} = {width * height} pixels, more than the limit of {limit}; "
            f"if you trust the file, raise the limit (max_pixels) to {width * height}"
        )


def to_samples(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return `values` in the dtype of a file, rounded and clipped to it if it is of integers."""
    if values.dtype == dtype or dtype.kind == "f" or values.dtype.kind == "b":
        return values.astype(dtype, copy=False)
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if values.dtype.kind in "iu":
        here = np.iinfo(values.dtype)
        return np.clip(values, max(low, here.min), min(high, here.max)).astype(dtype)
    if np.isnan(values).any():
        raise ValueError("image contains NaN, which no integer can hold; replace it first")
    values = values.astype(np.float32) if values.dtype.itemsize < 4 else values
    # The largest integer of 32 or 64 bits may be none of these floats, and the next one too large.
    top = values.dtype.type(high)
    top = np.nextafter(top, values.dtype.type(0)) if int(top) > high else top
    return np.clip(np.rint(values), values.dtype.type(low), top).astype(dtype)


def check_frames(count: int, kind: str) -> None:
    """Refuse animations and documents: it is not known which of their frames is meant."""
    if count > 1:
        raise FormatError(
            f"holds {count} frames ({kind}); extract the one you want into a file of its own"
        )


def plausible_dpi(dpi) -> tuple[float, float] | None:
    """Return `dpi` as two floats, or None where a file states nonsense or nothing."""
    try:
        x, y = (float(value) for value in dpi)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    return (x, y) if all(math.isfinite(v) and 1 <= v <= 65535 for v in (x, y)) else None
