"""Random small graphs, and dense linear algebra to check the library against."""

import numpy as np
from hypothesis import strategies as st


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


def polynomials(matrix, coefficients, lambda_max):
    """Return dense p_s(L), by the recurrence on the Laplacian itself."""
    identity = np.eye(len(matrix))
    shifted = 2 / lambda_max * matrix - identity
    terms = [identity, shifted]
    for _ in range(2, coefficients.shape[1]):
        terms.append(2 * shifted @ terms[-1] - terms[-2])
    return np.tensordot(coefficients, terms[: coefficients.shape[1]], 1)


def functions(matrix, kind, evaluate):
    """Return dense f(L) per function; `evaluate` maps (n,) eigenvalues to (n_bands, n)."""
    values, right, left = spectrum(matrix, kind)
    return [right * f @ left for f in np.atleast_2d(evaluate(values))]
