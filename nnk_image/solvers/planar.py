"""Piecewise planar signals: gradient graph Laplacian regularization."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image import _core
from nnk_image.base.checks import check_number, plain_array, ready_for_c
from nnk_image.base.image import Array
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.pixel_graph import ImageGraph
from nnk_image.solvers.conjugate_gradients import conjugate_gradients
from nnk_image.solvers.problem import Graph, Problem, Solution, solve

_EDGES_PER_PIXEL = 5  # edges that take about as long as a pixel, the unit of chunk sizes


def gglr(
    graph: Graph,
    signal: npt.ArrayLike,
    strength: float,
    *,
    stiffness: float = 0.1,
    known: npt.ArrayLike | None = None,
    coordinates: npt.ArrayLike | None = None,
    start: Any = None,
    tol: float = 1e-6,
    max_iterations: int = 2000,
    n_jobs: int | None = None,
    return_info: bool = False,
) -> Any:
    """Denoise a signal on a graph such that it becomes piecewise planar.

    Unlike by `smooth` and `total_variation`, slopes are not penalized, only their changes: planes
    stay unchanged. Missing values are filled in as well. The name is that of a method by Chen et
    al., the gradient graph Laplacian regularizer.

    Parameters
    ----------
    graph, signal, known, start, n_jobs, return_info
        As for `smooth`.
    strength : float
        How strongly the signal is smoothed toward planes, without unit and at least 0. 0 keeps
        known values and fills in the others; then `known` is needed.
    stiffness : float
        Penalty on changes of slope between neighbors, in squared units of coordinates; default 0.1.
    coordinates : (N, K) array_like, optional
        Position of each node, in K <= 8 dimensions and any units. Default: `ImageGraph.positions`,
        in pixels or the units of `spacing`; needed for graphs that are not of an image.
    tol : float
        As for `smooth`, also the default of 1e-6. It limits the residual, not the error: lower it
        for gaps of more than 100 nodes, where errors can be far larger, or if the mean of the
        signal is far larger than its variation.
    max_iterations : int
        Largest number of iterations; default 2000.

    Returns
    -------
    restored, info
        As for `smooth`, also in what it warns of. Values may leave the known range.

    Notes
    -----
    With y the signal and ``c_ij = p_j - p_i`` the displacements between nodes, the values x and the
    slopes s of all nodes minimize
    ``1/2 sum over known i of (x_i - y_i)^2 + strength/2 sum over edges w_ij (d_ij^2 + stiffness
    |s_i - s_j|^2)``, where ``d_ij = x_j - x_i - c_ij (s_i + s_j) / 2``: planes cost nothing. In the
    gradient graph Laplacian regularizer [1]_ slopes are a fixed function of the values, and only
    ``|s_i - s_j|^2`` counts; here they are unknowns tied to the values by d, which keeps the
    equations sparse and far better conditioned. They are solved by conjugate gradients.

    References
    ----------
    .. [1] F. Chen, G. Cheung, X. Zhang, "Manifold graph signal restoration using gradient graph
       Laplacian regularizer", IEEE Trans. Signal Processing 72, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image.graph import grid_graph
    >>> from nnk_image.solvers import gglr
    >>> places = np.arange(5.0)[:, None]
    >>> known = [True, False, True, False, False]
    >>> line = grid_graph((1, 5))
    >>> gglr(line, [1, 0, 5, 0, 0], 0, known=known, coordinates=places, tol=1e-9).round(3)
    array([1., 3., 5., 7., 9.])
    """
    stiffness = check_number("stiffness", stiffness, "squared units of the coordinates")
    given = graph, signal, strength, known, start, tol, max_iterations
    system_of = partial(_PlanarSystem, coordinates, stiffness)
    return solve(system_of, *given, n_jobs, return_info)


def _places_of(coordinates: npt.ArrayLike | None, problem: Problem) -> Array:
    """Return the coordinates of the nodes, (N, K), in the type of the values."""
    dtype = problem.values.dtype
    if coordinates is None:
        if not isinstance(problem.graph, ImageGraph):
            raise ValueError(
                "the positions of the nodes of this graph are not known: give coordinates, (N, K)"
            )
        return ready_for_c(problem.graph.positions(), dtype)
    places = plain_array(coordinates).astype(float)
    n = len(problem.known)
    if places.ndim != 2 or len(places) != n or not 1 <= places.shape[1] <= _core.MOST_AXES:
        raise ValueError(
            f"coordinates must be ({n}, K) with K from 1 to {_core.MOST_AXES}, not {places.shape}"
        )
    limit = float(np.finfo(dtype).max) ** 0.25  # squares are multiplied by weights and added up
    if not (abs(places) <= limit).all():
        raise ValueError(f"coordinates must be finite, and at most {limit:.1g} for {dtype} signals")
    return ready_for_c(places - places[0], dtype)  # float32 would round coordinates far from 0


class _PlanarSystem:
    """The equations of values and slopes, (N, 1 + K)."""

    def __init__(
        self,
        coordinates: npt.ArrayLike | None,
        stiffness: float,
        problem: Problem,
        executor: RowExecutor,
    ) -> None:
        self._problem, self._executor, self._stiffness = problem, executor, stiffness
        self._matrix = problem.adjacency()
        self._places = places = _places_of(coordinates, problem)
        self._node_work = max(1, self._matrix.nnz // (_EDGES_PER_PIXEL * len(places)))
        degrees = self._matrix @ np.ones(len(places), places.dtype)
        rows = np.repeat(np.arange(len(places)), np.diff(self._matrix.indptr))
        diagonal = [degrees]
        for axis in places.T:
            squares = self._matrix.data * (axis[self._matrix.indices] - axis[rows]) ** 2
            sums = np.bincount(rows, squares, len(places))
            diagonal.append((sums / 4 + stiffness * degrees).astype(places.dtype))
        self.shape = len(places), len(diagonal)
        self._data = np.zeros(self.shape, places.dtype)
        self._data[:, 0] = problem.data_weights
        scale = problem.weight * np.stack(diagonal, axis=1) + self._data
        free = scale > 0
        free[problem.fixed, 0] = False
        # Divided by these, residuals are in units of the signal and its slopes for any weights.
        self._inner = np.sqrt(scale) * np.sqrt(scale[:, :1])
        self._inverse_inner = np.divide(1, self._inner, out=np.zeros_like(scale), where=free)
        self._preconditioner = np.divide(self._inner, scale, out=np.zeros_like(scale), where=free)

    def solve(self, values: Array, start: Array) -> Solution:
        """Solve for one channel."""
        problem, fixed = self._problem, self._problem.fixed
        drawn, first, reference = (np.zeros_like(self._data) for _ in range(3))
        drawn[:, 0] = problem.data_weights * values
        if start.shape == first.shape:
            first[:] = start
        else:
            first[:, 0] = start
        first[fixed, 0] = reference[fixed, 0] = values[fixed]
        x, count, error = conjugate_gradients(
            lambda x: self._inverse_inner * drawn - self._product(x),
            self._step,
            start=first,
            reference=reference,
            weights=self._inner,
            tol=problem.tol,
            max_iterations=problem.max_iterations,
        )
        return x[:, 0].copy(), count, error, x

    def _step(self, r: Array) -> tuple[Array, Array]:
        z = self._preconditioner * r
        return z, self._product(z)

    def _product(self, x: Array) -> Array:
        """Return A x divided by `_inner` at the unknowns, and 0 at fixed values."""
        out = np.zeros_like(x)
        if self._matrix.nnz:
            rows = self._matrix.indptr, self._matrix.indices, self._matrix.data
            multiply = partial(_core.planes, *rows, self._places, self._stiffness, x, out)
            self._executor.run(multiply, len(x), self._node_work)
        return self._inverse_inner * (self._problem.weight * out + self._data * x)
