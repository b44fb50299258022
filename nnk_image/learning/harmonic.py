"""Values of all nodes of a graph from those of some: harmonic interpolation."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, eye_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from nnk_image.base.checks import plain_array, warn
from nnk_image.base.image import Array
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.laplacian import degrees
from nnk_image.graph.pixel_graph import CheckedGraph, adjacency_of, check_undirected
from nnk_image.solvers.problem import Graph, Problem, check_known, known_channels
from nnk_image.solvers.quadratic import QuadraticSystem

_LARGEST_ERROR = 1e-6  # of the last column in `harmonic`, which is 1 if exact
_LEAK = 1e-12  # relative increase of the diagonal where the error is larger
_DIRECT = 2000  # up to this number of nodes, elimination is always fast
_STEPS, _TOL = 200, 1e-13  # limits of conjugate gradients; if they fail, elimination is used


def interpolate(graph: Graph, values: npt.ArrayLike, known: npt.ArrayLike) -> Array:
    """Fill in missing values on a graph from the known ones, such as missing pixels of an image.

    Parameters
    ----------
    graph : ImageGraph, PyGSP or networkx graph, or (N, N) adjacency, sparse or dense
        Undirected graph of N nodes with non-negative weights; others raise ValueError.
    values : array_like of real numbers
        N values, in any shape, or with one more, last axis of channels, which are interpolated
        independently. Values of unknown nodes are ignored and may be NaN.
    known : (N,) or (H, W) array_like of bool
        True at nodes whose values are known, at least one; any shape of N elements.

    Returns
    -------
    float64 ndarray of the shape of `values`
        Values of all nodes; known ones are kept up to rounding, others lie within their range.

    Warns
    -----
    UserWarning
        If nodes are connected to no known node; they get the mean of the known values.

    See Also
    --------
    label_propagation : The same for classes.
    nnk_image.solvers.smooth : For noisy known values, which are smoothed as well.

    Notes
    -----
    Each unknown node gets the weighted mean of its neighbors, to rounding. Such values are called
    harmonic; they minimize the variation ``x' L x``, with L the graph Laplacian.

    References
    ----------
    X. Zhu, Z. Ghahramani, J. Lafferty, "Semi-supervised learning using Gaussian fields and harmonic
    functions", 2003, eq. 5.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image.graph import grid_graph
    >>> from nnk_image.learning import interpolate
    >>> line = grid_graph((1, 5))
    >>> interpolate(line, [0, np.nan, np.nan, np.nan, 8], [True, False, False, False, True])
    array([0., 2., 4., 6., 8.])
    """
    graph = check_undirected(graph)
    fixed = check_known(known, graph)
    given = known_channels("values", plain_array(values), fixed, graph)
    given = given.T.astype(np.float64, order="C")
    scale = np.abs(given).max() or 1.0
    given /= scale  # so that squares neither overflow nor underflow
    found, reached = harmonic(graph, fixed, given)
    if not reached.all():
        found[~reached] = given[fixed].mean(axis=0)
        warn(
            f"{int((~reached).sum())} of {len(reached)} nodes, the first "
            f"{int(np.argmin(reached))}, are not linked to any known one; they get the mean of the "
            "known values"
        )
    return (scale * found).reshape(np.shape(values))


def harmonic(graph: CheckedGraph, known: Array, given: Array) -> tuple[Array, Array]:
    """Return `given` at the known nodes and the mean over the neighbors elsewhere, (N, C).

    Also returns which nodes are linked to a known one, (N,); at the others, values are 0.
    """
    adjacency = adjacency_of(graph).astype(np.float64)
    component = connected_components(adjacency, directed=False)[1]
    linked = np.isin(component, component[known])
    given = np.column_stack([given, known])  # the last function is 1 everywhere, but for rounding
    if len(known) > _DIRECT:
        found = _iterated(graph, known, given)
        if found is not None and (np.abs(found[linked, -1] - 1) <= _LARGEST_ERROR).all():
            return np.where(linked[:, None], found[:, :-1], 0), linked
    found = _eliminated(adjacency, known, linked, given)
    linked = found[:, -1] > 0  # not where weights are so small that rounding leaves nothing
    found[linked] /= found[linked, -1:]
    return np.where(linked[:, None], found[:, :-1], 0), linked


def _eliminated(adjacency: csr_array, known: Array, reached: Array, given: Array) -> Array:
    """Return the values by elimination, which works even if links differ by orders of magnitude."""
    values = np.where(known[:, None], given, 0.0)
    free = np.flatnonzero(reached & ~known)
    if not len(free):
        return values
    root = np.sqrt(degrees(adjacency))
    rows = np.repeat(np.arange(len(root)), np.diff(adjacency.indptr))
    scaled = adjacency.copy()
    scaled.data = scaled.data / root[rows] / root[scaled.indices]
    right = scaled[free] @ (root[:, None] * values)
    part = scaled[free][:, free]
    found = _solve(part, right, 0.0) / root[free, None]
    lost = np.abs(found[:, -1] - 1) > _LARGEST_ERROR
    if lost.any():
        # A slightly larger diagonal makes the matrix regular; it scales all channels of a node
        # equally, which the division by the last column undoes.
        found[lost] = (_solve(part, right, _LEAK) / root[free, None])[lost]
    values[free] = found
    return values


def _solve(part: csr_array, right: Array, leak: float) -> Array:
    """Return ``((1 + leak) I - part)^-1 right``, or zeros if the matrix is singular."""
    matrix = ((1 + leak) * eye_array(part.shape[0]) - part).tocsc()
    try:
        factors = factorized(matrix)  # diagonally dominant: no pivoting
    except RuntimeError:
        return np.zeros(right.shape)
    found = factors.solve(right)
    return np.where(np.isfinite(found), found, 0.0)


def _iterated(graph: CheckedGraph, known: Array, given: Array) -> Array | None:
    """Return the values by conjugate gradients, or None if they do not converge in time."""
    columns = given.T.copy()
    problem = Problem(graph, columns, known, 0.0, _TOL, _STEPS)
    found = []
    with RowExecutor() as executor:
        system = QuadraticSystem(problem, executor)
        for column in columns[::-1]:  # the last, their sum for labels, fails first
            signal, _, error, _ = system.solve(column, column)
            if error > _TOL:
                return None
            found.append(signal)
    return np.column_stack(found[::-1])


def factorized(matrix: csr_array) -> Any:
    """Factorize a symmetric matrix that needs no pivoting, ordered by minimum degree.

    The result has a method ``solve``.  A singular matrix may raise RuntimeError.
    """
    return splu(
        matrix.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
