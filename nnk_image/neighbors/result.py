"""Results: weighted neighbours of queries, and the candidates they were chosen from."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from nnk_image.base import memory
from nnk_image.base.edges import edges_of
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
    recall : float
        Part of the nearest points that were among the candidates, measured on random points where
        the search is approximate; 1 if it is exact, NaN if the candidates were given.

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
    recall: float = np.nan

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

    def to_edge_index(self):
        """The links as arrays in the layout of PyTorch Geometric, which need not be installed.

        Returns
        -------
        edge_index : (2, nnz) int64 ndarray
            Neighbours, among the points, and the queries that they lead to, by rising query.
        edge_weight : (nnz,) float64 ndarray
            A copy of `weights`.

        Examples
        --------
        >>> import numpy as np, nnk_image
        >>> points = np.array([[0.0], [1.0], [2.0]])
        >>> result = nnk_image.nnk_neighbors(points, n_neighbors=2, sigma=1.0)
        >>> result.to_edge_index()[0]
        array([[1, 0, 2, 1],
               [0, 1, 1, 2]])
        """
        return edges_of(self.to_csr())

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
    empty : callable
        ``empty(n, dtype)`` makes the arrays of candidates and weights.
    """

    def __init__(self, start, index_type, n_points, empty=np.empty):
        n, room = len(start) - 1, int(start[-1])
        self.start, self.n_points = start, n_points
        self.count = np.zeros(n, np.int32)
        self.index, self.weight = empty(room, index_type), empty(room, np.float64)
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

    def is_empty(self):
        """Whether no candidate has a positive weight."""
        length = np.zeros(len(self), np.int64)
        self.rows.chosen(length, _NO_ROWS, _NO_BYTES, _NOTHING, 0, len(self))
        return not length.any()

    def neighborhoods(self, n_jobs=None):
        """The candidates with a positive weight, as `Neighborhoods`."""
        indices, indptr, weights = of_one_type(*self.directed_rows(n_jobs))
        error, sigma = self.error, self.sigma
        return Neighborhoods(indices, indptr, weights, error, sigma, self.n_points, self.residual)

    def undirected(self, rule, n_jobs=None):
        """The undirected graph as a csr_array; `rule`, of `_core.RULES`, settles disagreements."""
        indices, indptr, weights = of_one_type(*self.undirected_rows(rule, n_jobs))
        matrix = csr_array((weights, indices, indptr), shape=(len(self), self.n_points))
        matrix.has_canonical_format = True
        return matrix

    def directed_rows(self, n_jobs=None, empty=np.empty):
        """Arrays (indices, indptr, weights) of the candidates with a positive weight.

        ``empty(n, dtype)`` makes the large arrays.
        """
        return self._compact(self.rows.chosen, n_jobs, empty)

    def undirected_rows(self, rule, n_jobs=None, empty=np.empty):
        """As `directed_rows`, of the undirected graph."""
        t_indptr = np.empty(self.n_points + 1, np.int64)
        self.rows.transpose_counts(t_indptr)
        n = int(t_indptr[-1])
        t_index, t_weight = empty(n, self.index.dtype), empty(n, np.float64)
        scratch = np.empty(self.n_points, np.int64)
        self.rows.transpose(t_indptr, scratch, t_index.view(np.uint8), t_weight)
        known = t_indptr, t_index.view(np.uint8), t_weight, _core.RULES[rule]
        return self._compact(lambda *rows: self.rows.symmetric(*known, *rows), n_jobs, empty)

    def _compact(self, work, n_jobs, empty):
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
            nnz = int(indptr[-1])
            indices, weights = empty(nnz, self.index.dtype), empty(nnz, np.float64)
            executor.run(
                lambda i0, i1: work(length, indptr, indices.view(np.uint8), weights, i0, i1),
                n,
                rows_per_chunk=ROWS_PER_CHUNK,
            )
        return indices, indptr, weights


def of_one_type(indices, indptr, weights):
    """The arrays with indices and row pointers of one type, wide enough for both."""
    if memory.index_dtype(len(weights)) == np.int64:
        indices = indices.astype(np.int64, copy=False)
    return indices, indptr.astype(indices.dtype, copy=False), weights
