"""Channels of an image: opponent colors, and which channels are constant or equal.

The first opponent channel is the luminance; in the others gray vanishes. Constant channels, such as
alpha, have no noise, and equal ones, such as gray stored in color, have the same noise.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.fft import dct, idct

from nnk_image.base.image import Array

_REGULARIZATION = 0.1
"""Share of the channels' mean variance that is added to each variance, as estimated covariances are
uncertain. At most a channel's own variance is added: it may be small in other units."""


def to_opponent(pixels: Array, matrix: Array | None = None) -> Array:
    """Return (H, W, C) pixels as contiguous (C, H, W) opponent channels.

    `matrix` is an `opponent_matrix`, by default that of equally noisy channels. A single channel
    stays as it is without a matrix, and the result may share its memory.
    """
    if matrix is not None:
        return _combined(np.moveaxis(pixels, -1, 0), matrix)
    channels = pixels if pixels.shape[-1] == 1 else dct(pixels, axis=-1, norm="ortho")
    return np.ascontiguousarray(np.moveaxis(channels, -1, 0))


def from_opponent(channels: Array, matrix: Array | None = None) -> Array:
    """Return the (H, W, C) pixels of opponent channels: the inverse of `to_opponent`."""
    if matrix is not None:
        return np.moveaxis(_combined(channels, np.linalg.inv(matrix)), 0, -1)
    pixels = np.moveaxis(channels, 0, -1)
    return pixels if len(channels) == 1 else idct(pixels, axis=-1, norm="ortho")


def cosine_matrix(n: int) -> Array:
    """Return the (n, n) matrix to the opponent channels of n equally noisy channels."""
    matrix: Array = dct(np.eye(n), axis=0, norm="ortho")
    return matrix


def opponent_matrix(covariance: Array) -> Array:
    """Return the (C, C) matrix to opponent channels whose noise is uncorrelated.

    Row 0 makes the luminance: the average of the channels that has the least noise among those that
    keep gray values (the Gauss-Markov theorem), with no weight below 0. In the other channels gray
    vanishes. Gray structure that counts as noise hardly changes the weights.

    Parameters
    ----------
    covariance : (C, C) array_like
        Covariance of the noise in the channels, in any unit. For the identity the result is
        `cosine_matrix`, up to a rotation of the color differences.
    """
    n = len(covariance)
    matrix = cosine_matrix(n)
    mean = np.trace(covariance) / n or 1.0
    own = np.clip(np.diagonal(covariance), 1e-12 * mean, _REGULARIZATION * mean)
    covariance = covariance + np.diag(own)
    weights = np.maximum(np.linalg.solve(covariance, np.ones(n)), 0)
    matrix[0] = np.sqrt(n) / weights.sum() * weights
    matrix[1:] = np.linalg.eigh(matrix[1:] @ covariance @ matrix[1:].T)[1].T @ matrix[1:]
    return matrix


def _combined(channels: Array, matrix: Array) -> Array:
    """Return (C, ...) weighted sums of channels; their bits do not depend on the shape."""
    combined = np.empty(channels.shape, channels.dtype)
    for weights, result in zip(matrix.astype(channels.dtype), combined, strict=True):
        np.multiply(channels[0], weights[0], out=result)
        for weight, channel in zip(weights[1:], channels[1:], strict=True):
            result += weight * channel
    return combined


def channel_keys(values: Array) -> list[tuple[bool, float]]:
    """Return keys of the channels of (n, ..., C) values: equal ones for channels that are equal.

    A key says whether the channel is constant, and its value, or else the number of the first
    channel with these values.
    """
    keys, some = [], values[:: 1 + len(values) // 8]
    for c in range(values.shape[-1]):
        own = values[..., c]
        if (low := own.min()) == own.max():
            keys.append((True, float(low)))
            continue
        alike = (j for j in range(c) if np.array_equal(some[..., j], some[..., c]))
        first = next((j for j in alike if np.array_equal(values[..., j], own)), c)
        keys.append((False, float(first)))
    return keys


def channel_sources(keys: Sequence[tuple[Any, ...]]) -> tuple[int, ...]:
    """Return for each channel the channel whose result it can share; -1 if it is constant.

    If all channels that are not constant are equal, they share the result of the first of them.
    Otherwise each has its own. Keys begin with those of `channel_keys`.
    """
    varying = [c for c, (constant, *_) in enumerate(keys) if not constant]
    same = len({keys[c] for c in varying}) == 1
    return tuple((varying[0] if same else c) if c in varying else -1 for c in range(len(keys)))
