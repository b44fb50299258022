"""The interval that is guaranteed to hold a Laplacian's spectrum, and its largest eigenvalue."""

import numpy as np
from scipy.linalg import eigh_tridiagonal

IMAGE_BOUND_RATIO = 1.65
"""`spectral_bound` divided by the largest eigenvalue, for combinatorial NNK graphs of images:
1.59 to 1.72 on standard photographs."""


def spectral_bound(degree, kind, largest_edge_sum, tau=None):
    """Bound the eigenvalues from above; it costs next to nothing and is always the same.

    ``max over edges of d_i + d_j`` for the combinatorial Laplacian (W. N. Anderson,
    T. D. Morley 1985), which `largest_edge_sum` returns; 2 for the normalized and random
    walk; for the regularized ``2 d / (d + tau)`` with d the largest degree; 0 for a graph
    without edges.
    """
    return bound_of_degrees(float(degree.max()), kind, largest_edge_sum, tau, degree.dtype)


def bound_of_degrees(largest, kind, largest_edge_sum, tau, dtype):
    """Compute the bound from the largest degree, given the type of the degrees."""
    if largest == 0:
        return 0.0
    if kind == "regularized":
        return 2 * largest / (largest + float(tau))
    if kind != "combinatorial":
        return 2.0
    # The sums are rounded: leave room for that.
    return largest_edge_sum() * (1 + 4 * float(np.finfo(dtype).eps))


def lanczos(multiply, start, steps=30):
    """Compute the largest Ritz value after some Lanczos steps, and its residual norm.

    The Ritz value never exceeds the largest eigenvalue; an eigenvalue lies within
    the residual norm of it.

    Parameters
    ----------
    multiply : callable
        x -> A x for a symmetric A.
    start : (N,) ndarray
        First vector; the same start gives the same answer.
    steps : int
        Most products to make.
    """
    v = start / np.linalg.norm(start)
    previous, beta = np.zeros_like(v), 0.0
    alphas, betas = [], []
    for _ in range(min(steps, len(v))):
        w = multiply(v) - v.dtype.type(beta) * previous
        alpha = float(w @ v)
        w -= v.dtype.type(alpha) * v
        alphas.append(alpha)
        beta = float(np.linalg.norm(w))
        if beta <= 1e-7 * max(alphas):
            break
        betas.append(beta)
        previous, v = v, w / v.dtype.type(beta)
    values, vectors = eigh_tridiagonal(alphas, betas[: len(alphas) - 1])
    return float(values[-1]), float(beta * abs(vectors[-1, -1]))
