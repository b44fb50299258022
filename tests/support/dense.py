"""Random small graphs, and dense linear algebra to check the library against."""

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_array


@st.composite
def graphs(draw, most_nodes=20, least=1e-6, largest=1e6):
    """Draw a dense symmetric adjacency, possibly with isolated nodes or without edges."""
    n = draw(st.integers(1, most_nodes))
    node, weight = st.integers(0, n - 1), st.floats(least, largest)
    matrix = np.zeros((n, n))
    for i, j, w in draw(st.lists(st.tuples(node, node, weight), max_size=3 * n)):
        if i != j:
            matrix[i, j] = matrix[j, i] = w
    return matrix


class Random:
    """A random connected graph, with coordinates of nodes and a signal that is partly known."""

    def __init__(self, seed, n=None, case="all"):
        rng = np.random.default_rng(seed)
        n = rng.integers(5, 30) if n is None else n
        weights = rng.random((n, n)) * (rng.random((n, n)) < 0.3)
        weights[np.arange(n), (np.arange(n) + 1) % n] += 0.1
        weights = np.triu(weights, 1) + np.triu(weights.T, 1)
        self.weights = weights + weights.T
        self.graph = csr_array(self.weights)
        self.laplacian = np.diag(self.weights.sum(axis=1)) - self.weights
        self.places, self.y = rng.random((n, 2)), rng.normal(10, 5, n)
        self.known = np.ones(n, bool) if case == "all" else rng.random(n) < 0.4
        self.known[:2] = True
        self.strength = 0.0 if case == "fixed" else float(rng.choice([0.1, 1.0, 10.0]))
        self.i, self.j = np.nonzero(np.triu(self.weights))
        self.w = self.weights[self.i, self.j]

    def differences(self):
        """Return the (edges, N) matrix of the differences x_i - x_j."""
        rows, edges = np.zeros((len(self.w), len(self.y))), np.arange(len(self.w))
        rows[edges, self.i], rows[edges, self.j] = 1, -1
        return rows

    def misfit(self, x):
        return 0.5 * ((x - self.y)[self.known] ** 2).sum() if self.strength else 0.0

    def variation(self, x):
        return (self.strength or 1) * (self.w * abs(self.differences() @ x)).sum()

    def objective(self, x, quadratic):
        """Return misfit + strength / 2 x' Q x, of values of all nodes and perhaps slopes."""
        return self.misfit(x[: len(self.y)]) + (self.strength or 1) / 2 * x @ quadratic @ x

    def dense(self, quadratic):
        """Return the minimum of the objective, by dense linear algebra."""
        n, size = len(self.y), len(quadratic)
        pull, y = np.zeros(size), np.zeros(size)
        pull[:n] = self.known
        y[:n] = np.where(self.known, self.y, 0)
        if self.strength:
            return np.linalg.lstsq(np.diag(pull) + self.strength * quadratic, pull * y)[0]
        free = pull == 0
        pulls = -quadratic[np.ix_(free, ~free)] @ y[~free]
        y[free] = np.linalg.lstsq(quadratic[np.ix_(free, free)], pulls)[0]
        return y


def laplacian(matrix, kind):
    """Return the Laplacian of a dense adjacency by its definition, row by row."""
    degree = matrix.sum(axis=1)
    tau = degree[degree > 0].mean() if degree.any() else 0
    result = np.zeros(matrix.shape)
    for i in np.flatnonzero(degree):
        row = degree[i] * (np.arange(len(matrix)) == i) - matrix[i]
        if kind == "normalized":
            scale = np.sqrt(np.where(degree > 0, degree, 1))
            row = row / (scale[i] * scale)
        elif kind == "random_walk":
            row = row / degree[i]
        elif kind == "regularized":
            row = row / (degree[i] + tau)
        result[i] = row
    return result


def node_weights(matrix, kind):
    """Return weights q of the inner product ``sum_i q_i x_i y_i`` in which L is self-adjoint."""
    degree = matrix.sum(axis=1)
    linked = degree > 0
    if kind == "random_walk":
        return np.where(linked, degree, 1)
    if kind == "regularized" and linked.any():
        return np.where(linked, degree + degree[linked].mean(), 1)
    return np.ones(len(matrix))


def spectrum(matrix, kind):
    """Return eigenvalues, V and V^-1 with ``L = V diag(eigenvalues) V^-1``."""
    root = np.sqrt(node_weights(matrix, kind))
    symmetric = root[:, None] * laplacian(matrix, kind) / root
    values, vectors = np.linalg.eigh((symmetric + symmetric.T) / 2)
    return values, vectors / root[:, None], vectors.T * root


def polynomials(matrix, coefficients, bound):
    """Return dense p_s(L), by the recurrence on the Laplacian itself."""
    identity = np.eye(len(matrix))
    shifted = 2 / bound * matrix - identity
    terms = [identity, shifted]
    for _ in range(2, coefficients.shape[1]):
        terms.append(2 * shifted @ terms[-1] - terms[-2])
    return np.tensordot(coefficients, terms[: coefficients.shape[1]], 1)


def functions(matrix, kind, evaluate):
    """Return dense f(L) per function; `evaluate` maps (n,) eigenvalues to (n_bands, n)."""
    values, right, left = spectrum(matrix, kind)
    return [right * f @ left for f in np.atleast_2d(evaluate(values))]
