"""The window around a pixel: offsets by distance and threshold factors, in any number of axes.

Everything in Algorithm 4 that depends on positions only: computed once per
window size and kept.
"""

import math
import numbers
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from nnk_image import _core
from nnk_image.base.geometry import Lines

MAX_WINDOW = 63
"""Largest window side: neighbors hardly change beyond 7, cost grows with the area."""

MAX_OFFSETS = MAX_WINDOW**2
"""Most pixels of a window, whatever its sides."""

NEAR = 120
"""Number of nearest offsets that are tried as pruners for many pixels at once, in SIMD vectors
(measured): all of an 11 x 11 window.  Farther ones are tried pixel by pixel.  In volumes, and where
pixels are not squares, all are tried in vectors."""

_TIE = 1e-12
"""Relative increase of the thresholds where pixels are not squares, so that ties stay ties."""


@dataclass(frozen=True, eq=False)
class Window:
    """A window of odd sides and what Algorithm 4 precomputes for it (thesis section 3.1.2.2).

    `offsets` are (n, axes) by increasing distance, 0 left out; `forward` those after 0 in row-major
    order, in that order: the others are their negatives. `dy` and `dx` are the forward offsets in
    rows (`Lines`) and in pixels along them. `pair_delta` are the threshold factors of the candidate
    pairs of the compiled near pass, `far_delta` are 0, 1, .. as far as the far pass may meet them,
    and `max_delta` is the largest of any pair; `core` holds the same for the C core.
    """

    radii: tuple[int, ...]
    spacing: tuple[float, ...]
    offsets: np.ndarray
    forward: np.ndarray
    dy: np.ndarray
    dx: np.ndarray
    pair_delta: np.ndarray = field(repr=False)
    far_delta: np.ndarray = field(repr=False)
    max_delta: float
    core: _core.Window = field(repr=False)

    @property
    def work(self):
        """Work per pixel, about, as a multiple of that with the default window's 120 offsets."""
        return max(1, len(self.offsets) / 120)

    def spatial_kernel(self, sigma_d):
        """Spatial part of the bilateral kernel for each forward offset."""
        squares = ((self.forward * np.array(self.spacing)) ** 2).sum(axis=1).tolist()
        return np.array([math.exp(-s / (2 * sigma_d**2)) for s in squares])


def check_window(window, axes=2):
    """`window` as an int, odd, from 3 to `MAX_WINDOW`, or as a tuple of such, one per axis.

    In a tuple 1 is allowed too: no neighbors along that axis.
    """
    each = isinstance(window, tuple | list)
    sides, least = (list(window), 1) if each else ([window] * axes, 3)
    if any(isinstance(n, bool) or not isinstance(n, numbers.Integral) for n in sides):
        raise TypeError(
            f"window must be an odd integer, the side in pixels, or one per axis, not {window!r}"
        )
    if len(sides) != axes:
        raise ValueError(f"window has {len(sides)} sides, the image {axes} axes: give one per axis")
    sides = [int(n) for n in sides]
    if not all(least <= n <= MAX_WINDOW and n % 2 for n in sides):
        raise ValueError(
            f"window={window} must be odd, from {least} to {MAX_WINDOW}: the side in pixels"
        )
    if max(sides) == 1:
        raise ValueError(
            f"window={window} contains no neighbor: at least one side must be 3 or more"
        )
    if math.prod(sides) > MAX_OFFSETS:
        raise ValueError(
            f"window={window} holds {math.prod(sides)} pixels in {axes} axes, "
            f"but at most {MAX_OFFSETS} are possible: choose smaller sides"
        )
    return tuple(sides) if each else sides[0]


def sides_of(window, axes):
    """Sides of a checked window, one per axis."""
    return window if isinstance(window, tuple) else (window,) * axes


