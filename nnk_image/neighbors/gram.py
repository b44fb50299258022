"""Kernel (Gram) matrices in numpy; neighborhoods have the same kernels in the C core."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nnk_image.base.image import Array
from nnk_image.neighbors.features import middle_of
from nnk_image.neighbors.kernels import KERNELS, Kernel, evaluate, given_diagonal, unit_rows

_MOST_KEPT = 1 << 24  # kernel values; larger matrices are not kept but computed anew for each use
_BLOCK = 1 << 22  # kernel values in memory at a time if the matrix is not kept


class Gram:
    """The kernel of any queries with given points, in the floating type of these points.

    For a precomputed kernel the points are their matrix, and `query_diagonal` is the kernel of each
    query with itself, which the matrix does not hold.
    """

    def __init__(
        self, points: Array, kernel: Kernel, sigma: Any = 1.0, query_diagonal: Any = None
    ) -> None:
        self.kernel, self.sigma, self._query_diagonal = kernel, sigma, query_diagonal
        self._dtype = points.dtype
        self._center = middle_of(points) if kernel.has_sigma else None
        self._is_product = kernel.unit or kernel == KERNELS["linear"]
        self._points = self._inputs(points)
        self._kept: Array | None = None

    def __len__(self) -> int:
        return len(self._points)

    def keep(self) -> None:
        """Compute the matrix of the points once, if it is small and needed."""
        if len(self) ** 2 <= _MOST_KEPT and not self._is_product:
            self._kept = self._rows(self._points)

    def forget(self) -> None:
        """Free the memory that `keep` uses."""
        self._kept = None

    def rows_of(self, indices: Array) -> Any:
        """Return the kernel values (n, N) of some of the points with all."""
        return self._rows(self._points[indices]) if self._kept is None else self._kept[indices]

    def blocks(self, queries: Array | None) -> Iterator[tuple[slice, Array]]:
        """Yield kernel values (n, N) for n queries at a time; without queries, for the points."""
        inputs = self._points if queries is None else self._inputs(queries)
        step = max(1, _BLOCK // len(self))
        for i in range(0, len(inputs), step):
            part = slice(i, i + step)
            yield part, self._rows(inputs[part])

    def product(self, queries: Array | None, factor: Array) -> Array:
        """Return ``K(queries, points) @ factor``; without queries, they are the points."""
        if queries is None and self._kept is not None:
            return self._kept @ factor
        if self._is_product:
            inputs = self._points if queries is None else self._inputs(queries)
            return inputs @ (self._points.T @ factor)
        result = np.empty((len(self if queries is None else queries), factor.shape[1]))
        for part, rows in self.blocks(queries):
            result[part] = rows @ factor
        return result

    def diagonal(self, queries: Array | None = None) -> NDArray[np.float64]:
        """Return the kernel value of each query, or of each point, with itself."""
        kernel, inputs = self.kernel, self._points if queries is None else self._inputs(queries)
        if kernel.name == "precomputed":
            if queries is None:
                return np.diagonal(inputs)
            if self._query_diagonal is None:
                raise ValueError(
                    "with kernel='precomputed', errors need the kernel of queries with themselves: "
                    "give kernel_params={'diagonal': ...}, a number or one for each query"
                )
            return given_diagonal(self._query_diagonal, len(queries))
        if kernel.function is not None:
            return np.array([self._rows(x, x)[0, 0] for x in inputs[:, None]])
        if kernel.unit:
            return np.asarray(inputs.any(axis=1), np.float64)
        if kernel.by_distance:
            return _similarities(kernel, np.zeros(len(inputs)))
        return _similarities(kernel, np.einsum("ij,ij->i", inputs, inputs, dtype=np.float64))

    def _inputs(self, points: Array) -> Array:
        """Return the vectors, one per point, on whose distances or products the kernel depends.

        For the cosines, their products are the kernel itself, 0 for a point at the origin.
        """
        points = points.astype(self._dtype, copy=False)
        if self._center is not None:  # distances are computed from products
            return points - self._center
        if not self.kernel.unit:
            return points
        rows = unit_rows(points)
        if self.kernel.name == "cosine":
            return rows
        return math.sqrt(0.5) * np.column_stack([rows, rows.any(axis=1).astype(rows.dtype)])

    def _rows(self, a: Array, b: Array | None = None) -> Array:
        """Return kernel values (n, m) of `_inputs` a (n, d) and b (m, d), by default the points."""
        b = self._points if b is None else b
        if self.kernel.function is not None:
            return evaluate(self.kernel.function, a, b)
        if self.kernel.name == "precomputed":
            return a
        if self.kernel.has_sigma:
            from sklearn.metrics.pairwise import euclidean_distances

            distances = euclidean_distances(a, b)
            return _similarities(self.kernel, np.divide(distances, self.sigma, out=distances))
        return _similarities(self.kernel, a @ b.T)


def _similarities(kernel: Kernel, x: Array) -> Array:
    """Compute similarities from distances / sigma or inner products x, perhaps in place."""
    if kernel.name == "gaussian":
        x *= x
        x *= -0.5
        return np.exp(x, out=x)
    if kernel.name == "laplacian":
        return np.exp(np.negative(x, out=x), out=x)
    if kernel.name == "polynomial":
        return (kernel.gamma * x + kernel.coef0) ** kernel.degree
    if kernel.unit:
        return x
    raise ValueError(f"kernel={kernel.name!r} is not possible here, as it depends on the query")
