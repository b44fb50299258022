"""Opponent colour: channels rotated so that the first holds the luminance.

An orthonormal cosine transform along the channels; for three it is the classical
opponent space (sum, difference, second difference).  White noise of equal strength in all
channels stays so.
"""

import numpy as np
from scipy.fft import dct, idct


def to_opponent(pixels, levels=None):
    """(H, W, C) to contiguous (C, H, W), each divided by its noise level unless all are 1."""
    channels = np.ascontiguousarray(np.moveaxis(dct(pixels, axis=-1, norm="ortho"), -1, 0))
    if levels is not None:
        channels /= levels[:, None, None].astype(channels.dtype)
    return channels


def from_opponent(channels, levels=None):
    """Back to (H, W, C)."""
    if levels is not None:
        channels = channels * levels[:, None, None].astype(channels.dtype)
    return idct(np.moveaxis(channels, 0, -1), axis=-1, norm="ortho")


def opponent_matrix(n):
    """(n, n) ndarray: how much of each channel an opponent channel has."""
    return dct(np.eye(n), axis=0, norm="ortho")
