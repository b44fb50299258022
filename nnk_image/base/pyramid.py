"""Images at half their size, and back; channels (C, H, W) or of more axes."""

import math

import numpy as np


def half_shape(shape):
    """Return the shape of an image after `halve`."""
    return tuple(-(-n // 2) for n in shape)


def halve(channels, axes=None):
    """Halve channels: sums of 2 x 2 pixels, divided by 2, so that white noise keeps its variance.

    If the number of rows or columns is odd, the last one counts twice. `axes` are those to halve,
    by default all but the first.
    """
    axes = range(1, channels.ndim) if axes is None else axes
    ends = [(0, n % 2 if axis in axes else 0) for axis, n in enumerate(channels.shape)]
    half = np.pad(channels, ends, mode="edge") if np.any(ends) else channels
    for axis in axes:
        half = half[_every_second(axis, 0)] + half[_every_second(axis, 1)]
    return half / channels.dtype.type(_norm(axes))


def double(half, shape, axes=None):
    """Double channels to `shape`; `halve` of the result restores them, if no side is odd."""
    axes = range(1, half.ndim) if axes is None else axes
    doubled = np.empty((len(half), *shape), half.dtype)
    for channel, result in zip(half, doubled, strict=True):
        for axis in (axis - 1 for axis in axes):
            channel = _double_axis(channel, axis)[(slice(None),) * axis + (slice(shape[axis]),)]
        np.divide(channel, half.dtype.type(_norm(axes)), out=result)
    return doubled


def _double_axis(half, axis):
    """Double an axis: each value becomes two on the parabola through it and its neighbors."""
    ends = [(1, 1) if a == axis else (0, 0) for a in range(half.ndim)]
    padded = np.moveaxis(np.pad(half, ends, mode="edge"), axis, 0)
    slope = np.moveaxis((padded[2:] - padded[:-2]) / half.dtype.type(8), 0, axis)
    shape = [2 * n if a == axis else n for a, n in enumerate(half.shape)]
    doubled = np.empty(shape, half.dtype)
    doubled[_every_second(axis, 0)] = half - slope
    doubled[_every_second(axis, 1)] = half + slope
    return doubled


def _every_second(axis, first):
    return (slice(None),) * axis + (slice(first, None, 2),)


def _norm(axes):
    return math.sqrt(2 ** len(axes))
