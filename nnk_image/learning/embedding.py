"""Low-dimensional coordinates and clusters of data from the spectrum of its graph."""

import warnings

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from nnk_image.base.checks import check_choice, check_count
from nnk_image.base.imports import uninterrupted
from nnk_image.graph.laplacian import degrees, node_terms
from nnk_image.learning.elimination import factorized
from nnk_image.learning.inputs import check_graph, check_weights
from nnk_image.neighbors.result import Neighborhoods

LAPLACIANS = ("random_walk", "normalized", "combinatorial")

_DENSE = 600  # up to so many nodes a dense solver is the fastest
_SHIFT = 1e-9  # part of the largest diagonal entry added to the diagonal, to make it invertible


def laplacian_eigenmaps(
    graph, n_components=2, *, laplacian="random_walk", return_eigenvalues=False
):
    """Coordinates of the nodes of a graph: its smoothest functions.

    The eigenvectors of the smallest eigenvalues of the Laplacian, without the constant.

    Parameters
    ----------
    graph : ImageGraph or (N, N) scipy.sparse matrix
        Undirected graph with weights that are not negative.
    n_components : int
        Number of coordinates, below N.
    laplacian : {'random_walk', 'normalized', 'combinatorial'}
        'random_walk': ``L y = lambda D y``, ``y' D y = 1``, as in the paper; 'normalized':
        eigenvectors of ``D^-1/2 L D^-1/2``; 'combinatorial': of L.
    return_eigenvalues : bool
        Also return the eigenvalues.

    Returns
    -------
    coordinates : (N, n_components) float64 ndarray
        Columns by rising eigenvalue; the entry of largest size in each is positive.
    eigenvalues : (n_components,) float64 ndarray
        If `return_eigenvalues`.

    Raises
    ------
    TypeError, ValueError
        A graph that is not undirected, or has too few nodes.

    Warns
    -----
    UserWarning
        The graph is not connected: its first coordinates only tell its parts from each
        other, the largest first; each part may be embedded by itself.

    References
    ----------
    M. Belkin, P. Niyogi, "Laplacian eigenmaps for dimensionality reduction and data
    representation", Neural Computation 15, 2003.

    Examples
    --------
    The smoothest functions on a ring are a sine and a cosine; together they are the ring:

    >>> import numpy as np
    >>> from nnk_image import nnk_graph
    >>> from nnk_image.learning import laplacian_eigenmaps
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> graph = nnk_graph(np.column_stack([np.cos(angle), np.sin(angle)]), n_neighbors=8)
    >>> radius = np.linalg.norm(laplacian_eigenmaps(graph), axis=1)
    >>> bool(np.allclose(radius, radius[0]))
    True
    """
    check_choice("laplacian", laplacian, LAPLACIANS)
    adjacency = check_graph(graph)
    _check_components(n_components, adjacency.shape[0])
    parts = connected_components(adjacency, directed=False)[0]
    if parts > 1:
        _warn_disconnected(parts)
    values, vectors = _eigenmaps(adjacency, n_components, laplacian)
    return (vectors, values) if return_eigenvalues else vectors


def lle_embedding(weights, n_components=2, *, return_eigenvalues=False):
    """Coordinates in which every point is regressed by its neighbours as it was before.

    The eigenvectors of the smallest eigenvalues of ``(I - W)' (I - W)``, without the
    constant, where the rows of W are scaled to add up to 1.

    Parameters
    ----------
    weights : Neighborhoods, or (N, N) scipy.sparse matrix
        Weights of the neighbours of each point, such as those of ``method='lnp'`` or
        ``kernel='lle'``.
    n_components : int
        Number of coordinates, below N.
    return_eigenvalues : bool
        Also return the eigenvalues.

    Returns
    -------
    coordinates : (N, n_components) float64 ndarray
        Orthonormal columns by rising eigenvalue; the entry of largest size is positive.
    eigenvalues : (n_components,) float64 ndarray
        If `return_eigenvalues`.

    Raises
    ------
    TypeError, ValueError
        A point without neighbours, or too few points.

    Warns
    -----
    UserWarning
        The points fall into parts that are not linked: the first coordinates only tell
        them from each other.

    References
    ----------
    S. Roweis, L. Saul, "Nonlinear dimensionality reduction by locally linear embedding",
    Science 290, 2000; D. Chen, J. Lv, Z. Yi, "A local non-negative pursuit method for
    intrinsic manifold structure preservation", AAAI 2014, eq. 2.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> from nnk_image.learning import lle_embedding
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle), np.ones(40)])
    >>> coordinates = lle_embedding(nnk_neighbors(ring, n_neighbors=6, kernel="lle"))
    >>> radius = np.linalg.norm(coordinates, axis=1)
    >>> bool(np.allclose(radius, radius[0]))
    True
    """
    matrix = check_weights(weights, square=True)
    n = matrix.shape[0]
    _check_components(n_components, n)
    total = degrees(matrix)
    if (bad := np.abs(total) <= 1e-12 * np.abs(matrix).sum(axis=1)).any():
        raise ValueError(
            f"{int(bad.sum())} of {n} rows of weights, the first row {int(np.argmax(bad))}, add up "
            "to 0: no neighbours to be placed by; leave these points out, or take more candidates"
        )
    parts = connected_components(matrix, directed=False)[0]
    if parts > 1:
        _warn_disconnected(parts)
    residual = eye_array(n, format="csr") - diags_array(1 / total) @ matrix
    values, vectors = _smallest(csr_array(residual.T @ residual), np.ones(n), n_components)
    return (_signed(vectors), values) if return_eigenvalues else _signed(vectors)


