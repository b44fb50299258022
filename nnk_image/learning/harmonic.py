"""Values of all nodes of a graph, from those of some: harmonic functions and Tikhonov's."""

import warnings

import numpy as np
from scipy.sparse import block_array, csr_array, eye_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg

from nnk_image.base.checks import check_number
from nnk_image.graph.laplacian import degrees
from nnk_image.learning.elimination import factorized
from nnk_image.learning.inputs import check_graph

_ABSORBED = 1e-6  # scores whose sum is off 1 by more are computed again, with a leak
_LEAK = 1e-12  # part of the diagonal added to it, which keeps the equations regular
_DIRECT = 2000  # up to so many unknowns elimination is always fast
_STIFFEST = 1e300  # weight that pins a node to its known value
_STEPS = 200  # steps of conjugate gradients after which elimination is tried


def interpolate(graph, values, known, *, tau=0.0):
    """Values of all nodes of a graph, from those of some: the smoothest that fit.

    With ``tau=0`` known values stay, and every other node has the weighted mean of its neighbours:
    the harmonic function, which minimises ``x' L x``.  With ``tau`` above 0 known values are
    smoothed too: ``sum over known i of (x_i - y_i)^2 + tau x' L x`` is minimised (Tikhonov).

    Parameters
    ----------
    graph : ImageGraph or (N, N) scipy.sparse matrix
        Undirected graph with weights that are not negative.
    values : array_like of real numbers
        One value per node, in the shape of `known`, or several: (N, C), (H, W, C). Those of nodes
        that are not known may be anything, NaN too.
    known : (N,) or (H, W) array_like of bool
        The nodes whose values are known, in any shape of N elements.
    tau : float
        How much smoothness counts against closeness to the known values.

    Returns
    -------
    float64 ndarray of the shape of `values`
        Between the smallest and the largest known value, up to rounding.

    Raises
    ------
    TypeError, ValueError
        A graph that is not undirected; shapes that do not fit; known values that are not finite,
        or none.

    Warns
    -----
    UserWarning
        Some nodes are not linked to any known one: they get the mean of the known values.

    See Also
    --------
    label_propagation : classes instead of values.

    Notes
    -----
    Conjugate gradients where they take few steps, as with many known nodes all over the graph;
    else elimination, of which a large image may need much memory.

    References
    ----------
    X. Zhu, Z. Ghahramani, J. Lafferty, "Semi-supervised learning using Gaussian fields and harmonic
    functions", 2003, eq. 5; D. Shuman et al., "The emerging field of signal processing on graphs",
    IEEE Signal Processing Magazine 30, 2013 (Tikhonov regularisation).

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image.graph import grid_graph
    >>> from nnk_image.learning import interpolate
    >>> line = grid_graph((1, 5))
    >>> interpolate(line, [0, np.nan, np.nan, np.nan, 8], [True, False, False, False, True])
    array([0., 2., 4., 6., 8.])

    Half of the pixels of an image, on the graph of what resembles each other in it:

    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> seen = np.random.default_rng(0).random(image.shape) < 0.5
    >>> filled = interpolate(nnk_image.image_graph(image), image, seen)
    >>> bool(abs(filled - image)[~seen].mean() < 5)
    True
    """
    adjacency = check_graph(graph)
    tau = check_number("tau", tau)
    known, given = _check_values(values, known, adjacency.shape[0])
    scale = np.abs(given).max() or 1.0
    given /= scale  # whose squares neither overflow nor vanish
    if tau > 0:
        found, chance = _smooth(adjacency, known, given, tau)
    else:
        found, chance = harmonic(adjacency, known, given)
    reached = chance > 0
    found[reached] /= chance[reached, None]
    if not reached.all():
        found[~reached] = given[known].mean(axis=0)
        warnings.warn(
            f"{int((~reached).sum())} of {len(reached)} nodes, the first "
            f"{int(np.argmin(reached))}, are not linked to any known one; they get the mean of the "
            "known values",
            stacklevel=2,
        )
    return (scale * found).reshape(np.shape(values))


