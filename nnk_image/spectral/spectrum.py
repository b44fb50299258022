"""Guaranteed upper bounds on the eigenvalues of a Laplacian, and estimates of the largest one.

Also a rule for the signs of eigenvectors, which their equations leave open.
"""

import math
from functools import reduce

import numpy as np
from scipy.linalg import eigh_tridiagonal

from nnk_image.base.parallel import one_blas_thread
from nnk_image.graph.window import sides_of

N_PRODUCTS = 2  # products with D + W in the bound of the combinatorial Laplacian
_TIE = 1e-6  # relative difference below which two entries of an eigenvector are equally large
_LANCZOS_STEPS = 30  # most products with the matrix
_FREQUENCIES = np.linspace(0, np.pi, 301)  # angular, for the Fourier series of spatial kernels


def bound_statistic(recurrence, kind, executor, inside=...):
    """Compute the maximum over pixels that `bound_of` needs, for the pixels `inside` only.

    For the combinatorial Laplacian it is ``max_i (Q x)_i / x_i`` with Q = D + W and x = Q d.  For
    any positive x that is at least the largest eigenvalue of Q (L. Collatz 1942, H. Wielandt
    1950), hence of L = D - W.  For the other Laplacians it is the largest degree.
    """
    degrees = recurrence.degrees
    if kind != "combinatorial" or (largest := float(degrees.max())) == 0:
        return float(degrees[inside].max())
    tiny = np.finfo(degrees.dtype).tiny
    # A power of 2 causes no rounding, so that a part of an image gives the same as the whole.
    scale = degrees.dtype.type(2.0 ** -float(np.frexp(largest)[1]))
    x = degrees * scale
    for _ in range(N_PRODUCTS):
        before = np.maximum(x, tiny)
        x = recurrence.signless(before, scale, executor)
    return float((x / before)[inside].max()) / float(scale)


def shift_of(graph):
    """Return a number c such that W + c I has no negative eigenvalue, or infinity if unknown.

    No eigenvalue of D - W exceeds c plus the largest degree. docs/theory.md derives c for bilateral
    graphs, from the Fourier series of the spatial kernel, cut off at the window.
    """
    if getattr(graph, "kind", None) != "bilateral":
        return math.inf
    axes = len(graph.shape)
    ranges = []  # for each axis a lower bound of the series, and its largest value
    for side, spacing in zip(
        sides_of(graph.window, axes), graph.spacing or (1.0,) * axes, strict=True
    ):
        k = np.arange(side // 2 + 1)
        kernel = np.exp(-(np.minimum(k * (spacing / graph.sigma_d), 40) ** 2) / 2)  # 0 beyond 40
        terms = kernel * np.where(k > 0, 2, 1)
        least = (np.cos(np.multiply.outer(_FREQUENCIES, k)) @ terms).min()
        margin = (k**2 @ terms) * _FREQUENCIES[1] ** 2 / 8  # it may be lower between frequencies
        ranges.append((least - margin, terms.sum()))
    return 1 - float(reduce(np.multiply.outer, ranges).min()) + 1e-12  # margin for rounding


def bound_of(largest, kind, tau=None, dtype=None):
    """Bound the eigenvalues from above, given the `bound_statistic` and the type of the degrees.

    It is 2 for the normalized Laplacian and the random walk, and ``2 d / (d + tau)`` with d the
    largest degree for the regularized Laplacian. Without edges it is 1: the only eigenvalue is 0.
    """
    if largest == 0:
        return 1.0
    if kind == "regularized":
        return 2 * largest / (largest + float(tau))
    if kind != "combinatorial":
        return 2.0
    # Leave a margin for the rounding of sums.
    return largest * (1 + 32 * float(np.finfo(dtype).eps))


@one_blas_thread
def lanczos(multiply, start):
    """Compute the largest Ritz value after some products, and its residual norm.

    ``multiply(x)`` is A x for a symmetric A. The Ritz value never exceeds the largest eigenvalue;
    an eigenvalue lies within the residual norm of it. The same `start` gives the same answer.
    """
    v = start / np.linalg.norm(start)
    previous, beta = np.zeros_like(v), 0.0
    alphas, betas = [], []
    for _ in range(min(_LANCZOS_STEPS, len(v))):
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


def with_fixed_signs(vectors):
    """Return columns with signs that make the first of the entries of largest size positive.

    Rounding hardly ever changes these signs, unlike that of a sum, which is 0 for many columns.
    """
    size = np.abs(vectors)
    first = (size > (1 - _TIE) * size.max(axis=0)).argmax(axis=0)
    return vectors * np.where(vectors[first, np.arange(len(first))] < 0, -1.0, 1.0)
