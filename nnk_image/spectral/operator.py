"""Polynomials of a Laplacian applied to signals.

A `LaplacianOperator` is one Laplacian of a graph.  Filters, wavelets and denoising are polynomials
of it, ``p_s(L) = sum_k c[s, k] T_k((2 / bound) L - I)``, with Chebyshev coefficients c in
numpy's convention, evaluated by the recurrence of `chebyshev.py`. Its eigenvalues have guaranteed
upper bounds; the largest one can be estimated as well.
"""

import math
from functools import cached_property, reduce

import numpy as np
from scipy.linalg import eigh_tridiagonal

from nnk_image.base.checks import check_choice, check_number
from nnk_image.base.parallel import one_blas_thread
from nnk_image.graph.laplacian import KINDS, node_terms, regularization
from nnk_image.graph.pixel_graph import ImageGraph, check_undirected
from nnk_image.graph.pruning import EDGE_SWEEPS
from nnk_image.graph.window import sides_of
from nnk_image.spectral.chebyshev import CsrRecurrence, GridRecurrence

N_PRODUCTS = 2  # products with D + W in the bound of the combinatorial Laplacian
_LANCZOS_STEPS = 30  # most products with the matrix
_FREQUENCIES = np.linspace(0, np.pi, 301)  # angular, for the Fourier series of spatial kernels


class LaplacianOperator:
    """The Laplacian of a graph as an operator on signals; `of_graph` makes one.

    The normalized Laplacian is evaluated through its similarity to the random walk's, ``p(L_sym) =
    D^1/2 p(L_rw) D^-1/2``. For a part of an image, `bound` may be that of the whole; `shift` is
    what `shift_of` returns.

    Attributes
    ----------
    shape : tuple
        Shape of a signal: that of the image, (N,) for other graphs.
    dtype : numpy.dtype
        Type of signals and of all arithmetic, float32 or float64.
    tau : float or None
        Constant of the regularized Laplacian, by default the mean degree; else None.
    bound : float
        Upper bound on the eigenvalues (1 for a graph without edges).
    """

    SETUP_SWEEPS = EDGE_SWEEPS + GridRecurrence.SETUP_SWEEPS
    """Passes over all rows to choose the edges and set up the operator, for progress bars."""

    def __init__(self, recurrence, kind, executor, tau=None, bound=None, shift=math.inf):
        self._recurrence = recurrence
        self.kind, self.shape, self.dtype = kind, recurrence.shape, recurrence.dtype
        degree = recurrence.degrees
        _check_magnitude(degree)
        self.tau = tau = regularization(degree, kind, tau)
        if bound is None:
            largest = bound_statistic(recurrence, kind, executor)
            if kind == "combinatorial":
                largest = min(largest, float(degree.max()) + shift)
            bound = bound_of(largest, kind, tau, self.dtype)
        self.bound = bound
        diagonal, divisor = node_terms(degree, kind, tau)
        recurrence.set_laplacian(diagonal, None if divisor is None else 1 / divisor)

    @classmethod
    def of_graph(cls, graph, kind, executor, tau=None, dtype=None):
        """Set up the Laplacian of any graph, by default in the type of its weights."""
        check_choice("laplacian", kind, KINDS)
        if tau is not None:
            tau = check_number("tau", tau, "regularization, in units of the degrees")
            if kind != "regularized":
                raise ValueError(f"tau={tau:g} is for laplacian='regularized', not {kind!r}")
        checked = check_undirected(graph)
        recurrence = recurrence_of(checked, dtype or checked.dtype, executor)
        return cls(recurrence, kind, executor, tau, shift=shift_of(checked))

    def analyze(self, signal, coefficients, bound, executor):
        """Apply all polynomials of a bank to one signal: (n_bands, *shape).

        `coefficients` are (n_bands, order + 1). The spectrum must lie in [0, bound].
        """
        signal = self._to_random_walk(signal)
        result = self._recurrence.analyze(signal, _ready(coefficients), bound, executor)
        return self._from_random_walk(result)

    def synthesize(self, bands, coefficients, bound, executor):
        """Apply the adjoint of `analyze`: ``sum_s p_s(L) bands[s]``."""
        bands = np.ascontiguousarray(self._to_random_walk(bands))
        result = self._recurrence.synthesize(bands, _ready(coefficients), bound, executor)
        return self._from_random_walk(result)

    def largest_eigenvalue(self, executor):
        """Return an estimate that does not exceed the largest eigenvalue, and its uncertainty."""

        def multiply(v):  # by the symmetric matrix that L is similar to, divided by the bound
            # L / bound = (T_0 + T_1) / 2, so one step of the recurrence gives the product.
            x, half = v.reshape(self.shape) / self._root, np.array([[0.5, 0.5]])
            return (self._recurrence.analyze(x, half, self.bound, executor)[0] * self._root).ravel()

        start = np.random.default_rng(0).standard_normal(math.prod(self.shape)).astype(self.dtype)
        value, residual = _lanczos(multiply, start)
        return value * self.bound, residual * self.bound

    @cached_property
    def _root(self):
        _, divisor = node_terms(self._recurrence.degrees, self.kind, self.tau)
        return 1 if divisor is None else np.sqrt(divisor)

    def _to_random_walk(self, x):
        return x / self._root if self.kind == "normalized" else x

    def _from_random_walk(self, x):
        return x * self._root if self.kind == "normalized" else x


def _ready(coefficients):
    """Return contiguous coefficients of order 1 at least, which the recurrences begin with."""
    if coefficients.shape[1] == 1:
        coefficients = np.pad(coefficients, ((0, 0), (0, 1)))
    return np.ascontiguousarray(coefficients)


def recurrence_of(graph, dtype, executor):
    """Return the recurrence on an undirected ImageGraph, or on a checked adjacency."""
    if isinstance(graph, ImageGraph):
        return GridRecurrence.of_graph(graph, dtype, executor)
    return CsrRecurrence(graph.astype(dtype, copy=False))


class WeightsOutOfRange(ValueError):
    """Edge weights are too small or too large for their type to compute with."""


def _check_magnitude(degree):
    """Raise WeightsOutOfRange if inverses or sums of the degrees would under- or overflow."""
    least, most = degree.min(), degree.max()
    if most == 0:
        return
    if least == 0:
        least = degree[degree > 0].min()
    range_of = np.finfo(degree.dtype)
    if not (range_of.tiny <= least and 4 * range_of.tiny < most < range_of.max / 16):
        raise WeightsOutOfRange(
            f"degrees from {least:g} to {most:g} are too small or too large for "
            f"{degree.dtype} arithmetic; scale the edge weights, W * factor, or where an image is "
            "given choose a larger sigma_f"
        )


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
def _lanczos(multiply, start):
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
