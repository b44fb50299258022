"""Opponent colour: channels rotated so that the first holds the luminance.

An orthonormal cosine transform along the channels; for three it is the classical
opponent space (sum, difference, second difference).  White noise of equal strength in all
channels stays so.
"""

import numpy as np
from scipy.fft import dct, idct


def to_opponent(pixels):
    """(H, W, C) to contiguous (C, H, W)."""
    return np.ascontiguousarray(np.moveaxis(dct(pixels, axis=-1, norm="ortho"), -1, 0))


def from_opponent(channels):
    """Back to (H, W, C)."""
    return idct(np.moveaxis(channels, 0, -1), axis=-1, norm="ortho")
