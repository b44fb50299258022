"""Labels for nodes and points without one: propagation on a graph, and from few examples."""

import warnings

import numpy as np
from scipy.sparse import csr_array

from nnk_image.base.checks import check_choice, check_count
from nnk_image.graph.laplacian import degrees
from nnk_image.learning.harmonic import harmonic
from nnk_image.learning.inputs import check_graph, check_labels
from nnk_image.neighbors.features import check_features
from nnk_image.neighbors.neighborhoods import nnk_neighbors


def label_propagation(graph, labels, *, laplacian="combinatorial", return_scores=False):
    """Labels of all nodes of a graph, from those of some.

    The score of a class is the harmonic function that is 1 at the class's labelled
    nodes and 0 at the others': the probability that a random walk meets a label of this
    class first.  Each node gets the class of its largest score; given labels stay.

    Parameters
    ----------
    graph : ImageGraph or (N, N) scipy.sparse matrix
        Undirected graph with weights that are not negative.
    labels : (N,) array_like of int
        Class of each node, -1 where unknown.
    laplacian : {'combinatorial', 'normalized'}
        The L of ``min y' L y``; the normalised one favours no class for the degrees of its
        labelled nodes.
    return_scores : bool
        Also return the scores.

    Returns
    -------
    labels : (N,) ndarray
        Of the dtype given.
    scores : (N, C) float64 ndarray
        If `return_scores`: rows add up to 1; columns are the classes, ``np.unique`` of the
        known labels. 0 where no label is within reach.

    Raises
    ------
    TypeError, ValueError
        A graph that is not undirected; labels that are not one per node, or all unknown.

    Warns
    -----
    UserWarning
        Some nodes are not linked to any label: they get the most frequent one.

    References
    ----------
    X. Zhu, Z. Ghahramani, J. Lafferty, "Semi-supervised learning using Gaussian fields
    and harmonic functions", 2003, eq. 5.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_graph
    >>> from nnk_image.learning import label_propagation
    >>> graph = nnk_graph(np.arange(6.0).reshape(-1, 1), n_neighbors=3)
    >>> label_propagation(graph, [0, -1, -1, -1, -1, 7])
    array([0, 0, 0, 7, 7, 7])
    """
    check_choice("laplacian", laplacian, ("combinatorial", "normalized"))
    adjacency = check_graph(graph)
    labels = check_labels(labels, adjacency.shape[0])
    classes, own = np.unique(labels[labels != -1], return_inverse=True)
    known = labels != -1
    given = np.zeros((len(labels), len(classes)))
    given[np.flatnonzero(known), own] = 1
    if laplacian == "normalized":
        # The normalised problem is the combinatorial one for D^-1/2 y, so the same equations do.
        degree = degrees(adjacency)[known, None]
        given[known] /= np.sqrt(np.where(degree > 0, degree, 1))
    scores = np.maximum(harmonic(adjacency, known, given)[0], 0)
    scores[known] = given[known] > 0
    total = scores.sum(axis=1)
    reached = total > 0
    scores[reached] /= total[reached, None]
    result = classes[scores.argmax(axis=1)].astype(labels.dtype)
    if not reached.all():
        result[~reached] = _most_frequent(labels[known], ~reached)
    return (result, scores) if return_scores else result


def _most_frequent(labels, nodes, what="nodes"):
    """The most frequent label, with a warning that these nodes get it."""
    classes, count = np.unique(labels, return_counts=True)
    best = classes[count.argmax()]
    warnings.warn(
        f"{int(nodes.sum())} of {len(nodes)} {what}, the first {int(nodes.argmax())}, are "
        f"not linked to any label; they get the most frequent one, {best}",
        stacklevel=3,
    )
    return best


