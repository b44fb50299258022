"""Opponent colour: channels rotated so that the first holds the luminance.

An orthonormal cosine transform along the channels; for three it is the classical
opponent space (sum, difference, second difference).  White noise of equal strength in all
channels stays so.
"""

import numpy as np
from scipy.fft import dct, idct


def to_opponent(pixels, levels=None):
    """(H, W, C) to contiguous (C, H, W), each divided by its noise level unless all are 1.

    A single channel stays what it is; the result may share its memory.
    """
    channels = pixels if pixels.shape[-1] == 1 else dct(pixels, axis=-1, norm="ortho")
    channels = np.ascontiguousarray(np.moveaxis(channels, -1, 0))
    return channels if levels is None else channels / _per_channel(levels, channels)


def from_opponent(channels, levels=None):
    """Back to (H, W, C)."""
    if levels is not None:
        channels = channels * _per_channel(levels, channels)
    pixels = np.moveaxis(channels, 0, -1)
    return pixels if len(channels) == 1 else idct(pixels, axis=-1, norm="ortho")


def _per_channel(levels, channels):
    return levels.astype(channels.dtype).reshape(-1, *(1,) * (channels.ndim - 1))


def opponent_matrix(n):
    """(n, n) ndarray: how much of each channel an opponent channel has."""
    return dct(np.eye(n), axis=0, norm="ortho")
