"""Results: weighted neighbors of queries, and the candidates they were chosen from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nnk_image.base import memory
from nnk_image.base.image import Array
from nnk_image.neighbors.candidates import Candidates


@dataclass(frozen=True, eq=False, repr=False)
class Neighborhoods:
    """Neighbors of each query and their weights, as returned by `nnk_neighbors`.

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
        Half the squared distance between each query and the weighted sum of its candidates in the
        kernel's feature space (for ``kernel='lle'`` and ``method='lnp'``, in the space of the
        points), before small weights are dropped; `nnk_weights` has the formula. For
        ``method='kstar'`` it is lambda, see `KStarNeighborsClassifier`.
    sigma : float or (n,) float64 ndarray
        Width of the kernel, one per query for ``sigma='local'``; NaN for kernels without a width.
    n_points : int
        Number of points that the neighbors were chosen from.
    residual : (n,) float64 ndarray
        How far the weights of 'nnk' and 'omp' are from optimal: the largest violation of the
        conditions of a minimum, relative to the largest similarity (scaled to ``K_jj = 1``). It is
        about 1e-16, unless the kernel is not positive semi-definite.
    """

    indices: Array
    indptr: Array
    weights: NDArray[np.float64]
    error: NDArray[np.float64]
    sigma: float | NDArray[np.float64]
    n_points: int
    residual: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_kept(self) -> Array:
        """Number of neighbors of each query, (n,) ndarray of int."""
        return np.diff(self.indptr)

    def neighbors(self, query: int) -> tuple[Array, NDArray[np.float64]]:
        """Return the neighbors of one query, 0 to n - 1: their indices and weights, (k,) each.

        Indices are in ascending order, weights positive. IndexError if there is no such query.
        """
        if not 0 <= query < len(self):
            raise IndexError(f"query={query} must be from 0 to {len(self) - 1}")
        part = slice(self.indptr[query], self.indptr[query + 1])
        return self.indices[part], self.weights[part]

    def to_csr(self) -> csr_array:
        """Return the weights as an (n, n_points) `scipy.sparse.csr_array`, one row per query.

        Its arrays are those of this result, not copies.
        """
        arrays = self.weights, self.indices, self.indptr
        matrix = csr_array(arrays, shape=(len(self), self.n_points))
        matrix.has_canonical_format = True
        return matrix

    def to_edge_index(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return links from neighbors to queries, sorted by query, for PyTorch Geometric.

        They are `edge_index` and `edge_weight` as of `ImageGraph.to_edge_index`.
        """
        links = self.to_csr().tocoo()
        return np.stack([links.col, links.row]).astype(np.int64), links.data.copy()

    def __repr__(self) -> str:
        sigma = "local" if np.ndim(self.sigma) else format(self.sigma, "g")
        mean = len(self.indices) / max(1, len(self))
        return (
            f"<Neighborhoods of {len(self)} queries among {self.n_points} points: "
            f"{len(self.indices)} neighbors ({mean:.2f} per query), sigma={sigma}>"
        )


class Solved:
    """Candidates of queries and their weights, 0 for those not chosen; the C core fills the arrays.

    Query i has the entries from ``indptr[i]`` to ``indptr[i + 1]``. The first ``count[i]`` are its
    candidates, in ascending order; in the others, `index` is -1.
    """

    def __init__(self, candidates: Candidates, n_points: int, sigma: Any) -> None:
        n, room = len(candidates), len(candidates.indices)
        self.indptr, self.n_points, self.sigma = candidates.indptr, n_points, sigma
        self.count = np.zeros(n, np.int32)
        self.index, self.weight = np.full(room, -1, candidates.indices.dtype), np.zeros(room)
        self.error, self.residual = np.zeros(n), np.zeros(n)

    def _rows(self, given: NDArray[np.bool_], values: Array) -> csr_array:
        """Return the `values` of the candidates where `given` is True, one row per query."""
        dtype = memory.index_dtype(len(given))
        indptr = np.concatenate([[0], np.cumsum(given, dtype=dtype)])[self.indptr].astype(dtype)
        arrays = values[given], self.index[given], indptr
        matrix = csr_array(arrays, shape=(len(self.count), self.n_points))
        matrix.has_canonical_format = True
        return matrix

    def keep_mutual(self) -> None:
        """Set the weights to 0 of candidates that do not have the query as a candidate."""
        given = self.index >= 0
        query = np.repeat(np.arange(self.n_points), self.count)
        candidate = self.index[given].astype(np.int64)
        both = np.isin(candidate * self.n_points + query, query * self.n_points + candidate)
        self.weight[given] *= both

    def neighborhoods(self) -> Neighborhoods:
        """Return the candidates with a positive weight, as `Neighborhoods`."""
        rows = self._rows(self.weight > 0, self.weight)
        arrays = rows.indices, rows.indptr, rows.data
        return Neighborhoods(*arrays, self.error, self.sigma, self.n_points, self.residual)

    def graph(self, rule: str | None) -> csr_array:
        """Return the graph; `rule` is the `symmetrize` of `nnk_graph`, which may be None."""
        weights = self._rows(self.weight > 0, self.weight)
        if rule is None:
            return weights
        if rule == "max":
            return weights.maximum(weights.T)
        if rule == "min":
            return weights.minimum(weights.T)
        if rule == "mean":
            return 0.5 * (weights + weights.T)
        # Candidates of weight 0 are kept, because it must be known who was a candidate.
        candidates = self._rows(self.index >= 0, np.ones(len(self.index), np.int8))
        mutual = csr_array(weights.multiply(candidates.T))  # each other's candidates
        others = weights - mutual
        row = np.repeat(np.arange(len(self.error)), np.diff(mutual.indptr))
        mutual.data *= self.error[row] <= self.error[mutual.indices]
        graph = mutual.maximum(mutual.T)
        return graph + others + others.T if rule == "min_error_onesided" else graph
