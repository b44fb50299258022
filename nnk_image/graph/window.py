"""The window around a pixel: offsets by distance and threshold factors.

Everything in Algorithm 4 that depends on positions only: computed once per
window size and kept.
"""

import math
import numbers
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from nnk_image import _core

MAX_WINDOW = 63
"""Largest window side: neighbours hardly change beyond 7, cost grows with the area."""

NEAR = 120
"""So many nearest offsets are tried as pruners for many pixels at once, in vectors (measured):
all offsets of an 11 x 11 window.  Those beyond are settled pixel by pixel."""


@dataclass(frozen=True, eq=False)
class Window:
    """A square window of odd side and what Algorithm 4 precomputes for it.

    Attributes
    ----------
    size, radius : int
        Side w = 2 radius + 1.
    offsets : (w^2 - 1, 2) int32 ndarray
        (row, column) offsets by increasing distance, (0, 0) left out.
    forward : (half, 2) int32 ndarray
        Those after (0, 0) in row-major order, in that order; the others are their
        negatives.
    pair_delta : int32 ndarray
        Threshold factor of each candidate pair of the compiled near pass.
    max_delta : int
        Largest threshold factor of any pair.
    core : nnk_image._core.Window
        The same for the C core.

    References
    ----------
    Algorithm 4 (function Precompute) of the thesis, section 3.1.2.2.
    """

    size: int
    radius: int
    offsets: np.ndarray
    forward: np.ndarray
    pair_delta: np.ndarray = field(repr=False)
    max_delta: int
    core: _core.Window = field(repr=False)

    @property
    def dy(self):
        """Row offsets of `forward`."""
        return np.ascontiguousarray(self.forward[:, 0])

    @property
    def dx(self):
        """Column offsets of `forward`."""
        return np.ascontiguousarray(self.forward[:, 1])

    @property
    def work(self):
        """Work per pixel, about, as a multiple of that with the default window's 120 offsets."""
        return max(1, len(self.offsets) / 120)

    def delta(self):
        """Threshold factors ``(o_k - o_j) . o_j`` as a matrix [j, k].

        Neighbour j can prune k where the factor is not negative and j is not k.
        """
        return _delta(self.offsets)

    def spatial_kernel(self, sigma_d):
        """Spatial part of the bilateral kernel for each forward offset."""
        squares = (self.forward.astype(float) ** 2).sum(axis=1).tolist()
        return np.array([math.exp(-s / (2 * sigma_d**2)) for s in squares])


def check_window(window):
    """`window` as an int: odd, from 3 to `MAX_WINDOW`."""
    if isinstance(window, bool) or not isinstance(window, numbers.Integral):
        raise TypeError(f"window must be an odd integer, the side in pixels, not {window!r}")
    if window < 3 or window % 2 == 0 or window > MAX_WINDOW:
        raise ValueError(f"window={window} must be odd, from 3 to {MAX_WINDOW}: the side in pixels")
    return int(window)


@lru_cache(maxsize=16)
def window_of(size):
    """The `Window` of side `size` (checked)."""
    radius = size // 2
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1].astype(np.int32)
    offsets = np.stack([y.ravel(), x.ravel()], axis=1)
    offsets = np.delete(offsets, len(offsets) // 2, axis=0)
    forward = offsets[len(offsets) // 2 :]
    offsets = offsets[np.argsort((offsets**2).sum(axis=1), kind="stable")]

    delta = _delta(offsets)
    near = min(NEAR, len(offsets))
    starts, pruners = _pairs(offsets, delta, near)
    core = _core.Window(
        radius,
        near,
        np.ascontiguousarray(offsets[:, 0]),
        np.ascontiguousarray(offsets[:, 1]),
        _plane_numbers(offsets, forward),
        starts,
        pruners,
    )
    candidates = np.repeat(np.arange(len(offsets)), np.diff(starts))
    pair_delta = delta[pruners, candidates]
    return Window(size, radius, offsets, forward, pair_delta, int(delta.max()), core)


def _delta(offsets):
    gram = offsets @ offsets.T
    return gram - np.diag(gram)[:, None]


def _pairs(offsets, delta, near):
    """For each offset those among the `near` first ones that may prune it.

    Returns (starts, pruners) as in nnk_window: the pruners of offset k are
    ``pruners[starts[k] : starts[k + 1]]``.  A pruner that lies in the direction of the
    candidate has a large threshold factor for its own distance.  It also prunes most often, so
    it comes first.
    """
    squares = (offsets[:near] ** 2).sum(axis=1)
    starts, pruners = [0], []
    for k in range(len(offsets)):
        (j,) = np.nonzero(delta[:near, k] >= 0)
        j = j[j != k]
        j = j[np.argsort(-delta[j, k] / squares[j], kind="stable")]
        padding = -len(j) % _core.PAIRS_AT_ONCE
        pruners.append(np.pad(j, (0, padding), mode="edge") if len(j) else j)
        starts.append(starts[-1] + len(pruners[-1]))
    return np.array(starts, np.int32), np.concatenate(pruners).astype(np.int32)


def _plane_numbers(offsets, forward):
    """The edge plane of each offset: its index in `forward`, or -1 minus that of its negative."""
    number = {tuple(o): i for i, o in enumerate(forward.tolist())}
    planes = [number.get((y, x), -1 - number.get((-y, -x), 0)) for y, x in offsets.tolist()]
    return np.array(planes, np.int32)