def window_on(shape, window, spacing):
    """Return the `Window` for images of a shape, and their `Lines`; the window is checked."""
    if not 1e-100 < min(spacing) <= max(spacing) < 1e100:  # squares must not overflow
        raise ValueError(
            f"spacing={spacing} is too small or too large to compute with: give spacing and "
            "sigma_d in another unit"
        )
    radii = tuple(side // 2 for side in sides_of(window, len(shape)))
    if len(shape) > 2:  # nothing is farther away than the other end of the axis
        within = tuple(min(r, n - 1) for r, n in zip(radii, shape, strict=True))
        radii = within if any(within) else radii  # a window cannot be empty
    lines = Lines.of(shape, radii)
    return _window(radii, spacing, lines.strides, lines.border), lines


@lru_cache(maxsize=16)
def _window(radii, spacing, strides, border):
    sides = [np.arange(-r, r + 1) for r in radii]
    offsets = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(radii))
    offsets = np.delete(offsets, len(offsets) // 2, axis=0).astype(np.int32)
    forward = offsets[len(offsets) // 2 :]
    squares = ((offsets * np.array(spacing)) ** 2).sum(axis=1)
    order = np.argsort(squares, kind="stable")
    offsets = offsets[order]

    delta = pair_deltas(offsets, spacing)
    # Only in images of square pixels can offsets be tried pixel by pixel.
    plain = len(radii) == 2 and all(s == 1 for s in spacing)
    near = min(NEAR, len(offsets)) if plain else len(offsets)
    starts, pruners = _pairs(np.sort(squares, kind="stable"), delta, near)
    rows = np.array(strides)
    all_dy, dy = ((o[:, :-1] @ rows).astype(np.int32) for o in (offsets, forward))
    core = _core.Window(
        border,
        radii[-1],
        near,
        all_dy,
        np.ascontiguousarray(offsets[:, -1]),
        (order - len(forward)).astype(np.int32),  # -1 minus the number of the negative, below 0
        starts,
        pruners,
    )
    candidates = np.repeat(np.arange(len(offsets)), np.diff(starts))
    pair_delta, max_delta = delta[pruners, candidates], delta.max(initial=0).item()
    far_delta = np.arange(max_delta + 1 if near < len(offsets) else 1)
    dx = np.ascontiguousarray(forward[:, -1])
    return Window(radii, spacing, offsets, forward, dy, dx, pair_delta, far_delta, max_delta, core)


def pair_deltas(offsets, spacing):
    """Threshold factors ``(o_k - o_j) . o_j`` as a matrix [j, k], in units of `spacing`.

    Neighbor j can prune k where the factor is not negative and j is not k.
    """
    scaled = offsets * np.array(spacing)
    gram = scaled @ scaled.T
    squares = np.diag(gram)
    delta = gram - squares[:, None]
    if all(s == 1 for s in spacing):
        return delta  # whole numbers
    delta[abs(delta) < 16 * np.finfo(float).eps * np.sqrt(np.outer(squares, squares))] = 0
    return delta * (1 + _TIE)  # where values are integers, ties are common


def _pairs(squares, delta, near):
    """For each offset those among the `near` first ones that may prune it.

    Returns (starts, pruners) as in nnk_window: the pruners of offset k are
    ``pruners[starts[k] : starts[k + 1]]``.  A pruner that lies in the direction of the
    candidate has a large threshold factor for its own distance.  It also prunes most often, so
    it comes first.  None of them comes after k, even where rounding hides which is nearer: what
    the C core has decided already is all that it may ask for.
    """
    starts, pruners = [0], []
    for k in range(len(delta)):
        (j,) = np.nonzero(delta[: min(near, k), k] >= 0)  # those after k are not nearer
        j = j[np.argsort(-delta[j, k] / squares[j], kind="stable")]
        padding = -len(j) % _core.PAIRS_AT_ONCE
        pruners.append(np.pad(j, (0, padding), mode="edge") if len(j) else j)
        starts.append(starts[-1] + len(pruners[-1]))
    return np.array(starts, np.int32), np.concatenate(pruners).astype(np.int32)
