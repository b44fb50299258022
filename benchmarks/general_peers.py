"""Graphs of points that others have proposed, to compare with: AEW, and from smooth signals.

Neither is on PyPI (PyGSP 0.6.1 learns no graphs), so both are written here from their papers, as
plainly as possible, with scipy's optimiser and products of sparse matrices.  They are no part of
the library.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.neighbors import NearestNeighbors


def nearest(X, k):
    """Rising distances (N, k) to the nearest points, and edges i < j of the kNN graph."""
    distance, index = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()
    ends = np.sort([np.repeat(np.arange(len(X)), k), index.ravel()], axis=0)
    i, j = np.unique(ends, axis=1)
    return distance, i, j


def undirected(i, j, weights, n):
    """The graph of edges with weights, those up to 1e-8 of the largest left out."""
    kept = weights > 1e-8 * weights.max(initial=0)
    i, j, weights = i[kept], j[kept], weights[kept]
    half = csr_array((weights, (i, j)), (n, n))
    return csr_array(half + half.T)


# --- adaptive edge weighting -----------------------------------------------------------------


def aew_graph(X, k, max_steps=100):
    """Adaptive edge weighting on the kNN graph: a width for each feature.

    The weights ``exp(-sum_d a_d (x_id - x_jd)^2)`` shall let every point be the weighted mean of
    its neighbours: the sum of squared differences is minimised over a >= 0, from the Gaussian
    kernel of the kNN graph on.  M. Karasuyama, H. Mamitsuka, "Adaptive edge weighting for
    graph-based learning algorithms", Machine Learning 106, 2017, eq. 3; their gradient descent is
    replaced by L-BFGS-B, which needs fewer steps.

    Parameters
    ----------
    X : (N, d) float64 ndarray
    k : int
    max_steps : int
        Iterations of L-BFGS-B at most.

    Returns
    -------
    csr_array
        The edges of the kNN graph (the union of both points' choices).
    """
    distance, i, j = nearest(X, k)
    squares = (X[i] - X[j]) ** 2
    sigma = distance[:, -1].mean() / 3  # the library's rule 'kth', and the paper's
    unit = 1 / (2 * sigma**2)
    found = minimize(
        lambda a: _aew_error(unit * a, X, i, j, squares, unit),
        np.ones(X.shape[1]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * X.shape[1],
        options={"maxiter": max_steps},
    )
    return undirected(i, j, np.exp(-squares @ (unit * found.x)), len(X))


def _aew_error(a, X, i, j, squares, unit):
    """The reconstruction error and its gradient, per `unit` of a."""
    n = len(X)
    exponent = -squares @ a
    # A common factor per graph changes no weighted mean; it keeps the largest weight at 1.
    weights = np.exp(exponent - exponent.max())
    half = csr_array((weights, (i, j)), (n, n))
    graph = half + half.T
    degree = np.maximum(graph.sum(axis=1), 1e-300)
    mean = (graph @ X) / degree[:, None]
    residual = X - mean
    scaled = residual / degree[:, None]
    own = np.einsum("nd,nd->n", scaled, mean)
    # d error / d w_ij of both directions: -2 r_i (x_j - mean_i) / D_i, and with i and j swapped.
    toward = np.einsum("ed,ed->e", scaled[i], X[j]) - own[i]
    toward += np.einsum("ed,ed->e", scaled[j], X[i]) - own[j]
    gradient = squares.T @ (2 * weights * toward)
    return float((residual**2).sum()), unit * gradient


# --- graphs from smooth signals --------------------------------------------------------------


def smooth_signal_graph(X, k, tol=1e-5, max_steps=5000):
    """Graph on which the features are smooth signals: the model with log degrees.

    ``min over W >= 0 of |W * Z|_1 - sum_i log (W 1)_i + 1/2 |W|^2`` with Z the squared distances
    times theta, which is chosen so that nodes have about k neighbours; pairs that are not among
    each other's 3 k nearest are left out.  V. Kalofolias, N. Perraudin, "Large scale graph
    learning from smooth signals", ICLR 2019, eq. 4, Theorem 1 and section 4; the primal-dual
    algorithm is that of V. Kalofolias, "How to learn a graph from smooth signals", AISTATS 2016,
    Algorithm 1.

    Parameters
    ----------
    X : (N, d) float64 ndarray
    k : int
        Neighbours wanted, on average.
    tol : float
        Relative change of weights and degrees at which it ends.
    max_steps : int

    Returns
    -------
    csr_array
    """
    distance, i, j = nearest(X, min(3 * k, len(X) - 1))
    squares = ((X[i] - X[j]) ** 2).sum(axis=1)
    theta = theta_for(distance**2, k)
    weights = log_degree_weights(theta * squares, i, j, len(X), tol, max_steps)
    return undirected(i, j, weights, len(X))


def theta_for(z, k):
    """Factor of the squared distances at which nodes have k neighbours, about.

    The geometric mean of the mean bounds within which a node alone would have exactly k; `z` holds
    rising squared distances from each node, more than k.
    """
    total = z[:, :k].sum(axis=1)
    with np.errstate(divide="ignore"):
        low = 1 / np.sqrt(np.maximum(k * z[:, k] ** 2 - total * z[:, k], 0))
        high = 1 / np.sqrt(np.maximum(k * z[:, k - 1] ** 2 - total * z[:, k - 1], 0))
    finite = np.isfinite(low) & np.isfinite(high)
    return float(np.sqrt(low[finite].mean() * high[finite].mean()))


def log_degree_weights(z, i, j, n, tol, max_steps):
    """The weights of edges (i, j) with scaled squared distances z, by the primal-dual algorithm."""
    m = len(z)
    one = np.ones(2 * m)
    to_nodes = csr_array((one, (np.concatenate([i, j]), np.tile(np.arange(m), 2))), (n, m))
    to_edges = csr_array(to_nodes.T)
    # 2 + the norm of to_nodes, which is at most the root of twice the largest number of edges.
    step = 0.9 / (2 + np.sqrt(2 * np.diff(to_nodes.indptr).max()))
    w, d = np.zeros(m), np.ones(n)
    for _ in range(max_steps):
        y = w - step * (2 * w + to_edges @ d)
        up = d + step * (to_nodes @ w)
        p = np.maximum(y - 2 * step * z, 0)
        down = (up - np.sqrt(up**2 + 4 * step)) / 2
        q = p - step * (2 * p + to_edges @ down)
        back = down + step * (to_nodes @ p)
        new_w, new_d = w - y + q, d - up + back
        moved = [
            np.linalg.norm(new - old) / max(np.linalg.norm(old), 1e-300)
            for new, old in ((new_w, w), (new_d, d))
        ]
        w, d = new_w, new_d
        if max(moved) < tol:
            break
    return p  # in which what is 0 at the optimum is exactly 0 in the end; in w it is only small
