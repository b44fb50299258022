"""The window around a pixel, and its stencil: offsets by distance and threshold factors.

The stencil is all of Algorithm 4 that depends on positions only; it is computed once per window
size, in any number of axes.
"""

import math
import numbers
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from nnk_image import _core
from nnk_image.base.geometry import Lines

MAX_WINDOW = 63  # neighbors hardly change beyond 7, and the cost grows with the area
MAX_WINDOW_PIXELS = MAX_WINDOW**2  # the product of the sides
_TIE_TOLERANCE = 1e-12  # relative increase of thresholds, against rounding, if spacing is not 1


@dataclass(frozen=True, eq=False)
class Stencil:
    """The offsets of a window, and what Algorithm 4 precomputes for it (thesis section 3.1.2.2).

    `offsets`, (n, axes), are those of all pixels but the center, by increasing distance. `forward`
    holds those that follow the center in row-major order; the others are their negatives. `dy` and
    `dx` are the forward offsets in rows (`Lines`) and in pixels along a row. `pair_delta` holds the
    threshold factor (`pair_deltas`), at most `max_delta`, of each pair that `core`, for C, lists.
    """

    radii: tuple[int, ...]
    spacing: tuple[float, ...]
    offsets: np.ndarray
    forward: np.ndarray
    dy: np.ndarray
    dx: np.ndarray
    pair_delta: np.ndarray = field(repr=False)
    max_delta: float
    core: _core.Window = field(repr=False)

    @property
    def work(self):
        """Approximate cost per pixel, relative to the default window's 120 offsets; at least 1."""
        return max(1, len(self.offsets) / 120)

    def spatial_kernel(self, sigma_d):
        """Spatial part of the bilateral kernel for each forward offset."""
        squares = ((self.forward * np.array(self.spacing)) ** 2).sum(axis=1).tolist()
        return np.array([math.exp(-s / (2 * sigma_d**2)) for s in squares])


def check_window(window, axes=2):
    """Return `window` as an odd int from 3 to `MAX_WINDOW`, or as a tuple of them, one per axis.

    In a tuple 1 is allowed too, and means no neighbors along that axis.
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
    if math.prod(sides) > MAX_WINDOW_PIXELS:
        raise ValueError(
            f"window={window} holds {math.prod(sides)} pixels in {axes} axes, "
            f"but at most {MAX_WINDOW_PIXELS} are possible: choose smaller sides"
        )
    return tuple(sides) if each else sides[0]


def sides_of(window, axes):
    """Return the sides of a window from `check_window`, one per axis."""
    return window if isinstance(window, tuple) else (window,) * axes


def stencil_on(shape, window, spacing):
    """Return the `Stencil` of a window from `check_window`, for images of a shape."""
    if not 1e-100 < min(spacing) <= max(spacing) < 1e100:  # squares must not overflow
        raise ValueError(
            f"spacing={spacing} is too small or too large to compute with: give spacing and "
            "sigma_d in another unit"
        )
    radii = tuple(side // 2 for side in sides_of(window, len(shape)))
    within = tuple(min(r, max(n - 1, 0)) for r, n in zip(radii, shape, strict=True))
    radii = within if any(within) else radii  # longer offsets link nothing; a window is not empty
    lines = Lines.of(shape, radii)
    return _stencil(radii, spacing, lines.strides, lines.border)


@lru_cache(maxsize=16)
def _stencil(radii, spacing, strides, border):
    sides = [np.arange(-r, r + 1) for r in radii]
    offsets = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(radii))
    offsets = np.delete(offsets, len(offsets) // 2, axis=0).astype(np.int32)
    forward = offsets[len(offsets) // 2 :]
    squares = ((offsets * np.array(spacing)) ** 2).sum(axis=1)
    order = np.argsort(squares, kind="stable")
    offsets = offsets[order]

    delta = pair_deltas(offsets, spacing)
    starts, pruners = _pairs(squares[order], delta)
    rows = np.array(strides)
    all_dy, dy = ((o[:, :-1] @ rows).astype(np.int32) for o in (offsets, forward))
    all_dx, dx = (np.ascontiguousarray(o[:, -1]) for o in (offsets, forward))
    plane = (order - len(forward)).astype(np.int32)  # as in nnk_window
    core = _core.Window(border, radii[-1], all_dy, all_dx, plane, starts, pruners)
    candidates = np.repeat(np.arange(len(offsets)), np.diff(starts))
    pair_delta, max_delta = delta[pruners, candidates], delta.max(initial=0).item()
    return Stencil(radii, spacing, offsets, forward, dy, dx, pair_delta, max_delta, core)


def pair_deltas(offsets, spacing):
    """Return the matrix [j, k] of threshold factors ``(o_k - o_j) . o_j``, `spacing` included.

    Neighbor j can prune k if the factor is not negative and j is not k.
    """
    scaled = offsets * np.array(spacing)
    gram = scaled @ scaled.T
    squares = np.diag(gram)
    delta = gram - squares[:, None]
    if all(s == 1 for s in spacing):
        return delta  # integers, computed without rounding
    delta[abs(delta) < 16 * np.finfo(float).eps * np.sqrt(np.outer(squares, squares))] = 0
    return delta * (1 + _TIE_TOLERANCE)  # ties are common if the image's values are integers


def _pairs(squares, delta):
    """List, for each offset, those that may prune it.

    Returns (starts, pruners) as in nnk_window: the pruners of offset k are
    ``pruners[starts[k] : starts[k + 1]]``.  Those with the largest threshold factor relative to
    their squared distance come first: they lie in the direction of k and prune most often.  Only
    offsets before k can prune k, because the C core decides about them in this order.
    """
    starts, pruners = [0], []
    for k in range(len(delta)):
        (j,) = np.nonzero(delta[:k, k] >= 0)
        j = j[np.argsort(-delta[j, k] / squares[j], kind="stable")]
        padding = -len(j) % _core.PAIRS_AT_ONCE
        pruners.append(np.pad(j, (0, padding), mode="edge") if len(j) else j)
        starts.append(starts[-1] + len(pruners[-1]))
    return np.array(starts, np.int32), np.concatenate(pruners).astype(np.int32)