def few_shot_labels(
    X,
    y,
    Q,
    n_neighbors=30,
    *,
    kernel="cosine",
    sigma="kth",
    method="nnk",
    n_accept=1,
    n_jobs=None,
):
    """Labels of all queries together, from few labelled points (transduction).

    Queries are classified by their neighbours among the labelled points. The most confident
    predictions of each class join the labelled points; then the other queries are classified anew.

    Parameters
    ----------
    X : (N, d) array_like
        Labelled points.
    y : (N,) array_like
        Their labels: numbers or strings.
    Q : (n, d) array_like
        Queries.
    n_neighbors : int
        Candidates of each query, at most; all labelled points while they are fewer.
    kernel, sigma, method, n_jobs
        As for `nnk_neighbors`.
    n_accept : int
        Queries accepted for each predicted class in each round.

    Returns
    -------
    labels : (n,) ndarray
        Of the dtype of `y`.

    Raises
    ------
    TypeError, ValueError
        Bad points, labels or options.

    Warns
    -----
    UserWarning
        Some queries are similar to no labelled point: they get the most frequent label.

    Notes
    -----
    Confidence is the share of the predicted class in the query's weights; among equals the
    query that its neighbours regress better goes first, then the lower index.

    References
    ----------
    S. Shekkizhar, "Neighborhood and graph constructions using non-negative kernel
    regression", PhD thesis, 2023, Algorithm 6.

    Examples
    --------
    One label at the start of each ray; the others follow in turn:

    >>> import numpy as np
    >>> from nnk_image.learning import few_shot_labels
    >>> angle = np.linspace(0, 1.5, 8)
    >>> points = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> few_shot_labels(points[[0, 7]], ["right", "up"], points[1:7])
    array(['right', 'right', 'right', 'up', 'up', 'up'], dtype='<U5')
    """
    _check_features_only(kernel)
    check_count("n_neighbors", n_neighbors)
    check_count("n_accept", n_accept)
    X = check_features("X", X)
    Q = check_features("Q", Q, X.shape[1], X.dtype == np.float32)
    y = np.asarray(y)
    if y.shape != (len(X),):
        raise ValueError(f"y must have shape ({len(X)},), a label per point of X, not {y.shape}")
    classes, labels = np.unique(y, return_inverse=True)
    options = {"kernel": kernel, "sigma": sigma, "method": method, "n_jobs": n_jobs}

    points, found = X, np.full(len(Q), -1)
    left = np.arange(len(Q))
    while len(left):
        near = nnk_neighbors(points, Q[left], min(n_neighbors, len(points)), **options)
        share = _class_shares(near, labels, len(classes))
        accepted = _most_confident(share, near.error, n_accept)
        if not len(accepted):
            nodes = np.isin(np.arange(len(Q)), left)
            result = classes[found]
            result[left] = _most_frequent(y, nodes, "queries")
            return result
        new = left[accepted]
        found[new] = share[accepted].argmax(axis=1)
        points = np.concatenate([points, Q[new]])
        labels = np.concatenate([labels, found[new]])
        left = np.delete(left, accepted)
    return classes[found]


def _check_features_only(kernel):
    """Refuse precomputed kernels, which cannot tell how similar queries are to each other."""
    if isinstance(kernel, str) and kernel == "precomputed":
        raise ValueError(
            "kernel='precomputed' does not fit: queries become points; give features and a kernel"
        )


def _class_shares(near, labels, n_classes):
    """(n, n_classes) shares of the classes in the weights of each query; 0 without neighbours."""
    one_hot = csr_array((np.ones(len(labels)), labels, np.arange(len(labels) + 1)))
    one_hot.resize(len(labels), n_classes)
    mass = (near.to_csr() @ one_hot).toarray()
    total = mass.sum(axis=1, keepdims=True)
    return np.divide(mass, total, out=np.zeros_like(mass), where=total > 0)


def _most_confident(share, error, n_accept):
    """The queries to accept: for each predicted class those with the largest shares."""
    predicted, confidence = share.argmax(axis=1), share.max(axis=1)
    order = np.lexsort([error, -confidence])
    order = order[confidence[order] > 0]
    chosen = [order[predicted[order] == c][:n_accept] for c in np.unique(predicted[order])]
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, int)
