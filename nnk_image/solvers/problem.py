"""What all solvers share: checking the arguments, solving for each channel, and the report."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from nnk_image.base.checks import check_count, check_number, plain_array, warn, working_dtype
from nnk_image.base.image import Array
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.laplacian import degrees
from nnk_image.graph.pixel_graph import (
    CheckedGraph,
    ImageGraph,
    adjacency_of,
    check_undirected,
    n_nodes_of,
)

Graph: TypeAlias = Any  # ImageGraph, or what `check_adjacency` takes

Solution: TypeAlias = tuple[Array, int, float, Array]
"""Of a channel: its signal, the number of iterations, the error, and the state of the solver."""

_ROUGH = 1e-3  # where rounding stops the iterations before `tol`, larger errors give a warning


@dataclass(frozen=True)
class SolverInfo:
    """Convergence of a solver; pass it as `start` to the same solver to continue from there.

    Attributes
    ----------
    iterations : int
        Number of iterations of this call, the largest of all channels.
    error : float
        Value that is compared with `tol`, the largest of all channels: the relative residual
        (`smooth`, `gglr`) or the relative duality gap (`total_variation`).
    converged : bool
        Whether `error` is at most `tol`.
    state : list of ndarray
        Internal state of the solver, one array for each channel.
    """

    iterations: int
    error: float
    converged: bool
    state: list[Array] = field(repr=False)


@dataclass(frozen=True)
class Problem:
    """What is solved: the graph, the known values of the channels, and when to stop.

    `values` are (C, N), of the float32 or float64 in which all is computed, and 0 where unknown.
    They are divided by `scale`, a power of 2, so that squares neither overflow nor underflow.
    """

    graph: CheckedGraph
    values: Array
    known: Array
    strength: float
    tol: float
    max_iterations: int
    scale: float = 1.0

    @property
    def fixed(self) -> Array:
        """Nodes that keep their values: the known ones, if `strength` is 0."""
        return self.known if self.strength == 0 else np.zeros_like(self.known)

    @property
    def weight(self) -> float:
        """Weight of the smoothness term; for strength 0, any positive one gives the same result."""
        return self.strength or 1.0

    @property
    def data_weights(self) -> Array:
        """(N,) ndarray: 1 at nodes that are drawn to their values, else 0."""
        return (self.known & ~self.fixed).astype(self.values.dtype)

    def adjacency(self) -> csr_array:
        """Return the adjacency with weights of the type of `values` and indices of 32 bits."""
        matrix = adjacency_of(self.graph)
        if matrix.nnz > np.iinfo(np.int32).max:
            raise ValueError(f"the graph has {matrix.nnz} entries; at most 2^31 - 1 are possible")
        indices, indptr = (a.astype(np.int32, copy=False) for a in (matrix.indices, matrix.indptr))
        data = np.ascontiguousarray(matrix.data, self.values.dtype)
        return csr_array((data, indices, indptr), matrix.shape)


def solve(
    system_of: Callable[[Problem, RowExecutor], Any],
    graph: Graph,
    signal: npt.ArrayLike,
    strength: float,
    known: npt.ArrayLike | None,
    start: Any,
    tol: float,
    max_iterations: int,
    n_jobs: int | None,
    return_info: bool,
) -> Any:
    """Check the arguments of a solver, solve for each channel, and return what the solver returns.

    The system has a method ``solve(values, start)``, which returns a `Solution`, and, as `shape`,
    that of its state.
    """
    strength = check_number("strength", strength, least=0.0)
    tol = check_number("tol", tol, "the relative error at which iterations stop")
    max_iterations = check_count("max_iterations", max_iterations)
    graph = check_undirected(graph)
    signal = plain_array(signal)
    if known is None and strength == 0:
        raise ValueError(
            "strength=0 keeps known values, and all are known: give a positive strength, or known"
        )
    mask = np.ones(n_nodes_of(graph), bool) if known is None else check_known(known, graph)
    _warn_of_unreached(graph, mask, tol)
    dtype = working_dtype(signal.dtype)
    # In float32, weights of weak links in a float64 graph would underflow.
    arithmetic = np.promote_types(dtype, graph.dtype)
    values = known_channels("signal", signal, mask, graph).astype(arithmetic, order="C")
    scale = 2.0 ** (int(np.frexp(abs(values).max())[1]) - 1)
    values /= scale
    problem = Problem(graph, values, mask, strength, tol, max_iterations, scale)
    begin = _check_start(start, problem)
    with RowExecutor(n_jobs) as executor, np.errstate(over="ignore", invalid="ignore"):
        system = system_of(problem, executor)
        if isinstance(start, SolverInfo) and any(state.shape != system.shape for state in begin):
            raise ValueError(
                "start is the SolverInfo of another solver, or of another graph; for the same "
                "graph, give the signal that the other solver returned"
            )
        solved = [system.solve(*given) for given in zip(values, begin, strict=True)]
    signals, counts, errors, states = zip(*solved, strict=True)
    restored = scale * np.stack(signals, axis=-1).reshape(signal.shape)
    restored = restored.astype(dtype, copy=False)
    error = max(errors)
    info = SolverInfo(max(counts), error, error <= tol, [scale * state for state in states])
    if not (np.isfinite(error) and np.isfinite(restored).all()):
        raise ValueError(
            "strength, start, the edge weights or the coordinates are too large to compute "
            f"with in {arithmetic} arithmetic; give smaller numbers"
        )
    _warn_of_error(info, problem)
    return (restored, info) if return_info else restored


def _check_start(start: Any, problem: Problem) -> list[Array]:
    """Return what a solver begins with for each channel: a signal (N,), or its earlier state."""
    values, known = problem.values, problem.known
    if start is None:
        mean = values.sum(axis=1, keepdims=True) / known.sum(dtype=values.dtype)
        return list(np.where(known, values, mean))
    if isinstance(start, SolverInfo):
        states = start.state
        if not all(np.isfinite(state).all() for state in states):
            raise ValueError("start is a SolverInfo whose state is not finite; give another start")
    else:
        states = list(node_values("start", plain_array(start), problem.graph).T)
        if not np.isfinite(states).all():
            node = int(np.argmin(np.isfinite(states).all(axis=0)))
            raise ValueError(f"start must be finite at all nodes; it is not at node {node}")
    if len(states) != len(values):
        same = f"must have as many channels as the signal, {len(values)}"
        raise ValueError(f"start {same}, not {len(states)}")
    return [(state / problem.scale).astype(values.dtype, order="C") for state in states]


def _warn_of_error(info: SolverInfo, problem: Problem) -> None:
    """Warn if the iterations ended before `tol`, unless rounding stopped them close to it."""
    if info.converged:
        return
    if info.iterations >= problem.max_iterations:
        warn(
            f"{info.iterations} iterations reached an error of {info.error:.1e}, not "
            f"tol={problem.tol:.1e}; raise max_iterations or tol",
        )
    elif info.error > _ROUGH:
        finer = "" if problem.values.dtype == np.float64 else ", or a signal of float64"
        warn(
            f"rounding stopped the iterations at an error of {info.error:.1e}, not "
            f"tol={problem.tol:.1e}; give a smaller strength or stronger links of unknown "
            f"nodes{finer}",
        )


def _warn_of_unreached(graph: CheckedGraph, known: Array, tol: float) -> None:
    """Warn of nodes that reach no known one by weights above `tol` times an end's degree."""
    if known.all():
        return
    edges = adjacency_of(graph).tocoo()
    degree = degrees(edges)
    strong = edges.data > tol * np.minimum(degree[edges.row], degree[edges.col])
    ends = edges.row[strong], edges.col[strong]
    paths = csr_array((edges.data[strong], ends), edges.shape)
    _, part = connected_components(paths, directed=False)
    reached = np.isin(part, part[known])
    if not reached.all():
        warn(
            f"{int((~reached).sum())} of {len(known)} nodes, the first {int(np.argmin(reached))}, "
            f"are not linked to any known one, or only by weights below tol={tol:g} of those of "
            "their other links: without links they keep start, by default the mean of the known "
            "values; for weak links use learning.interpolate",
        )