def _check_values(values, known, n):
    """(N,) bool of the known nodes, and their values as (N, C) float64, 0 elsewhere."""
    known, values = np.asarray(known), np.asarray(values)
    if known.dtype != bool:
        raise TypeError(f"known must be an array of bool, True where known, not of {known.dtype}")
    if known.size != n:
        raise ValueError(f"known has {known.size} elements, the graph {n} nodes: give one per node")
    if values.dtype.kind not in "buif":
        raise TypeError(f"values must be real numbers, not {values.dtype}")
    if values.shape[: known.ndim] != known.shape or values.ndim > known.ndim + 1 or not values.size:
        raise ValueError(
            f"values have shape {values.shape}, known {known.shape}: they must be the same, or "
            "values have one more axis, of the channels"
        )
    known = known.ravel()
    if not known.any():
        raise ValueError("no node is known; known must be True at one node at least")
    values = values.reshape(n, -1)
    given = np.where(known[:, None], values, 0).astype(np.float64)
    if not np.isfinite(given).all():
        node = int(np.argmin(np.isfinite(given).all(axis=1)))
        raise ValueError(
            f"the value of node {node}, {values[node]}, is not finite, but it is known"
        )
    return known, given


def _smooth(adjacency, known, given, tau):
    """Tikhonov's solution: harmonic on a graph with a new node for each known value.

    The new nodes hold the values; each is linked to the node that it is the value of, with weight
    1 / tau.
    """
    n, nodes = len(known), np.flatnonzero(known)
    weights = np.full(len(nodes), min(1 / tau, _STIFFEST))
    to_new = csr_array((weights, (nodes, np.arange(len(nodes)))), (n, len(nodes)))
    larger = csr_array(block_array([[adjacency, to_new], [to_new.T, None]]))
    new = np.arange(n + len(nodes)) >= n
    found, chance = harmonic(larger, new, np.concatenate([np.zeros_like(given), given[known]]))
    return found[:n], chance[:n]


def harmonic(adjacency, known, given):
    """Values at all nodes: `given` at the known ones, elsewhere the mean over the neighbours.

    Parameters
    ----------
    adjacency : (N, N) csr_array of float64
    known : (N,) bool ndarray
    given : (N, C) float64 ndarray

    Returns
    -------
    values : (N, C) float64 ndarray
        0 in parts of the graph without a known node.  Where links are so weak that rounding hides
        them, the values of a node are right up to a common factor.
    chance : (N,) float64 ndarray
        That factor: the chance, as computed, that a random walk meets a known node.  Almost
        everywhere 1; 0 where no known node is within reach.
    """
    values, chance = np.where(known[:, None], given, 0.0), known.astype(float)
    component = connected_components(adjacency, directed=False)[1]
    free = np.flatnonzero(~known & np.isin(component, component[known]))
    if not len(free):
        return values, chance
    root = np.sqrt(degrees(adjacency))
    rows = np.repeat(np.arange(len(root)), np.diff(adjacency.indptr))
    scaled = adjacency.copy()
    scaled.data = scaled.data / root[rows] / root[scaled.indices]
    part, source = scaled[free][:, free], scaled[free][:, np.flatnonzero(known)]
    # A last column of ones: its solution is the chance that a walk meets a known node, which is 1.
    given = np.column_stack([given[known], np.ones(known.sum())])
    right = source @ (root[known, None] * given)
    found = _solve(part, right, 0.0) / root[free, None]
    lost = np.abs(found[:, -1] - 1) > _ABSORBED
    if lost.any():
        # A leak keeps the equations regular; it scales all values of a node by one factor.
        found[lost] = (_solve(part, right, _LEAK) / root[free, None])[lost]
    values[free], chance[free] = found[:, :-1], np.maximum(found[:, -1], 0)
    return values, chance


def _solve(part, right, leak):
    """``((1 + leak) I - part)^-1 right``, or zeros if the matrix is singular."""
    matrix = ((1 + leak) * eye_array(part.shape[0]) - part).tocsc()
    if part.shape[0] > _DIRECT and (found := _solve_steps(matrix, right)) is not None:
        return found
    try:
        factors = factorized(matrix)  # the diagonal dominates each row: no pivoting
    except RuntimeError:
        return np.zeros(right.shape)
    return np.nan_to_num(factors.solve(right), nan=0.0, posinf=0.0, neginf=0.0)


def _solve_steps(matrix, right):
    """The solution by conjugate gradients, or None if they take too many steps.

    They take few on graphs of many dimensions, on which elimination is slow.
    """
    columns = []
    for column in right.T:
        found, failed = cg(matrix, column, rtol=1e-13, atol=0.0, maxiter=_STEPS)
        if failed:
            return None
        columns.append(found)
    return np.column_stack(columns)
