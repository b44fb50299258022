"""Kernel (Gram) matrices between sets of points."""

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from nnk_image.learning.inputs import Array
from nnk_image.neighbors.candidates import evaluate, unit_rows
from nnk_image.neighbors.kernels import Kernel, similarities

_KEPT = 1 << 24  # most kernel values that are kept; larger matrices are computed again
_BLOCK = 1 << 22  # kernel values held in memory at a time


def kernel_matrix(kernel: Kernel, sigma: float, a: Array, b: Array) -> Any:
    """Return the kernel values (n, m) of points a (n, d) and b (m, d)."""
    if kernel.name == "callable":
        return evaluate(kernel.function, a, b)
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if kernel.has_sigma:
        distances = euclidean_distances(a, b)
        return similarities(kernel, np.divide(distances, sigma, out=distances))
    if kernel.name == "polynomial":
        return (kernel.gamma * (a @ b.T) + kernel.coef0) ** kernel.degree
    cosine = unit_rows(a) @ unit_rows(b).T
    return (1 + cosine) / 2 if kernel.name == "shifted_cosine" else cosine


class Gram:
    """The kernel matrix of points, computed in blocks of rows.

    For a precomputed kernel the points are the matrix itself.
    """

    def __init__(self, points: Array, kernel: Kernel, sigma: float) -> None:
        self.points, self.kernel, self.sigma = points, kernel, sigma
        self._kept: Array | None = None

    def __len__(self) -> int:
        return len(self.points)

    def keep(self) -> None:
        """Compute the matrix once, if it is small."""
        if len(self) ** 2 <= _KEPT:
            self._kept = self.rows(self.points)

    def forget(self) -> None:
        """Free the memory that `keep` uses."""
        self._kept = None

    def rows(self, queries: Array) -> Any:
        """Return the kernel values (n, N) of queries and the points."""
        if self.kernel.name == "precomputed":
            return np.asarray(queries, np.float64)
        return kernel_matrix(self.kernel, self.sigma, queries, self.points)

    def rows_of(self, indices: Array) -> Any:
        """Return the kernel values (n, N) of some of the points with all."""
        return self.rows(self.points[indices]) if self._kept is None else self._kept[indices]

    def product(self, queries: Array | None, factor: Array) -> Array:
        """Return ``K(queries, points) @ factor``; for None the points are the queries."""
        if queries is None and self._kept is not None:
            return self._kept @ factor
        queries = self.points if queries is None else queries
        result = np.empty((len(queries), factor.shape[1]))
        step = max(1, _BLOCK // len(self))
        for i in range(0, len(queries), step):
            result[i : i + step] = self.rows(queries[i : i + step]) @ factor
        return result

    def diagonal(self, queries: Array | None = None) -> Any:
        """Return the kernel value of each query, or of each point, with itself."""
        name = self.kernel.name
        if name == "precomputed":
            return np.diagonal(self.points) if queries is None else np.ones(len(queries))
        queries = self.points if queries is None else queries
        if name == "polynomial":
            squares = np.einsum("ij,ij->i", queries, queries, dtype=np.float64)
            return (self.kernel.gamma * squares + self.kernel.coef0) ** self.kernel.degree
        if name == "callable":
            pairs = (evaluate(self.kernel.function, q, q) for q in queries[:, None])
            return np.array([pair[0, 0] for pair in pairs])
        of_zeros = {"cosine": 0.0, "shifted_cosine": 0.5}.get(name, 1.0)
        return np.where(queries.any(axis=1), 1.0, of_zeros)
