"""Searches for candidates, the points that may become neighbors of a query.

A search is a function of queries and a number n, which returns `Candidates`: for each query a list
of at least the n most similar points that it finds. A query that is itself one of the points may be
among them. `search_for` chooses the search.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from nnk_image.base import memory
from nnk_image.base.checks import plain_array, ready_for_c
from nnk_image.base.extras import requires_extra
from nnk_image.base.image import Array
from nnk_image.base.parallel import RowExecutor
from nnk_image.neighbors.features import middle_of
from nnk_image.neighbors.gram import Gram
from nnk_image.neighbors.kernels import Kernel, unit_rows

KD_TREE_FEATURES = 15  # most features for which a kd-tree is faster than comparing all pairs
_TIE = 1e-6  # relative difference below which two distances count as equal, because of rounding
_SMALL_ANGLE = 1e-8  # cosines of smaller angles are 1 after rounding
_MOST_TIES = 8  # to settle ties, at most this many times the candidates needed are searched
_PIXELS_PER_QUERY = 64  # for `RowExecutor`: a kd-tree query takes as long as this many pixels
_WORK_AT_A_TIME = 1 << 31  # multiplications between checks for Ctrl-C: tenths of a second
_WORK_OF_PAIR = 64  # multiplications that take as long as all else of a comparison of two points
_QUERIES_OF_BLOCK = 256  # queries that scikit-learn compares with all points at a time


@dataclass(frozen=True)
class Candidates:
    """Lists of points, one per query: ``indices[indptr[i]:indptr[i + 1]]``, -1 marks a missing one.

    `indptr` is int64, `indices` int32 or int64.
    """

    indptr: NDArray[np.int64]
    indices: Array

    @classmethod
    def of_table(cls, table: Array) -> "Candidates":
        """Make `Candidates` from an (n, k) array: k candidates for each of n queries."""
        n, k = table.shape
        return cls(k * np.arange(n + 1, dtype=np.int64), _index_array(table.ravel()))

    def __len__(self) -> int:
        return len(self.indptr) - 1


Search = Callable[[Array, int], Candidates]


def search_for(
    neighbors: Any, kernel: Kernel, points: Array, n_jobs: int | None
) -> Search | Candidates:
    """Choose the search that `neighbors` of the public functions requests, or return its lists.

    `points` are as `check_features` returns them; the Gram matrix for a precomputed kernel.
    """
    if neighbors is None:
        by_angle = kernel.name == "cosine" and points.shape[1] <= KD_TREE_FEATURES
        if kernel.by_distance or by_angle:
            return NearestSearch(points, n_jobs, by_angle)
        return partial(_most_similar, Gram(points, kernel))
    if isinstance(neighbors, str | type):
        raise TypeError(f"neighbors must be an estimator, arrays or a matrix, not {neighbors!r}")
    if not (hasattr(neighbors, "kneighbors") or hasattr(neighbors, "fit")):
        indices = neighbors[0] if isinstance(neighbors, tuple) else neighbors
        return _given_candidates(indices, len(points))
    if kernel.name == "precomputed":
        raise ValueError(
            "an estimator as neighbors= searches among points, of which kernel='precomputed' "
            "has none; give an array of indices, or leave neighbors out"
        )
    n = getattr(neighbors, "n_samples_fit_", len(points))
    if n != len(points):
        raise ValueError(f"neighbors= was fitted to {n} points, X has {len(points)}")
    if not _is_fitted(neighbors):
        neighbors = copy.deepcopy(neighbors).fit(points)
    return partial(_found_by_estimator, neighbors, len(points))


class NearestSearch:
    """The nearest points: scipy's kd-tree, or for many features scikit-learn's full comparison.

    With `by_angle`, points of the largest cosines: the nearest ones after scaling to length 1.
    Of equally near points those of lower index become candidates: if the last candidate is no
    nearer than the first one left out, more are searched, up to `_MOST_TIES` times as many.
    """

    def __init__(self, points: Array, n_jobs: int | None, by_angle: bool = False) -> None:
        self._by_angle, (self._n_points, n_features) = by_angle, points.shape
        points = self._vectors(points)
        self._center = middle_of(points)  # scikit-learn computes distances from products
        if n_features <= KD_TREE_FEATURES:
            from scipy.spatial import KDTree  # slow to import, and graphs of images do without

            # A tree split at midpoints is built in half the time and answers as fast.
            tree = KDTree(points - self._center, leafsize=32, balanced_tree=False)
            self._nearest, self._n_jobs, self._block = tree.query, n_jobs, None
        else:  # scikit-learn has threads of its own
            self._nearest, self._n_jobs = _all_pairs(points - self._center, n_jobs), None
            cost = _QUERIES_OF_BLOCK * len(points) * (n_features + _WORK_OF_PAIR)
            self._block = _QUERIES_OF_BLOCK * max(1, _WORK_AT_A_TIME // cost)

    def __call__(self, queries: Array, n: int) -> Candidates:
        """Return the nearest `n` points of each query, and those as near as the last."""
        queries = self._vectors(queries) - self._center
        asked = min(n + 1, self._n_points)
        distances, found = self._query(queries, asked)
        tied = np.flatnonzero(self._unsettled(distances, n))
        if len(tied) == 0:
            return Candidates.of_table(found)
        lists = list(found)
        while len(tied) and asked < _MOST_TIES * n:
            asked = min(2 * asked, self._n_points)
            distances, more = self._query(queries[tied], asked)
            for i, row in zip(tied, more, strict=True):
                lists[i] = row
            tied = tied[self._unsettled(distances, n)]
        indptr = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        return Candidates(indptr, _index_array(np.concatenate(lists)))

    def _vectors(self, points: Array) -> Array:
        """Return the vectors whose distances are compared."""
        if not self._by_angle:
            return points
        # One more feature puts points at the origin at right angles to all others.
        return np.column_stack([unit_rows(points), ~points.any(axis=1)])

    def _query(self, queries: Array, n: int) -> tuple[Array, Array]:
        """Return distances (len(queries), n) and indices of the nearest points.

        It does not use the threads of scipy's kd-tree (`workers`): after Ctrl-C they would go on,
        and write into arrays that no longer exist.
        """
        shape = len(queries), n
        distances, found = np.empty(shape), np.empty(shape, np.intp)

        def work(i0: int, i1: int) -> None:
            nearest = self._nearest(queries[i0:i1], n)
            distances[i0:i1], found[i0:i1] = (part.reshape(i1 - i0, n) for part in nearest)

        with RowExecutor(self._n_jobs) as executor:
            executor.run(work, len(queries), _PIXELS_PER_QUERY, rows_per_chunk=self._block)
        return distances, found

    def _unsettled(self, distances: Array, n: int) -> NDArray[np.bool_]:
        """Return which rows may lack a point that is as near as their n-th candidate."""
        if distances.shape[1] == self._n_points:
            return np.zeros(len(distances), bool)
        least = _SMALL_ANGLE if self._by_angle else 0.0
        return distances[:, -1] <= np.maximum(distances[:, n - 1] * (1 + _TIE), least)


def _most_similar(gram: Gram, queries: Array, n: int) -> Candidates:
    """Return the `n` most similar points of each query, of equal ones those of lowest index.

    All pairs are compared, for kernels without a distance.
    """
    found = np.empty((len(queries), n), np.int64)
    for part, similarity in gram.blocks(queries):
        found[part] = _largest(similarity, n)
    return Candidates.of_table(found)


def _found_by_estimator(estimator: Any, n_points: int, queries: Array, n: int) -> Candidates:
    """Return the nearest `n` points of each query, or those in the graph of a transformer."""
    if hasattr(estimator, "kneighbors"):
        found = estimator.kneighbors(queries, n, return_distance=False)
    else:
        found = estimator.transform(queries)
    return _given_candidates(found, n_points)


def _is_fitted(estimator: Any) -> bool:
    """Return whether an estimator is fitted, by scikit-learn's convention, or has no `fit`."""
    names = getattr(estimator, "__dict__", ())
    fitted = any(name.endswith("_") and not name.startswith("__") for name in names)
    return fitted or not hasattr(estimator, "fit")


