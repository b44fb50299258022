"""How smooth a signal is on a graph, how far apart data sets and neighbourhoods are."""

import numpy as np

from nnk_image.base.checks import check_number
from nnk_image.learning.inputs import check_graph, check_points, check_weights
from nnk_image.neighbors.neighborhoods import nnk_neighbors
from nnk_image.neighbors.options import TOL


def graph_signal_variation(graph, signal):
    """Variation ``y' L y`` of a signal on a graph: small if neighbours have alike values.

    Parameters
    ----------
    graph : ImageGraph or (N, N) scipy.sparse matrix
        Undirected graph with weights that are not negative.
    signal : (N,) or (N, m) array_like
        A number, or a vector, at each node.

    Returns
    -------
    float
        ``sum over edges of W_ij |y_i - y_j|^2``, each edge once.

    Raises
    ------
    TypeError, ValueError
        A graph that is not undirected; a signal of another length, or not finite.

    References
    ----------
    S. Shekkizhar, "Neighborhood and graph constructions using non-negative kernel
    regression", PhD thesis, 2023, eq. 4.1 (whose sum over all i and j counts edges twice).

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_graph
    >>> from nnk_image.learning import graph_signal_variation
    >>> graph = nnk_graph(np.arange(6.0).reshape(-1, 1), n_neighbors=3)
    >>> graph_signal_variation(graph, np.ones(6))
    0.0
    """
    adjacency = check_graph(graph)
    n = adjacency.shape[0]
    signal = np.asarray(signal)
    if signal.dtype.kind not in "buif":
        raise TypeError(f"the signal must hold real numbers, not {signal.dtype}")
    if signal.ndim not in (1, 2) or signal.shape[0] != n:
        raise ValueError(f"the signal must have shape ({n},) or ({n}, m), not {signal.shape}")
    signal = signal.astype(np.float64)
    if not np.isfinite(signal).all():
        raise ValueError("the signal holds numbers that are not finite")
    row = np.repeat(np.arange(n), np.diff(adjacency.indptr))
    once = row < adjacency.indices
    row, column, weight = row[once], adjacency.indices[once], adjacency.data[once]
    channels = signal.reshape(n, -1).T
    return float(sum(weight @ (y[row] - y[column]) ** 2 for y in channels))


def nnk_distance(
    A, B, n_neighbors=30, *, kernel="gaussian", sigma="kth", l1=0.0, tol=TOL, n_jobs=None
):
    """NNK distance of a data set from another: how badly B's points regress those of A.

    ``NNK(A|B)``, the mean over the points of A of the squared distance, in the kernel's
    space, from the best non-negative combination of their nearest points in B.

    Parameters
    ----------
    A, B : (n, d) and (N, d) array_like
    n_neighbors : int
        Candidates in B of each point of A.
    kernel, sigma, l1, tol, n_jobs
        As for `nnk_neighbors`, with B as the points: the rules for sigma measure B. For
        distances to be compared give a number.

    Returns
    -------
    float
        0 if A is a part of B; at most the mean of ``K_xx``, 1 for a Gaussian.

    Raises
    ------
    TypeError, ValueError
        Bad points or options.

    Notes
    -----
    It is not symmetric, and although Proposition 3.4 says so, the triangle inequality
    does not hold. The definition as printed lacks the factor 2 of its middle term.

    References
    ----------
    S. Shekkizhar, "Neighborhood and graph constructions using non-negative kernel
    regression", PhD thesis, 2023, Definition 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image.learning import nnk_distance
    >>> B = np.arange(10.0).reshape(-1, 1)
    >>> nnk_distance(B[2:5], B, n_neighbors=4, sigma=1.0)
    0.0
    >>> round(nnk_distance([[20.0]], B, n_neighbors=4, sigma=1.0), 3)
    1.0
    """
    check_number("l1", l1)
    near = nnk_neighbors(
        B, A, n_neighbors, kernel=kernel, sigma=sigma, l1=l1, tol=tol, n_jobs=n_jobs
    )
    return float(2 * near.error.mean())