def spectral_clusters(graph, n_clusters, *, random_state=0):
    """Clusters of the nodes of a graph: k-means on its Laplacian eigenmaps.

    Parameters
    ----------
    graph : ImageGraph, (N, N) scipy.sparse matrix, or Neighborhoods
        Undirected graph; of neighbourhoods the larger of the two weights, max(W, W').
    n_clusters : int
    random_state : int, optional
        Of k-means, of which scikit-learn's is used.

    Returns
    -------
    (N,) int ndarray
        Cluster of each node, numbered in order of appearance.

    Raises
    ------
    ImportError
        scikit-learn is not installed.
    TypeError, ValueError
        A graph that is not undirected, or more clusters than nodes.

    References
    ----------
    U. von Luxburg, "A tutorial on spectral clustering", Statistics and Computing 17, 2007;
    D. Chen, J. Lv, Z. Yi, "A local non-negative pursuit method for intrinsic manifold
    structure preservation", AAAI 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> from nnk_image.learning import spectral_clusters
    >>> X = np.array([0.0, 1, 2, 3, 10, 11, 12]).reshape(-1, 1)
    >>> spectral_clusters(nnk_neighbors(X, n_neighbors=4), 2)
    array([0, 0, 0, 0, 1, 1, 1])
    """
    check_count("n_clusters", n_clusters)
    if isinstance(graph, Neighborhoods):
        weights = check_weights(graph, square=True)
        graph = weights.maximum(weights.T)
    adjacency = check_graph(graph)
    n = adjacency.shape[0]
    if n_clusters > n:
        raise ValueError(f"n_clusters={n_clusters}, but the graph has {n} nodes")
    if n_clusters == 1:
        return np.zeros(n, int)
    _, vectors = _eigenmaps(adjacency, n_clusters - 1, "random_walk")
    found = _kmeans(n_clusters, random_state).fit_predict(vectors)
    _, first, cluster = np.unique(found, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[cluster]


def _kmeans(n_clusters, random_state):
    """scikit-learn's k-means; raises ImportError, with the cure, where it is missing."""
    try:
        with uninterrupted():
            from sklearn.cluster import KMeans
    except ImportError:
        raise ImportError(
            "clustering needs scikit-learn: pip install 'nnk_image[neighbors]'"
        ) from None
    return KMeans(n_clusters, n_init=10, random_state=random_state)


def _check_components(n_components, n):
    check_count("n_components", n_components)
    if n_components >= n:
        raise ValueError(
            f"n_components={n_components} is too many: {n} points have {n - 1} coordinates besides "
            "the constant; ask for fewer, or give more points"
        )


def _warn_disconnected(parts):
    warnings.warn(
        f"the graph falls into {parts} parts, so its first {parts - 1} coordinates only tell the "
        "parts from each other; embed each by itself (scipy.sparse.csgraph.connected_components), "
        "or link them: more candidates, or symmetrize='max'",
        stacklevel=3,
    )


def _eigenmaps(adjacency, n_components, kind):
    """The smallest eigenvalues and their vectors, without the constant vector.

    Computed for each connected part of the graph, then merged.
    """
    degree = degrees(adjacency)
    diagonal, square = node_terms(degree, kind)
    square = np.ones(len(degree)) if square is None else square
    root = np.sqrt(square)
    rows = np.repeat(np.arange(len(degree)), np.diff(adjacency.indptr))
    scaled = adjacency.copy()
    if kind != "combinatorial":
        scaled.data /= root[rows] * root[adjacency.indices]
    matrix = csr_array(diags_array(diagonal) - scaled)

    values, vectors = _null_vectors(adjacency, root, n_components)
    missing = n_components - len(values)
    if missing:
        found = [
            (value, part, vector)
            for part in _parts(adjacency)
            for value, vector in _part_modes(matrix, root, part, missing)
        ]
        found.sort(key=lambda mode: mode[0])
        for value, part, vector in found[:missing]:
            column = np.zeros((len(degree), 1))
            column[part, 0] = vector
            vectors = np.hstack([vectors, column])
            values = np.append(values, value)
    if kind == "random_walk":
        vectors = vectors / root[:, None]
    return values, _signed(vectors)


def _parts(adjacency):
    """The nodes of each connected part of the graph, parts of a single node left out."""
    count, part = connected_components(adjacency, directed=False)
    order = np.argsort(part, kind="stable")
    size = np.bincount(part, minlength=count)
    return [nodes for nodes in np.split(order, np.cumsum(size)[:-1]) if len(nodes) > 1]


def _part_modes(matrix, root, part, n_modes):
    """Pairs of eigenvalue and eigenvector of a connected part, the constant left out."""
    n_modes = min(n_modes, len(part) - 1)
    values, vectors = _smallest(matrix[part][:, part], root[part], n_modes)
    return zip(values, vectors.T, strict=True)


def _null_vectors(adjacency, root, n_components):
    """Eigenvectors of eigenvalue 0: constant on each part, orthogonal to the constant vector.

    The parts are sorted by falling mass, the sum of their squared `root`. The vectors are the
    columns 2, 3, ... of the reflection that maps the first part's vector onto the constant one.
    """
    count, part = connected_components(adjacency, directed=False)
    mass = np.bincount(part, weights=root**2, minlength=count)
    order = np.argsort(-mass, kind="stable")
    place = np.empty(count, int)
    place[order] = np.arange(count)
    constant = np.sqrt(mass[order] / mass.sum())
    mirror = constant.copy()
    mirror[0] += 1
    n_columns = min(count - 1, n_components)
    columns = np.zeros((count, n_columns))
    columns[np.arange(1, n_columns + 1), np.arange(n_columns)] = 1
    columns -= np.outer(mirror, mirror[1 : n_columns + 1] / mirror[0])
    per_node = columns / np.sqrt(mass[order])[:, None]
    return np.zeros(n_columns), per_node[place[part]] * root[:, None]


def _smallest(matrix, null, k):
    """The k smallest eigenvalues and vectors of a positive semi-definite matrix.

    The known eigenvector `null`, of eigenvalue 0, is left out.
    """
    null = null / np.linalg.norm(null)
    n = matrix.shape[0]
    scale = float(matrix.diagonal().max()) or 1.0
    if n <= _DENSE or k > n // 4:
        dense = matrix.toarray()
        # Adding top * null null' moves the known eigenvector to the other end of the spectrum.
        top = 2 * abs(dense).sum(axis=1).max() + scale
        values, vectors = eigh(dense + top * np.outer(null, null), subset_by_index=[0, k - 1])
    else:
        vectors = _by_products(matrix, null, k, 2 * abs(matrix).sum(axis=1).max() + scale)
        if vectors is None:
            vectors = _by_inverse(matrix, null, k, _SHIFT * scale)
        # The vectors are only approximate: a Rayleigh-Ritz step makes the best of their span.
        vectors = np.linalg.qr(vectors)[0]
        inner = vectors.T @ (matrix @ vectors)
        values, turn = np.linalg.eigh((inner + inner.T) / 2)
        vectors = vectors @ turn
    return np.maximum(values, 0), vectors


def _by_products(matrix, null, k, top):
    """Eigenvectors by products with the matrix, or None if it takes too many of them.

    Few suffice on graphs of many dimensions, on which `_by_inverse` is slow.
    """
    raised = LinearOperator(
        matrix.shape, lambda x: matrix @ x.ravel() + top * null * (null @ x), dtype=np.float64
    )
    try:
        return eigsh(raised, k, which="SA", v0=_start(null), ncv=k + 60, maxiter=5)[1]
    except ArpackNoConvergence:
        return None


def _start(null):
    """A random start for the iterations, the same each time, orthogonal to `null`."""
    start = np.random.default_rng(0).standard_normal(len(null))
    return start - null * (null @ start)


def _by_inverse(matrix, null, k, shift):
    """Eigenvectors by solving systems with the matrix, `shift` added to its diagonal."""
    factors = factorized(matrix + shift * eye_array(matrix.shape[0]))

    def without_null(x):
        return x - null * (null @ x)

    inverse = LinearOperator(
        matrix.shape,
        lambda x: without_null(factors.solve(without_null(x.ravel()))),
        dtype=np.float64,
    )
    try:
        return eigsh(inverse, k, which="LA", v0=_start(null), ncv=max(2 * k + 1, 20))[1]
    except ArpackError as error:
        raise ValueError(
            f"the smallest eigenvalues could not be found ({error}); are some weights smaller "
            "than others by many orders of magnitude?"
        ) from None


def _signed(vectors):
    """The vectors with signs that make the entry of largest size of each column positive."""
    place = np.abs(vectors).argmax(axis=0)
    return vectors * np.where(vectors[place, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
