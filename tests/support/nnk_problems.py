"""Random kernel regression problems, their solutions and optimality conditions."""

import warnings
from dataclasses import dataclass

import numpy as np
from exact import nnls_weights
from scipy.linalg import LinAlgWarning
from scipy.optimize import nnls
from scipy.spatial.distance import cdist

SUPPORT = 1e-8  # neighbors have weights above this share of max(b)


@dataclass
class Problem:
    """The kernel regression problem of a query, candidates in order of decreasing similarity.

    `whole` is the kernel matrix of the candidates and, last, the query.
    """

    K: np.ndarray
    b: np.ndarray
    whole: np.ndarray
    duplicates: bool

    @property
    def condition(self):
        values = np.linalg.eigvalsh(self.K)
        return values[-1] / values[0] if values[0] > 0 else np.inf

    def residual(self, theta):
        """Return the largest violation of the optimality conditions, relative to max(b)."""
        gradient = self.b - self.K @ theta
        passive = np.abs(gradient[theta > 0]).max(initial=0)
        return max(passive, gradient[theta == 0].max(initial=0)) / self.b.max()

    def objective(self, theta):
        """Return the objective of the problem scaled to max(b) = 1."""
        theta, b = theta / self.b.max(), self.b / self.b.max()
        return 0.5 * theta @ self.K @ theta - b @ theta

    def by_scipy(self):
        """Return the solution of scipy's non-negative least squares."""
        most = self.b.max()
        if self.condition < 1e10 and not self.duplicates:
            return most * nnls_weights(self.K, self.b / most)
        values, vectors = np.linalg.eigh(self.whole)
        root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinAlgWarning)  # of scipy before 1.15
            limit = 100 * len(self.b) + 100
            return most * nnls(root[:, :-1], root[:, -1] / most, maxiter=limit)[0]


def random_problem(rng):
    """Draw a problem with 2 to 100 candidates in 1 to 784 dimensions.

    Sigma varies over three decades. Some problems have equal or nearly equal candidates.
    """
    k, d = int(rng.integers(2, 101)), int(np.exp(rng.uniform(0, np.log(784.99))))
    points = rng.standard_normal((k, d))
    few = rng.integers(0, k, max(1, k // 4))
    kind = rng.random()
    if kind < 0.5:
        points[few] = points[rng.integers(0, k, len(few))]
    if kind < 0.2:
        points[few] += 10 ** rng.uniform(-9, -4) * rng.standard_normal((len(few), d))
    duplicates = len(np.unique(points, axis=0)) < k
    square = cdist(points, points, "sqeuclidean")
    to_query = (points**2).sum(axis=1)
    order = np.argsort(to_query, kind="stable")
    whole = np.zeros((k + 1, k + 1))
    whole[:k, :k] = square[np.ix_(order, order)]
    whole[:k, k] = whole[k, :k] = to_query[order]
    sigma = np.sqrt(to_query.max()) / 3 * 10 ** rng.uniform(-0.5, 2.5)
    whole = np.exp(-whole / (2 * sigma**2))
    return Problem(whole[:k, :k].copy(), whole[:k, k].copy(), whole, duplicates)