def _largest(similarity: Array, n: int) -> NDArray[np.intp]:
    """Return the columns of the `n` largest numbers of each row, ties to the lower column."""
    if n < similarity.shape[1]:
        bound = np.partition(similarity, -n, axis=1)[:, -n, None]
        kept = similarity >= bound
        surplus = np.count_nonzero(kept, axis=1) - n
        for row in np.flatnonzero(surplus):  # the last of those equal to the bound are dropped
            equal = np.flatnonzero(similarity[row] == bound[row])
            kept[row, equal[len(equal) - surplus[row] :]] = False
        return np.nonzero(kept)[1].reshape(len(similarity), n)
    return np.broadcast_to(np.arange(n), similarity.shape)


def _all_pairs(points: Array, n_jobs: int | None) -> Any:
    with requires_extra(
        f"candidates among points of more than {KD_TREE_FEATURES} features need scikit-learn, or "
        "neighbors=(indices, distances)",
        "neighbors",
    ):
        from sklearn.neighbors import NearestNeighbors
    return NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(points).kneighbors


def _given_candidates(given: Any, n_points: int) -> Candidates:
    """Check candidates given as an (n, k) array of indices, a sparse matrix or an ImageGraph."""
    if issparse(getattr(given, "adjacency", None)):  # an ImageGraph
        given = given.adjacency
    if issparse(given):
        given = given.tocsr()
        if given.shape[1] != n_points:
            raise ValueError(
                f"neighbors= is a matrix of shape {given.shape}; it must have a column for each of "
                f"the {n_points} points"
            )
        copy.copy(given).check_format()  # which converts indices in place
        indices = given.indices
    else:
        indices = plain_array(given)
        if indices.dtype.kind not in "iu":
            raise TypeError(
                f"indices of candidates must be integers, not {indices.dtype}; in a tuple, they "
                "come first: (indices, distances)"
            )
        if indices.ndim != 2:
            raise ValueError(f"indices of candidates must have shape (n, k), not {indices.shape}")
    least, largest = indices.min(initial=0), indices.max(initial=0)
    if largest >= n_points:
        raise ValueError(
            f"neighbors= contains the index {largest}, but there are only {n_points} points"
        )
    if least < -1:
        raise ValueError(f"neighbors= contains the index {least}; mark missing candidates by -1")
    if issparse(given):
        return Candidates(ready_for_c(given.indptr, np.int64), _index_array(indices))
    return Candidates.of_table(indices)


def _index_array(indices: Array) -> Array:
    """Return indices as int32, or as int64 where int32 is too small."""
    return ready_for_c(indices, memory.index_dtype(indices.max(initial=0)))
