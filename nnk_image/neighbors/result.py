"""Results: weighted neighbours of queries, and the candidates they were chosen from."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from nnk_image.base import memory
from nnk_image.base.parallel import RowExecutor
from nnk_image.neighbors import _core

ROWS_PER_CHUNK = 1 << 14
"""Rows of a result that a thread counts or writes at a time."""

_NOTHING = np.empty(0)
_NO_ROWS = np.empty(0, np.int64)
_NO_BYTES = np.empty(0, np.uint8)


@dataclass(frozen=True, eq=False, repr=False)
class Neighborhoods:
    """Weighted neighbours of queries; iterates as (indices, indptr, weights, error, sigma).

    Attributes
    ----------
    indices : (nnz,) int32 or int64 ndarray
        Neighbours of query i, by rising index: ``indices[indptr[i]:indptr[i + 1]]``.
    indptr : (n + 1,) ndarray
    weights : (nnz,) float64 ndarray
        Positive weights of the neighbours.
    error : (n,) float64 ndarray
        ``J = 1/2 K_qq - b' theta + 1/2 theta' K theta`` of each query.
    sigma : float or (n,) float64 ndarray
        Width of the kernel, for each query where it is local; NaN for kernels without one.
    n_points : int
        Number of points the neighbours are chosen from.
    residual : (n,) float64 ndarray
        Violation of the optimality conditions over max(b): rounding for a kernel that is
        positive semi-definite.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> points = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> result = nnk_image.nnk_neighbors(points, n_neighbors=3, sigma=1.0)
    >>> result.neighbors(0)[0]
    array([1], dtype=int32)
    """

    indices: np.ndarray
    indptr: np.ndarray
    weights: np.ndarray
    error: np.ndarray
    sigma: float | np.ndarray
    n_points: int
    residual: np.ndarray

    def __iter__(self):
        return iter((self.indices, self.indptr, self.weights, self.error, self.sigma))

    def __len__(self):
        return len(self.indptr) - 1

    @property
    def n_neighbors(self):
        """(n,) ndarray: number of neighbours of each query."""
        return np.diff(self.indptr)

    def neighbors(self, query):
        """Neighbours of one query and their weights, as two arrays."""
        part = slice(self.indptr[query], self.indptr[query + 1])
        return self.indices[part], self.weights[part]

    def to_csr(self):
        """The weights as an (n, n_points) `scipy.sparse.csr_array`, a row per query."""
        shape = (len(self), self.n_points)
        matrix = csr_array((self.weights, self.indices, self.indptr), shape=shape)
        matrix.has_canonical_format = True
        return matrix

    def __repr__(self):
        sigma = "local" if np.ndim(self.sigma) else format(self.sigma, "g")
        mean = len(self.indices) / max(1, len(self))
        return (
            f"<Neighborhoods of {len(self)} queries among {self.n_points} points: "
            f"{len(self.indices)} neighbours ({mean:.2f} per query), sigma={sigma}>"
        )


class Solved:
    """Candidates of queries by rising index, with their weights: 0 for those not chosen.

    Parameters
    ----------
    start : (n + 1,) int64 ndarray
        There is room for ``start[i + 1] - start[i]`` candidates of query i.
    index_type : numpy.dtype
        int32 or int64.
    n_points : int
        Number of points the candidates are from.
    """

    def __init__(self, start, index_type, n_points):
        n, room = len(start) - 1, int(start[-1])
        self.start, self.n_points = start, n_points
        self.count = np.zeros(n, np.int32)
        self.index, self.weight = np.empty(room, index_type), np.empty(room)
        self.error, self.residual = np.zeros(n), np.zeros(n)
        self.sigma = np.nan
        wide = self.index.itemsize == 8
        self.rows = _core.Rows(
            start, self.count, self.index.view(np.uint8), wide, self.weight, self.error
        )

    def __len__(self):
        return len(self.count)

    def put(self, query, points, weights):
        """Set the candidates of a query and their weights, in any order."""
        order = np.argsort(points)
        part = slice(self.start[query], self.start[query] + len(points))
        self.index[part], self.weight[part] = points[order], weights[order]
        self.count[query] = len(points)

    def neighborhoods(self, n_jobs=None):
        """The candidates with a positive weight, as `Neighborhoods`."""
        indices, indptr, weights = self.compact(self.rows.chosen, n_jobs)
        error, sigma = self.error, self.sigma
        return Neighborhoods(indices, indptr, weights, error, sigma, self.n_points, self.residual)

    def undirected(self, rule, n_jobs=None):
        """The undirected graph as a csr_array; `rule`, of `_core.RULES`, settles disagreements."""
        t_indptr = np.empty(self.n_points + 1, np.int64)
        self.rows.transpose_counts(t_indptr)
        t_index, t_weight = np.empty(t_indptr[-1], self.index.dtype), np.empty(t_indptr[-1])
        scratch = np.empty(self.n_points, np.int64)
        self.rows.transpose(t_indptr, scratch, t_index.view(np.uint8), t_weight)
        known = t_indptr, t_index.view(np.uint8), t_weight, _core.RULES[rule]

        def symmetric(*arguments):
            self.rows.symmetric(*known, *arguments)

        indices, indptr, weights = self.compact(symmetric, n_jobs)
        matrix = csr_array((weights, indices, indptr), shape=(len(self), self.n_points))
        matrix.has_canonical_format = True
        return matrix

    def compact(self, work, n_jobs):
        """Arrays (indices, indptr, weights) of rows that `work` first counts and then writes.

        `work` is called as ``work(length, indptr, indices, weights, i0, i1)``, when it counts with
        empty arrays in place of the three in the middle.
        """
        n = len(self)
        length, indptr = np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
        with RowExecutor(n_jobs) as executor:
            executor.run(
                lambda i0, i1: work(length, _NO_ROWS, _NO_BYTES, _NOTHING, i0, i1),
                n,
                rows_per_chunk=ROWS_PER_CHUNK,
            )
            np.cumsum(length, out=indptr[1:])
            indices, weights = np.empty(indptr[-1], self.index.dtype), np.empty(indptr[-1])
            executor.run(
                lambda i0, i1: work(length, indptr, indices.view(np.uint8), weights, i0, i1),
                n,
                rows_per_chunk=ROWS_PER_CHUNK,
            )
        if memory.index_dtype(len(weights)) == np.int64:
            indices = indices.astype(np.int64, copy=False)
        return indices, indptr.astype(indices.dtype, copy=False), weights
