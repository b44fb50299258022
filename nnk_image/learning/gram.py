"""Kernel (Gram) matrices between sets of points."""

import numpy as np

from nnk_image.base.imports import uninterrupted
from nnk_image.neighbors.candidates import evaluate, unit_rows
from nnk_image.neighbors.kernels import similarities

_KEPT = 1 << 24  # most kernel values that `Gram.keep` keeps; larger matrices are computed anew
_BLOCK = 1 << 22  # kernel values held in memory at a time


def kernel_matrix(kernel, sigma, a, b):
    """Kernel values (n, m) of points a (n, d) and b (m, d).

    Parameters
    ----------
    kernel : Kernel
        Neither 'precomputed' nor one that depends on the query.
    sigma : float
    """
    if kernel.name == "callable":
        return evaluate(kernel.function, a, b)
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if kernel.has_sigma:
        return _of_distances(kernel, sigma, a, b)
    if kernel.name == "polynomial":
        return (kernel.gamma * (a @ b.T) + kernel.coef0) ** kernel.degree
    cosine = unit_rows(a) @ unit_rows(b).T
    return (1 + cosine) / 2 if kernel.name == "shifted_cosine" else cosine


def _of_distances(kernel, sigma, a, b):
    """Kernel values from distances, computed in place: the matrix may be large."""
    with uninterrupted():
        from sklearn.metrics.pairwise import euclidean_distances

    distances = euclidean_distances(a, b)
    return similarities(kernel, np.divide(distances, sigma, out=distances))


class Gram:
    """The kernel matrix of points, computed in blocks of rows.

    Parameters
    ----------
    points : (N, d) ndarray
        The matrix itself if the kernel is precomputed.
    kernel : Kernel
    sigma : float
    """

    def __init__(self, points, kernel, sigma):
        self.points, self.kernel, self.sigma = points, kernel, sigma
        self._kept = None

    def __len__(self):
        return len(self.points)

    def __getstate__(self):
        return self.__dict__ | {"_kept": None}

    def keep(self):
        """Compute the matrix of the points once, if it is small."""
        if len(self) ** 2 <= _KEPT:
            self._kept = self.rows(self.points)

    def forget(self):
        """Free what `keep` holds."""
        self._kept = None

    def rows(self, queries):
        """Kernel values (n, N) of queries and the points."""
        if self.kernel.name == "precomputed":
            return np.asarray(queries, np.float64)
        return kernel_matrix(self.kernel, self.sigma, queries, self.points)

    def rows_of(self, indices):
        """Kernel values (n, N) of some of the points with all."""
        return self.rows(self.points[indices]) if self._kept is None else self._kept[indices]

    def product(self, queries, factor):
        """``K(queries, points) @ factor``; for None the points are the queries."""
        if queries is None and self._kept is not None:
            return self._kept @ factor
        queries = self.points if queries is None else queries
        result = np.empty((len(queries), factor.shape[1]))
        step = max(1, _BLOCK // len(self))
        for i in range(0, len(queries), step):
            result[i : i + step] = self.rows(queries[i : i + step]) @ factor
        return result

    def diagonal(self, queries=None):
        """Kernel value of each query, or of each point, with itself."""
        queries = self.points if queries is None else queries
        name = self.kernel.name
        if name == "precomputed":
            return np.diagonal(queries) if queries is self.points else np.ones(len(queries))
        if name == "polynomial":
            squares = np.einsum("ij,ij->i", queries, queries, dtype=np.float64)
            return (self.kernel.gamma * squares + self.kernel.coef0) ** self.kernel.degree
        if name == "callable":
            pairs = (evaluate(self.kernel.function, q, q) for q in queries[:, None])
            return np.array([pair[0, 0] for pair in pairs])
        result = np.ones(len(queries))
        if name in ("cosine", "shifted_cosine"):
            zero = ~queries.any(axis=1)
            result[zero] = 0 if name == "cosine" else 0.5
        return result