def known_channels(name: str, signal: Array, known: Array, graph: CheckedGraph) -> Array:
    """Return a signal as (C, N), which is 0 where it is not known, and must be finite elsewhere."""
    values = np.where(known, node_values(name, signal, graph).T, 0)
    if not np.isfinite(values).all():
        node = int(np.argmin(np.isfinite(values).all(axis=0)))
        raise ValueError(
            f"{name} must be finite where known; it is not at node {node}: let known be False "
            "where values are missing or masked"
        )
    return values


def check_known(known: npt.ArrayLike, graph: CheckedGraph) -> Array:
    """Return the nodes whose values are known, (N,) bool, at least one of them True."""
    mask = np.asarray(np.ma.filled(known, False))
    if mask.dtype != bool:
        raise TypeError(f"known must be a boolean array, True for known values, not {mask.dtype}")
    mask = node_values("known", mask, graph, channels=False).ravel()
    if not mask.any():
        raise ValueError("known is False everywhere; it must be True for at least one node")
    return mask


def node_values(name: str, values: Array, graph: CheckedGraph, *, channels: bool = True) -> Array:
    """Return values of the N nodes of a graph as (N, C).

    They have any shape of N elements, but if it has as many axes as the image of an `ImageGraph`,
    the image's. Channels may be one more, last axis.
    """
    if values.dtype.kind not in "buif":
        raise TypeError(f"{name} must be of real numbers, not {values.dtype}")
    n, image = n_nodes_of(graph), graph.shape if isinstance(graph, ImageGraph) else None
    for leading in (values.shape, values.shape[:-1])[: 1 + channels]:
        of_image = image is None or leading == image or len(leading) < len(image)
        if of_image and leading and values.size and math.prod(leading) == n:
            return values.reshape(n, -1)
    nodes = f"has {n} nodes: give one value per node"
    if image is not None and values.ndim >= len(image):
        nodes = f"is that of an image of {image}: bring the axes into this order"
    last = ", or one more axis, of channels" if channels else ""
    raise ValueError(f"{name} has shape {values.shape}, but the graph {nodes}{last}")
