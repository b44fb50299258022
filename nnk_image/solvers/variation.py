"""Total variation on a graph: piecewise constant signals."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from nnk_image import _core
from nnk_image.base.image import Array
from nnk_image.base.parallel import RowExecutor
from nnk_image.solvers.problem import Graph, Problem, Solution, solve

_PER_CHUNK = 1 << 16  # nodes or edges, for any n_jobs: sums are always rounded in the same order

_STEPS_PER_CHECK = 10
_DIVISOR_OF_FIXED = 1e-9  # difference of two fixed nodes at which their flow is at its limit
_STEP_OF_UNKNOWN = 0.5  # most that an unknown node moves, in standard deviations of the signal


def total_variation(
    graph: Graph,
    signal: npt.ArrayLike,
    strength: float,
    *,
    known: npt.ArrayLike | None = None,
    start: Any = None,
    tol: float = 1e-4,
    max_iterations: int = 5000,
    n_jobs: int | None = None,
    return_info: bool = False,
) -> Any:
    """Denoise a signal on a graph such that it becomes piecewise constant (total variation).

    Steps between pieces stay sharp. Missing values are filled in as well.

    Parameters
    ----------
    graph, signal, known, n_jobs, return_info
        As for `smooth`.
    strength : float
        How strongly differences along edges are penalized, in units of the signal, at least 0. 0
        keeps known values and fills in the others; then `known` is needed.
    start : SolverInfo or array_like of the signal's shape, optional
        First guess of the values that are not known, finite; or a `SolverInfo`, as for `smooth`.
        Nodes without a path to a known node are smoothed from the guess, clipped to the range of
        the known values of their channel. Default: the mean of the known values.
    tol : float
        Stop when the duality gap (a bound on the error of the objective), relative to the
        objective, is at most this; default 1e-4.
    max_iterations : int
        Largest number of iterations; default 5000.

    Returns
    -------
    restored, info
        As for `smooth`, also in what it warns of. No value leaves the known range.

    Notes
    -----
    Minimizes ``1/2 sum over known i of (x_i - y_i)^2 + strength sum over edges w_ij |x_i - x_j|``,
    channel by channel. The dual is a flow along the edges, of at most ``strength w_ij``, found by
    accelerated projected gradients [1]_ that begin anew where the momentum leads upwards [2]_, with
    a step size for each edge [3]_. Nodes that are not known are drawn to their last values, which
    is the proximal point method.

    References
    ----------
    .. [1] A. Beck, M. Teboulle, "Fast gradient-based algorithms for constrained total variation
       image denoising and deblurring problems", IEEE Trans. Image Processing 18, 2009.
    .. [2] B. O'Donoghue, E. Candes, "Adaptive restart for accelerated gradient schemes",
       Found. Comput. Math. 15, 2015.
    .. [3] T. Pock, A. Chambolle, "Diagonal preconditioning for first order primal-dual algorithms
       in convex optimization", ICCV 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image.graph import grid_graph
    >>> from nnk_image.solvers import total_variation
    >>> steps = [0.0, 0.4, 0.2, 9.0, 9.3]
    >>> total_variation(grid_graph((1, 5)), steps, 0.6, tol=1e-9).round(3)
    array([0.4 , 0.4 , 0.4 , 8.85, 8.85])
    """
    given = graph, signal, strength, known, start, tol, max_iterations
    return solve(_Flow, *given, n_jobs, return_info)


class _Flow:
    """The dual problem: a flow along the edges."""

    def __init__(self, problem: Problem, executor: RowExecutor) -> None:
        self._problem, self._executor = problem, executor
        matrix = problem.adjacency()
        self._n, degrees = matrix.shape[0], np.diff(matrix.indptr)
        rows = np.repeat(np.arange(self._n, dtype=np.int32), degrees)
        upper = matrix.indices > rows  # each edge once, from the lower to the higher node
        tail, head = rows[upper], matrix.indices[upper]
        numbers = np.arange(len(tail), dtype=np.int32)
        start = np.concatenate([[0], np.cumsum(upper)])[matrix.indptr]
        of_node = np.empty_like(matrix.indices)
        of_node[upper] = 2 * numbers
        # The lower triangle by rows is the upper one by columns, because the matrix is symmetric.
        of_node[~upper] = 2 * csr_array((numbers, head, start), matrix.shape).tocsc().data + 1
        weight = problem.weight / (problem.scale if problem.strength else 1)
        self._limit = limit = weight * matrix.data[upper]
        self._largest = weight * matrix.max(axis=1).toarray().ravel().astype(float)  # of each node
        self._n_edges, self._degrees = len(tail), degrees
        self._rounding = float(np.finfo(matrix.dtype).eps) * float(limit.sum(dtype=float))
        self.shape = (self._n + self._n_edges + 1,)
        self._topology = tail, head, matrix.indptr, of_node

    def _set_steps(self, spread: float) -> None:
        """Set the steps of nodes and edges for a channel with this standard deviation.

        That of a known node is 1, of a fixed one 0; unknown ones move at most half a deviation.
        """
        problem, limit, (tail, head, *_) = self._problem, self._limit, self._topology
        least = _STEP_OF_UNKNOWN * spread / float(np.finfo(limit.dtype).max) ** 0.75
        of_unknown = _STEP_OF_UNKNOWN * spread / np.maximum(self._largest, least)
        node_step = np.where(problem.known, 1.0, of_unknown)
        node_step[problem.fixed] = 0
        flows = node_step * self._degrees
        both = flows[tail] + flows[head]  # 0 where both ends are fixed
        step = np.divide(1, both, out=limit / _DIVISOR_OF_FIXED, where=both > 0)
        self._node_step = node_step.astype(limit.dtype)
        self._edges = _core.EdgeList(*self._topology, limit, step)

    def solve(self, values: Array, start: Array) -> Solution:
        """Solve for one channel."""
        problem, known = self._problem, self._problem.known
        limits = float(values[known].min()), float(values[known].max())
        self._set_steps(float(values[known].std()) or 1.0)
        # Nodes are drawn to z; x is the signal of a flow: of u, or of v, which has momentum.
        u = np.zeros(self._n_edges + 1, values.dtype)  # there is one more than edges
        if start.shape == self.shape:  # it may be the flow of a larger strength
            np.clip(start[self._n : -1], -self._limit, self._limit, out=u[:-1])
        z, v, x = np.where(known, values, start[: self._n]), u.copy(), np.empty_like(values)
        error, count, t = self._error(z, u, x, values, limits), 0, 1.0
        while error > problem.tol and count < problem.max_iterations:
            self._nodes(z, self._node_step, v, limits, x)
            previous, t = t, (1 + math.sqrt(1 + 4 * t * t)) / 2
            advance = partial(_core.variation_edges, self._edges, x, (previous - 1) / t, u, v)
            if self._sum(advance, self._n_edges).sum() > 0:  # the momentum leads uphill
                t = 1.0
            count += 1
            if count % _STEPS_PER_CHECK == 0:
                error = self._error(z, u, x, values, limits)
                if error > problem.tol:
                    z[~known] = x[~known]
        return x, count, error, np.concatenate([z, u])

    def _error(
        self, z: Array, u: Array, x: Array, values: Array, limits: tuple[float, float]
    ) -> float:
        """Set x to the signal of the flow u; return the duality gap divided by the objective.

        If both are below the rounding error of the sums, it is 0.
        """
        problem, missing = self._problem, ~self._problem.known
        self._nodes(z, self._node_step, u, limits, x)
        parts = self._sum(partial(_core.variation_gap, self._edges, x, u), self._n_edges)
        gap, variation = parts.reshape(-1, 2).sum(axis=0)
        if missing.any():  # optimal values lie in the range of the known ones
            inflow = np.empty_like(x)
            self._nodes(np.zeros_like(x), np.ones_like(x), u, (-np.inf, np.inf), inflow)
            out, here = -inflow[missing], x[missing]
            gap += (out * here - np.minimum(out * limits[0], out * limits[1])).sum(dtype=float)
        misfit = (problem.data_weights * (x - values) ** 2).sum(dtype=float) / 2
        objective = misfit + variation
        if gap <= 0 or max(gap, objective) <= self._rounding:
            return 0.0
        return float(gap / max(objective, self._rounding))

    def _nodes(
        self, z: Array, node_step: Array, flow: Array, limits: tuple[float, float], x: Array
    ) -> None:
        """Set x to z minus `node_step` times what flows out of each node, clipped to the limits."""
        work = partial(_core.variation_nodes, self._edges, z, node_step, flow, *limits, x)
        self._sum(work, self._n)

    def _sum(self, work: Callable[[int, int], Any], count: int) -> Array:
        """Call ``work`` on chunks of nodes or edges; return its results, one for each chunk."""
        parts: list[Any] = []
        self._executor.run(work, count, rows_per_chunk=_PER_CHUNK, consume=parts.append)
        return np.array(parts, float)
