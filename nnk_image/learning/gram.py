"""Kernel (Gram) matrices between sets of points."""

from typing import Any

import numpy as np

from nnk_image.base.image import Array
from nnk_image.neighbors.features import middle_of
from nnk_image.neighbors.kernels import (
    KERNELS,
    Kernel,
    given_diagonal,
    kernel_inputs,
    kernel_matrix,
    self_similarities,
)

_MOST_KEPT = 1 << 24  # kernel values; larger matrices are not kept but computed anew for each use
_BLOCK = 1 << 22  # kernel values in memory at a time if the matrix is not kept


class Gram:
    """The kernel matrix of points, computed in blocks of rows.

    For a precomputed kernel the points are the matrix itself, and `query_diagonal` is the kernel
    of each query with itself, which the matrix does not hold.
    """

    def __init__(
        self, points: Array, kernel: Kernel, sigma: Any, query_diagonal: Any = None
    ) -> None:
        self.kernel, self.sigma, self._query_diagonal = kernel, sigma, query_diagonal
        self._center = middle_of(points).astype(np.float64) if kernel.has_sigma else None
        self._is_product = kernel.unit or kernel == KERNELS["linear"]
        self._points = self._inputs(points)
        self._kept: Array | None = None

    def __len__(self) -> int:
        return len(self._points)

    def _inputs(self, points: Array) -> Array:
        """Return points as `rows` takes them."""
        if self.kernel.function is not None:
            return points
        if self._center is not None:
            return points - self._center
        return kernel_inputs(self.kernel, points.astype(np.float64, copy=False))

    def keep(self) -> None:
        """Compute the matrix once, if it is small and needed."""
        if len(self) ** 2 <= _MOST_KEPT and not self._is_product:
            self._kept = self.rows(self._points)

    def forget(self) -> None:
        """Free the memory that `keep` uses."""
        self._kept = None

    def rows(self, queries: Array) -> Any:
        """Return the kernel values (n, N) of queries, from `_inputs`, and points."""
        return kernel_matrix(self.kernel, self.sigma, queries, self._points)

    def rows_of(self, indices: Array) -> Any:
        """Return the kernel values (n, N) of some of the points with all."""
        return self.rows(self._points[indices]) if self._kept is None else self._kept[indices]

    def product(self, queries: Array | None, factor: Array) -> Array:
        """Return ``K(queries, points) @ factor``; without queries, they are the points."""
        if queries is None and self._kept is not None:
            return self._kept @ factor
        queries = self._points if queries is None else self._inputs(queries)
        if self._is_product:
            return queries @ (self._points.T @ factor)
        result = np.empty((len(queries), factor.shape[1]))
        step = max(1, _BLOCK // len(self))
        for i in range(0, len(queries), step):
            result[i : i + step] = self.rows(queries[i : i + step]) @ factor
        return result

    def diagonal(self, queries: Array | None = None) -> Any:
        """Return the kernel value of each query, or of each point, with itself."""
        if self.kernel.name == "precomputed":
            if queries is None:
                return np.diagonal(self._points)
            if self._query_diagonal is None:
                raise ValueError(
                    "with kernel='precomputed', errors need the kernel of queries with themselves: "
                    "give kernel_params={'diagonal': ...}, a number or one for each query"
                )
            return given_diagonal(self._query_diagonal, len(queries))
        return self_similarities(self.kernel, self._points if queries is None else queries)