def nalac(X, Y, neighbors_X, neighbors_Y):
    """Neighbourhood alignment accuracy of an embedding, by the order of the neighbours.

    Parameters
    ----------
    X, Y : (N, d) and (N, e) array_like
        Points and their embedding.
    neighbors_X, neighbors_Y : Neighborhoods, or (N, N) scipy.sparse matrix
        Neighbours of the points, and of the embedded points.

    Returns
    -------
    float
        In 0 to 1: mean share of places, nearest first, at which a point has the same
        neighbour in both. Without neighbours in both a point counts as 1, in one as 0.

    Raises
    ------
    TypeError, ValueError
        Points and neighbourhoods that do not fit.

    References
    ----------
    D. Chen, J. Lv, Z. Yi, "A local non-negative pursuit method for intrinsic manifold
    structure preservation", AAAI 2014, eq. 10.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> from nnk_image.learning import nalac
    >>> X = np.random.default_rng(0).random((50, 2))
    >>> near = nnk_neighbors(X, n_neighbors=5)
    >>> nalac(X, X, near, near)
    1.0
    """
    first, second = _same_points(neighbors_X, neighbors_Y)
    lists = [
        _nearest_first(check_points(name, points, matrix), matrix)
        for name, points, matrix in (("X", X, first), ("Y", Y, second))
    ]
    shares = [
        _share(int((a[: len(b)] == b[: len(a)]).sum()), min(len(a), len(b)), len(a) + len(b))
        for a, b in zip(*lists, strict=True)
    ]
    return float(np.mean(shares))


def soft_nalac(neighbors_X, neighbors_Y):
    """Neighbourhood alignment accuracy of an embedding, whatever the neighbours' order.

    Parameters
    ----------
    neighbors_X, neighbors_Y : Neighborhoods, or (N, N) scipy.sparse matrix
        As for `nalac`.

    Returns
    -------
    float
        In 0 to 1: mean of ``|common neighbours| / |neighbours of the larger set|``; 1 for a
        point without neighbours in both.

    Raises
    ------
    TypeError, ValueError
        Neighbourhoods that do not fit.

    References
    ----------
    D. Chen, J. Lv, Z. Yi, "A local non-negative pursuit method for intrinsic manifold
    structure preservation", AAAI 2014, eq. 11.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> from nnk_image.learning import soft_nalac
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> soft_nalac(nnk_neighbors(X, n_neighbors=5), nnk_neighbors(X, n_neighbors=6))
    1.0
    """
    first, second = _same_points(neighbors_X, neighbors_Y)
    first.data[:] = second.data[:] = 1
    common = np.diff((first * second).tocsr().indptr)
    counts = np.diff(first.indptr), np.diff(second.indptr)
    shares = [_share(*row) for row in zip(common, np.maximum(*counts), sum(counts), strict=True)]
    return float(np.mean(shares))


def _share(common, of, total):
    """``common / of``; where `of` is 0, whether there are no neighbours at all."""
    if of == 0:
        return float(total == 0)
    return common / of


def _same_points(*neighborhoods):
    """Two neighbourhoods as matrices, if they are of the same number of points."""
    first, second = (check_weights(matrix, square=True) for matrix in neighborhoods)
    if first.shape != second.shape:
        raise ValueError(
            f"neighbourhoods of {first.shape[0]} points and of {second.shape[0]} do not fit; both "
            "are of the same points"
        )
    return first, second


def _nearest_first(points, matrix):
    """Neighbours of each row by rising distance; equally near ones by rising index."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    distance = np.linalg.norm(points[row] - points[matrix.indices], axis=1)
    order = np.lexsort([matrix.indices, distance, row])
    return np.split(matrix.indices[order], matrix.indptr[1:-1])
