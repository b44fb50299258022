"""NNK at many scales: points merge as the kernel widens; the number of candidates stays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from nnk_image.base.checks import check_choice, check_number, check_positive
from nnk_image.base.image import Array
from nnk_image.neighbors.candidates import NearestSearch
from nnk_image.neighbors.features import check_features
from nnk_image.neighbors.kernels import KERNELS, similarities
from nnk_image.neighbors.model import NeighborhoodModel
from nnk_image.neighbors.options import SYMMETRIZE
from nnk_image.neighbors.result import Neighborhoods

_GROWTH = 2**0.5  # factor of the kernel's width from one scale to the next
_FEWEST = 3  # points of a scale: two would have one link, whatever the width


@dataclass(frozen=True, eq=False, repr=False)
class NNKScale:
    """Points merged at one scale, and their NNK neighborhoods, as returned by `nnk_scales`.

    Attributes
    ----------
    sigma : float
        Width of the Gaussian kernel: the scale.
    points : (m, d) float64 ndarray
        The m points of this scale: means of the original points that have merged.
    counts : (m,) int64 ndarray
        Number of original points merged into each of them; their sum is N.
    labels : (N,) int64 ndarray
        Index in `points` of the point that each original point was merged into.
    coherence : float
        Largest similarity of two of the `points`, ``exp(-|x - y|^2 / (2 sigma^2))``.
    neighborhoods : Neighborhoods
        Neighborhoods of the `points` among themselves.
    graph : (m, m) scipy.sparse.csr_array
        Their NNK graph, with float64 weights; undirected unless `symmetrize` was None.

    Notes
    -----
    The length of a scale, ``len(scale)``, is m.
    """

    sigma: float
    points: NDArray[np.float64]
    counts: NDArray[np.int64]
    labels: NDArray[np.int64]
    coherence: float
    neighborhoods: Neighborhoods
    graph: csr_array

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        mean = len(self.neighborhoods.indices) / len(self)
        return (
            f"<NNKScale sigma={self.sigma:.4g}: {len(self.labels)} points merged into {len(self)}, "
            f"coherence {self.coherence:.3g}, {mean:.2f} neighbors each>"
        )


def nnk_scales(
    X: ArrayLike,
    n_neighbors: int = 30,
    *,
    sigmas: Sequence[float] | None = None,
    max_coherence: float = 0.5,
    symmetrize: str | None = "min_error",
    n_jobs: int | None = None,
) -> list[NNKScale]:
    """Compute NNK neighborhoods and graphs of points at several scales, from fine to coarse.

    It shows the shape of the data at each scale: noise at fine scales, curves and surfaces at
    coarser ones. The scale is the width of the kernel. As it grows, nearby points become
    indistinguishable; they are merged into their mean, until no two points are more similar than
    `max_coherence`. The remaining points lie farther apart, so neighborhoods extend farther with
    the same number of candidates.

    Parameters
    ----------
    X : (N, d) array_like or sparse matrix
        At least three points; a sparse matrix is made dense.
    n_neighbors : int, default: 30
        Number of candidates of each point, at every scale; where there are fewer other points, all
        are candidates.
    sigmas : sequence of float, optional
        Widths of the Gaussian kernel, in ascending order. Default: each is sqrt(2) times the last;
        at the first, half of the points are near enough to their nearest one to merge (duplicates
        aside; if all points have duplicates, `sigmas` must be given).
    max_coherence : float, default: 0.5
        Largest similarity of two points that are not merged, between 0 and 1. Points keep a
        distance of at least ``sigma * sqrt(-2 log(max_coherence))``.
    symmetrize, n_jobs
        As for `nnk_graph`.

    Returns
    -------
    list of NNKScale
        One for each width, from fine to coarse. The list ends before the first width at which
        fewer than three points remain, so it may be shorter than `sigmas`, or empty.

    Notes
    -----
    The thesis proposes to raise the width while merging points; the merging rule is this library's.
    In each round all pairs of points that are each other's nearest are merged into the mean of the
    points they stand for, if their similarity exceeds `max_coherence`, until none does. The next
    scale continues from there, so that the merged sets are nested. Means average noise away, and
    nearest pairs give the same result in every order.

    References
    ----------
    S. Shekkizhar, PhD thesis, University of Southern California, 2023, section 2.6.3 and eq. 2.30;
    C. Hurtado, S. Shekkizhar, J. Ruiz-Hidalgo, A. Ortega, "Study of manifold geometry using
    multiscale non-negative kernel graphs", ICASSP 2023.

    Examples
    --------
    A noisy circle is a cloud at fine scales, and a curve, whose points have two neighbors, at
    coarse ones:

    >>> import numpy as np
    >>> from nnk_image.neighbors import nnk_scales
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 500)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> circle += 0.05 * rng.standard_normal(circle.shape)
    >>> for scale in nnk_scales(circle, sigmas=[0.02, 0.05, 0.2]):
    ...     print(scale)
    <NNKScale sigma=0.02: 500 points merged into 361, coherence 0.499, 3.73 neighbors each>
    <NNKScale sigma=0.05: 500 points merged into 156, coherence 0.498, 3.78 neighbors each>
    <NNKScale sigma=0.2: 500 points merged into 18, coherence 0.464, 2.00 neighbors each>
    """
    check_choice("symmetrize", symmetrize, SYMMETRIZE)
    max_coherence = check_number("max_coherence", max_coherence)
    if not 0 < max_coherence < 1:
        raise ValueError(
            f"max_coherence={max_coherence:g} must lie between 0 and 1, because it is a similarity"
        )
    points = check_features("X", X).astype(np.float64)
    if len(points) < _FEWEST:
        raise ValueError(f"X holds {len(points)} points; at least {_FEWEST} are needed")
    merged = _MergedPoints(points, n_jobs)
    widths = _rising(sigmas) if sigmas is not None else _widths(merged, max_coherence)
    scales = []
    for sigma in widths:
        coherence = merged.merge(sigma, max_coherence)
        if len(merged.points) < _FEWEST:
            break
        model = NeighborhoodModel(merged.points, n_neighbors, sigma=sigma, n_jobs=n_jobs)
        solved = model.solve()
        found, graph = solved.neighborhoods(), solved.graph(symmetrize)
        state = merged.points, merged.counts, merged.labels
        scales.append(NNKScale(sigma, *state, coherence, found, graph))
    return scales


def _rising(sigmas: Sequence[float]) -> list[float]:
    """Check that the widths are positive and in ascending order."""
    if np.ndim(sigmas) != 1:
        raise ValueError(f"sigmas={sigmas!r} must be a sequence of numbers, such as [0.1, 0.2]")
    widths = [check_positive("sigma", sigma, "width of the kernel") for sigma in sigmas]
    if not widths or any(a >= b for a, b in pairwise(widths)):
        raise ValueError(f"sigmas={list(sigmas)!r} must be one or more numbers in ascending order")
    return widths


def _widths(merged: "_MergedPoints", max_coherence: float) -> Iterator[float]:
    """Yield widths without end, from that at which half of the points merge with their nearest."""
    distance, _ = merged.nearest()
    if not distance.any():
        raise ValueError(
            "every point has a duplicate, so that no default width can be computed; give sigmas"
        )
    sigma = float(np.median(distance[distance > 0])) / float(-2 * np.log(max_coherence)) ** 0.5
    while True:
        yield sigma
        sigma *= _GROWTH


class _MergedPoints:
    """Points that stand for those merged into them; `merge` replaces the arrays."""

    def __init__(self, points: NDArray[np.float64], n_jobs: int | None) -> None:
        self.points, self.n_jobs = points, n_jobs
        self.counts = np.ones(len(points), np.int64)
        self.labels = np.arange(len(points))

    def nearest(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return distance and index of each point's nearest other point, ties to the lower one."""
        n = len(self.points)
        found = NearestSearch(self.points, self.n_jobs).candidates(self.points, 2)
        row, start = np.repeat(np.arange(n), np.diff(found.indptr)), found.indptr[:-1]
        distance = np.sqrt(np.square(self.points[row] - self.points[found.indices]).sum(axis=1))
        distance[row == found.indices] = np.inf
        nearest = np.minimum.reduceat(distance, start)
        column = np.where(distance == nearest[row], found.indices, n).astype(np.int64)
        return nearest, np.minimum.reduceat(column, start)

    def merge(self, sigma: float, max_coherence: float) -> float:
        """Merge until no two points are more similar; return the largest similarity left."""
        while len(self.points) > 1:
            distance, nearest = self.nearest()
            with np.errstate(over="ignore"):
                similarity = similarities(KERNELS["gaussian"], distance / sigma)
            if similarity.max() <= max_coherence:
                return float(similarity.max())
            own = np.arange(len(nearest))
            first = (nearest[nearest] == own) & (own < nearest) & (similarity > max_coherence)
            chosen = np.flatnonzero(first)
            if len(chosen) == 0:  # so many equal distances that no pair is mutual
                chosen = np.array([similarity.argmax()])
            self._merge_pairs(chosen, nearest[chosen])
        return 0.0

    def _merge_pairs(self, a: Array, b: Array) -> None:
        """Merge each of the points `b` into the corresponding one of `a`."""
        counts, points = self.counts.copy(), self.points.copy()
        counts[a] += counts[b]
        share = (self.counts[b] / counts[a])[:, None]
        points[a] += share * (points[b] - points[a])
        merged_into = np.arange(len(points))
        merged_into[b] = a
        kept, place = np.unique(merged_into, return_inverse=True)
        self.points, self.counts, self.labels = points[kept], counts[kept], place[self.labels]
