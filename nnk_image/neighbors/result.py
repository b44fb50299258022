"""Results: weighted neighbors of queries, and the candidates they were chosen from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
    """Neighbors of each query and their weights, as returned by `nnk_neighbors`.

    It can be unpacked: ``indices, indptr, weights, error, sigma = nnk_neighbors(X)``.

    Attributes
    ----------
    indices : (nnz,) int32 or int64 ndarray
        Neighbors of all queries, one after the other; those of query i, in ascending order, are
        ``indices[indptr[i]:indptr[i + 1]]``.
    indptr : (n + 1,) ndarray of the dtype of `indices`
        Where the neighbors of each query begin in `indices` and `weights`.
    weights : (nnz,) float64 ndarray
        Positive weights of the neighbors.
    error : (n,) float64 ndarray
        Reconstruction error of each query: half the squared distance between the query and the
        weighted sum of its candidates in the kernel's feature space. It is ``1/2 K_qq - b' theta +
        1/2 theta' K theta``, with the weights theta (before any are dropped), the kernel K
        between the candidates, b between them and the query, and ``K_qq`` of the query with
        itself. For ``kernel='lle'`` and ``method='lnp'``, it is half the squared Euclidean distance
        instead. For ``method='kstar'`` it is no error: it is lambda, see
        `KStarNeighborsClassifier`.
    sigma : float or (n,) float64 ndarray
        Width of the kernel, one per query for ``sigma='local'``; NaN for kernels without a width.
    n_points : int
        Number of points that the neighbors were chosen from.
    residual : (n,) float64 ndarray
        How far the weights of each query are from optimal: the largest violation of the conditions
        of a minimum, relative to its largest similarity, with similarities scaled such that those
        of points with themselves are 1. It is about 1e-16 (rounding), unless the kernel is not
        positive semi-definite. Computed for the methods 'nnk' and 'omp', 0 for others.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> points = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> result = nnk_image.nnk_neighbors(points, 3, sigma=1.0)
    >>> result.neighbors(0)[0]
    array([1], dtype=int32)
    """

    indices: NDArray[Any]
    indptr: NDArray[Any]
    weights: NDArray[np.float64]
    error: NDArray[np.float64]
    sigma: float | NDArray[np.float64]
    n_points: int
    residual: NDArray[np.float64]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.indices, self.indptr, self.weights, self.error, self.sigma))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_kept(self) -> NDArray[Any]:
        """Number of neighbors of each query, (n,) ndarray of int."""
        return np.diff(self.indptr)

    def neighbors(self, query: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the indices of the neighbors of one query, and their weights.

        Parameters
        ----------
        query : int
            Number of the query, from 0 to n - 1.

        Returns
        -------
        indices : (k,) ndarray of int
            Neighbors in ascending order; empty if there are none.
        weights : (k,) float64 ndarray
            Their positive weights.

        Raises
        ------
        IndexError
            If there is no such query.
        """
        if not 0 <= query < len(self):
            raise IndexError(f"query={query} must be from 0 to {len(self) - 1}")
        part = slice(self.indptr[query], self.indptr[query + 1])
        return self.indices[part], self.weights[part]

    def to_csr(self) -> csr_array:
        """Return the weights as an (n, n_points) `scipy.sparse.csr_array`, one row per query.

        Its arrays are those of this result, not copies.
        """
        return _csr(self.indices, self.indptr, self.weights, (len(self), self.n_points))

    def to_edge_index(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the links from neighbors to queries in the layout of PyTorch Geometric.

        Returns
        -------
        edge_index : (2, nnz) int64 ndarray
            Row 0 holds the neighbor where each link starts, row 1 the query where it ends; links
            are sorted by query.
        edge_weight : (nnz,) float64 ndarray
            Weight of each link, as a copy.
        """
        return edges_of(self.to_csr())

    def __repr__(self) -> str:
        sigma = "local" if np.ndim(self.sigma) else format(self.sigma, "g")
        mean = len(self.indices) / max(1, len(self))
        return (
            f"<Neighborhoods of {len(self)} queries among {self.n_points} points: "
            f"{len(self.indices)} neighbors ({mean:.2f} per query), sigma={sigma}>"
        )


class Solved:
    """Candidates of queries in ascending order, with their weights: 0 for those not chosen.

    There is room for ``start[i + 1] - start[i]`` candidates of query i, from `n_points` points.
    """

    def __init__(self, start: NDArray[np.int64], index_type: np.dtype[Any], n_points: int) -> None:
        n, room = len(start) - 1, int(start[-1])
        self.start, self.n_points = start, n_points
        self.count = np.zeros(n, np.int32)
        self.index, self.weight = np.empty(room, index_type), np.empty(room)
        self.error, self.residual = np.zeros(n), np.zeros(n)
        self.sigma: float | NDArray[np.float64] = np.nan
        wide = self.index.itemsize == 8
        self.rows = _core.Rows(
            start, self.count, self.index.view(np.uint8), wide, self.weight, self.error
        )

    def __len__(self) -> int:
        return len(self.count)

    def put(self, query: int, points: NDArray[Any], weights: NDArray[Any]) -> None:
        """Set the candidates of a query and their weights, in any order."""
        order = np.argsort(points)
        part = slice(self.start[query], self.start[query] + len(points))
        self.index[part], self.weight[part] = points[order], weights[order]
        self.count[query] = len(points)

    def is_empty(self) -> bool:
        """Return whether no candidate has a positive weight."""
        length = np.zeros(len(self), np.int64)
        self.rows.chosen(length, _NO_ROWS, _NO_BYTES, _NOTHING, 0, len(self))
        return not length.any()

    def neighborhoods(self, n_jobs: int | None = None) -> Neighborhoods:
        """Return the candidates with a positive weight, as `Neighborhoods`."""
        rows = self._compact(self.rows.chosen, n_jobs)
        return Neighborhoods(*rows, self.error, self.sigma, self.n_points, self.residual)

    def graph(self, rule: str | None, n_jobs: int | None = None) -> csr_array:
        """Return the graph by a rule of `nnk_graph`, whose `symmetrize` may be None."""
        if rule is None:
            return self.neighborhoods(n_jobs).to_csr()
        t_indptr = np.empty(self.n_points + 1, np.int64)
        self.rows.transpose_counts(t_indptr)
        n = int(t_indptr[-1])
        t_index, t_weight = np.empty(n, self.index.dtype), np.empty(n)
        scratch = np.empty(self.n_points, np.int64)
        self.rows.transpose(t_indptr, scratch, t_index.view(np.uint8), t_weight)
        known = t_indptr, t_index.view(np.uint8), t_weight, _core.RULES[rule]
        rows = self._compact(lambda *rows: self.rows.symmetric(*known, *rows), n_jobs)
        return _csr(*rows, (len(self), self.n_points))

    def _compact(
        self, work: Callable[..., None], n_jobs: int | None
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
        """Return arrays (indices, indptr, weights) of rows that `work` counts, then writes.

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
            indices, weights = np.empty(nnz, self.index.dtype), np.empty(nnz)
            executor.run(
                lambda i0, i1: work(length, indptr, indices.view(np.uint8), weights, i0, i1),
                n,
                rows_per_chunk=ROWS_PER_CHUNK,
            )
        if memory.index_dtype(nnz) == np.int64:  # both of one type, wide enough for both
            indices = indices.astype(np.int64, copy=False)
        return indices, indptr.astype(indices.dtype, copy=False), weights


def _csr(
    indices: NDArray[Any], indptr: NDArray[Any], weights: NDArray[Any], shape: tuple[int, int]
) -> csr_array:
    matrix = csr_array((weights, indices, indptr), shape=shape)
    matrix.has_canonical_format = True
    return matrix
