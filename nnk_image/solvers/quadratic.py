"""Quadratic smoothing on a graph, and harmonic values between known ones."""

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev

from nnk_image.base.image import Array
from nnk_image.base.parallel import RowExecutor
from nnk_image.solvers.conjugate_gradients import conjugate_gradients
from nnk_image.solvers.problem import Graph, Problem, Solution, solve
from nnk_image.spectral.operator import recurrence_of

_DEGREE = 8  # of matrix times preconditioner: as many orders as the recurrence has in a block


def smooth(
    graph: Graph,
    signal: npt.ArrayLike,
    strength: float,
    *,
    known: npt.ArrayLike | None = None,
    start: Any = None,
    tol: float = 1e-6,
    max_iterations: int = 1000,
    n_jobs: int | None = None,
    return_info: bool = False,
) -> Any:
    """Smooth a signal on a graph, so that strongly linked nodes get similar values.

    This is Tikhonov regularization, for a signal y known everywhere ``(I + strength L)^-1 y``, with
    L the graph Laplacian. Missing values are filled in as well.

    Parameters
    ----------
    graph : ImageGraph, (N, N) scipy.sparse matrix or ndarray, or graph of PyGSP or networkx
        Undirected graph with non-negative weights and no self loops.
    signal : array_like of real numbers
        One value per node, in any units: of the image's shape for an image graph, or (N,). One
        more, last axis holds channels, which are solved one by one. Masked pixels keep known
        values, which must be finite; others get those in `start`, or the mean with a warning.
    strength : float
        Weight of the differences along edges, relative to that of the known values, without unit
        and at least 0. 0 keeps known values and fills in the others with the weighted means of
        their neighbors; then `known` is needed.
    known : bool array_like with an element per node, optional
        True where the signal is known; other values are ignored and may be NaN. Default: all.
    start : SolverInfo or array_like of the signal's shape, optional
        First guess of the result, finite; or the `SolverInfo` of an earlier call with the same
        graph and number of channels, to continue from there. It changes the result only at nodes
        without a path to a known node. Default: the known values, and their mean elsewhere.
    tol : float
        Stop when the residual of the equations, each divided by its diagonal entry, relative to
        that of a zero signal, is at most this; default 1e-6.
    max_iterations : int
        Largest number of iterations; default 1000. Each multiplies by the graph 8 times.
    n_jobs : int, optional
        Largest number of threads; None (default) is 1, -1 all. Results do not depend on it.
    return_info : bool
        True also returns a `SolverInfo`; default False.

    Returns
    -------
    smoothed : ndarray of the signal's shape and units
        float32 for float16 and float32 signals, else float64.
    info : SolverInfo
        Only if `return_info`.

    Warns
    -----
    UserWarning
        If `tol` was not reached within `max_iterations`, or rounding errors keep the residual above
        0.001, or nodes are linked to no known one, or only by weights below `tol` of other links.

    See Also
    --------
    nnk_image.learning.interpolate : The same solution, exact to rounding.

    Notes
    -----
    Minimizes ``1/2 sum over known i of (x_i - y_i)^2 + strength/2 x' L x`` with the combinatorial
    Laplacian L. Conjugate gradients are preconditioned by the diagonal and a Chebyshev polynomial,
    whose orders are computed together in cache [1]_.

    References
    ----------
    .. [1] Y. Saad, "Iterative methods for sparse linear systems", 2nd edition, 2003, section 12.3.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> from nnk_image.solvers import smooth
    >>> image = nnk_image.standard_image("camera").astype(float)
    >>> noisy = image + np.random.default_rng(0).normal(0, 20, image.shape)
    >>> graph = nnk_image.image_graph(noisy, sigma_f=40)
    >>> smoothed, info = smooth(graph, noisy, 1.0, return_info=True)
    >>> bool(abs(smoothed - image).mean() < abs(noisy - image).mean() / 2)
    True
    >>> info.converged
    True
    """
    given = graph, signal, strength, known, start, tol, max_iterations
    return solve(QuadraticSystem, *given, n_jobs, return_info)


class QuadraticSystem:
    """The equations ``A x = b`` of quadratic smoothing, with ``A = M + strength L``.

    M is diagonal, 1 at known nodes. Divided by the diagonal D of A, they have the matrix
    ``I - diag(strength / D) W``. The row of a fixed node, or of one without edges, is the identity.
    """

    def __init__(self, problem: Problem, executor: RowExecutor) -> None:
        self._problem, self._executor, self.shape = problem, executor, problem.known.shape
        kind = problem.values.dtype
        self._recurrence = recurrence = recurrence_of(problem.graph, kind, executor)
        degrees = recurrence.degrees
        fixed = problem.fixed.reshape(degrees.shape)
        diagonal = problem.data_weights.reshape(degrees.shape) + problem.weight * degrees
        free = (diagonal > 0) & ~fixed
        scale = np.divide(problem.weight, diagonal, out=np.zeros_like(degrees), where=free)
        self._inner = np.where(free, diagonal, 0).astype(kind, copy=False)
        recurrence.set_laplacian(np.ones_like(scale), scale)
        share = float((scale * degrees).max(initial=0))
        self._preconditioner = _preconditioner(1 - min(share, 1.0))

    def solve(self, values: Array, start: Array) -> Solution:
        """Solve for one channel."""
        problem, shape = self._problem, self._inner.shape
        fixed, values, start = (a.reshape(shape) for a in (problem.fixed, values, start))
        drawn = problem.data_weights.reshape(shape) * values
        x, count, error = conjugate_gradients(
            lambda x: self._residual(x, drawn),
            lambda r: self._recurrence.analyze(r, self._preconditioner, 2.0, self._executor),
            start=np.where(fixed, values, start),
            reference=np.where(fixed, values, 0),
            weights=self._inner,
            tol=problem.tol,
            max_iterations=problem.max_iterations,
        )
        return x.ravel(), count, error, x.ravel()

    def _residual(self, x: Array, drawn: Array) -> Array:
        """Return ``(drawn - A x) / D`` at the unknowns, and 0 at fixed values."""
        product = self._recurrence.analyze(x, np.array([[1.0, 1.0]]), 2.0, self._executor)[0]
        free = self._inner > 0
        return np.divide(drawn, self._inner, out=np.zeros_like(x), where=free) - product * free


def _preconditioner(least: float) -> Array:
    """Return Chebyshev series on [0, 2] of q(x), which is about 1 / x on [least, 2], and of x q(x).

    ``x q(x) = 1 - T(x) / T(0)``, positive on (0, 2], with T the interval's Chebyshev polynomial.
    """
    low = max(least, 2 / _DEGREE**2)
    peak = np.zeros(_DEGREE + 1)
    peak[-1] = 1
    at_zero = chebyshev.chebval((2 + low) / (2 - low), peak)

    def product(t: Any) -> Any:
        x = 1 + t
        return 1 - chebyshev.chebval((2 + low - 2 * x) / (2 - low), peak) / at_zero

    quotient = chebyshev.chebinterpolate(lambda t: product(t) / (1 + t), _DEGREE - 1)
    return np.stack([np.append(quotient, 0), chebyshev.chebinterpolate(product, _DEGREE)])
