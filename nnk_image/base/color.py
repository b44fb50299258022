"""Opponent colors: channels rotated such that the first one holds the luminance.

The rotation is an orthonormal cosine transform along the channels; for three channels it is the
classical opponent space. White noise of equal level in all channels stays as it is.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.fft import dct, idct

Array = npt.NDArray[Any]


def to_opponent(pixels: Array, levels: Array | None = None) -> Array:
    """Return (H, W, C) pixels as contiguous (C, H, W) opponent channels, over `levels` if given.

    A single channel stays as it is, and the result may share its memory.
    """
    channels = pixels if pixels.shape[-1] == 1 else dct(pixels, axis=-1, norm="ortho")
    channels = np.ascontiguousarray(np.moveaxis(channels, -1, 0))
    return channels if levels is None else channels / _per_channel(levels, channels)


def from_opponent(channels: Array, levels: Array | None = None) -> Array:
    """Return the (H, W, C) pixels of opponent channels: the inverse of `to_opponent`."""
    if levels is not None:
        channels = channels * _per_channel(levels, channels)
    pixels = np.moveaxis(channels, 0, -1)
    return pixels if len(channels) == 1 else idct(pixels, axis=-1, norm="ortho")


def opponent_matrix(n: int) -> Array:
    """Return the (n, n) rotation: row i weights the channels in opponent channel i."""
    rotation: Array = dct(np.eye(n), axis=0, norm="ortho")
    return rotation


def _per_channel(levels: Array, channels: Array) -> Array:
    return levels.astype(channels.dtype).reshape(-1, *(1,) * (channels.ndim - 1))
