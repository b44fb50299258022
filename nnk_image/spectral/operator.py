"""Polynomials of a Laplacian applied to signals.

A `LaplacianOperator` is one Laplacian of a graph.  Filters, wavelets and denoising are polynomials
of it, ``p_s(L) = sum_k c[s, k] T_k((2 / lambda_max) L - I)``, with Chebyshev coefficients c in
numpy's convention, evaluated by the recurrence of `chebyshev.py`.
"""

import math
from functools import cached_property

import numpy as np

from nnk_image.base.checks import check_choice, check_number
from nnk_image.graph.laplacian import KINDS, node_terms, regularization
from nnk_image.graph.pixel_graph import ImageGraph, check_undirected
from nnk_image.graph.pruning import EDGE_SWEEPS
from nnk_image.spectral.chebyshev import CsrRecurrence, GridRecurrence
from nnk_image.spectral.spectrum import bound_of, bound_statistic, shift_of


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
    def of_graph(cls, graph, kind, dtype, executor, tau=None):
        """Set up the Laplacian of any graph; `dtype` None means the type of the weights."""
        check_choice("laplacian", kind, KINDS)
        if tau is not None:
            tau = check_number("tau", tau, "regularization, in units of the degrees")
            if kind != "regularized":
                raise ValueError(f"tau={tau:g} is for laplacian='regularized', not {kind!r}")
        checked = check_undirected(graph)
        recurrence = recurrence_of(checked, dtype or checked.dtype, executor)
        return cls(recurrence, kind, executor, tau, shift=shift_of(checked))

    def analyze(self, signal, coefficients, lambda_max, executor):
        """Apply all polynomials of a bank to one signal: (n_bands, *shape).

        `coefficients` are (n_bands, order + 1). The spectrum must lie in [0, lambda_max].
        """
        signal = self._to_random_walk(signal)
        result = self._recurrence.analyze(signal, _ready(coefficients), lambda_max, executor)
        return self._from_random_walk(result)

    def synthesize(self, bands, coefficients, lambda_max, executor):
        """Apply the adjoint of `analyze`: ``sum_s p_s(L) bands[s]``."""
        bands = np.ascontiguousarray(self._to_random_walk(bands))
        result = self._recurrence.synthesize(bands, _ready(coefficients), lambda_max, executor)
        return self._from_random_walk(result)

    def multiply(self, signal, executor):
        """Return ``(L / bound) x``, L the Laplacian or the symmetric matrix it is similar to."""
        x = signal if self._sqrt_divisor is None else signal / self._sqrt_divisor
        # L / bound = (T_0 + T_1) / 2, so one step of the recurrence gives the product.
        product = self._recurrence.analyze(x, np.array([[0.5, 0.5]]), self.bound, executor)[0]
        return product if self._sqrt_divisor is None else product * self._sqrt_divisor

    @cached_property
    def _sqrt_divisor(self):
        _, divisor = node_terms(self._recurrence.degrees, self.kind, self.tau)
        return None if divisor is None else np.sqrt(divisor)

    def _to_random_walk(self, x):
        return x / self._sqrt_divisor if self.kind == "normalized" else x

    def _from_random_walk(self, x):
        return x * self._sqrt_divisor if self.kind == "normalized" else x


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
