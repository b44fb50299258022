"""Labels of nodes and points: propagation on a graph, and from few examples."""

from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import check_choice, check_count, plain_array, warn
from nnk_image.base.image import Array
from nnk_image.graph.laplacian import degrees
from nnk_image.graph.pixel_graph import CheckedGraph, adjacency_of, check_undirected
from nnk_image.learning.harmonic import harmonic
from nnk_image.neighbors.features import check_features
from nnk_image.neighbors.neighborhoods import nnk_neighbors
from nnk_image.solvers.problem import Graph, node_values


def label_propagation(
    graph: Graph,
    labels: npt.ArrayLike,
    *,
    laplacian: str = "combinatorial",
    return_scores: bool = False,
) -> Array | tuple[Array, Array]:
    """Propagate the labels of some nodes to all nodes of a graph.

    Parameters
    ----------
    graph
        As for `interpolate`.
    labels : (N,) or (H, W) array_like of int
        Class of each node, -1 where unknown; at least one must be known. Classes are whole numbers
        from 0, not necessarily consecutive.
    laplacian : {'combinatorial', 'normalized'}
        Laplacian of the graph, see `ImageGraph.laplacian`. 'combinatorial' (default) favors classes
        whose labeled nodes have large degrees, 'normalized' does not.
    return_scores : bool
        True also returns the scores of all classes; default False.

    Returns
    -------
    labels : ndarray of the shape and dtype of `labels`
        Class of the largest score of each node, of equal ones the smallest. Known labels stay.
    scores : (N, C) or (H, W, C) float64 ndarray
        Only if `return_scores`. Columns are the C classes, ``np.unique`` of the known labels; rows
        add up to 1, or are 0 where no label can be reached.

    Warns
    -----
    UserWarning
        If nodes are connected to no labeled node; they get the most frequent label. Also if no
        label is -1, so that there is nothing to propagate.

    Notes
    -----
    The score of a class is the harmonic function that is 1 at its labeled nodes and 0 at those of
    other classes. With the combinatorial Laplacian it is the probability that a random walk meets a
    label of this class first.

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
    graph = check_undirected(graph)
    labels = _check_labels(labels, graph)
    shape, labels = labels.shape, labels.ravel()
    known = labels != -1
    if known.all():
        warn("all labels are known, and returned as they are; set those to be found to -1")
    classes, own = np.unique(labels[known], return_inverse=True)
    given = np.zeros((len(labels), len(classes)))
    given[np.flatnonzero(known), own] = 1
    if laplacian == "normalized":
        # The normalized problem is the combinatorial one for D^-1/2 y.
        degree = degrees(adjacency_of(graph).astype(np.float64))[known, None]
        given[known] /= np.sqrt(np.where(degree > 0, degree, 1))
    scores = np.maximum(harmonic(graph, known, given)[0], 0)
    scores[known] = given[known] > 0
    total = scores.sum(axis=1)
    reached = total > 0
    scores[reached] /= total[reached, None]
    result = classes[scores.argmax(axis=1)].astype(labels.dtype)
    if not reached.all():
        result[~reached] = _most_frequent(labels[known], ~reached, "nodes")
    result = result.reshape(shape)
    return (result, scores.reshape(*shape, -1)) if return_scores else result


def _check_labels(labels: npt.ArrayLike, graph: CheckedGraph) -> Array:
    """Return labels of all nodes, whole numbers or -1 (unknown), not all unknown."""
    array = plain_array(labels)
    whole = array.dtype.kind == "f" and (np.isfinite(array) & (array == np.rint(array))).all()
    if array.dtype.kind not in "iu" and not whole:
        raise TypeError(
            f"labels must be integers, -1 where unknown, not {array.dtype}; number the classes by "
            "classes, labels = np.unique(names, return_inverse=True), and set the unknown ones to "
            "-1 afterwards"
        )
    node_values("labels", array, graph, channels=False)
    if array.size and array.min() < -1:
        raise ValueError(f"labels must be -1 (unknown) or not negative, got {array.min()}")
    if not (array != -1).any():
        raise ValueError("all labels are -1 (unknown); give at least one")
    return array


def _most_frequent(labels: Array, nodes: Array, what: str) -> Array:
    """Return the most frequent label, with a warning that these nodes get it."""
    classes, count = np.unique(labels, return_counts=True)
    best: Array = classes[count.argmax()]
    warn(
        f"{int(nodes.sum())} of {len(nodes)} {what}, the first {int(nodes.argmax())}, are "
        f"not linked to any label; they get the most frequent one, {best}"
    )
    return best


def few_shot_labels(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    Q: npt.ArrayLike,
    n_neighbors: int = 30,
    *,
    n_accept: int = 1,
    **options: Any,
) -> Array:
    """Label many queries jointly from a few labeled points (transductive few-shot learning).

    Parameters
    ----------
    X : (N, d) array_like or sparse matrix
        Labeled points.
    y : (N,) array_like
        Their labels: numbers or strings.
    Q : (n, d) array_like or sparse matrix
        Queries.
    n_neighbors : int
        Largest number of candidates of a query, the labeled points most similar to it; default 30.
    n_accept : int
        Largest number of queries per class that get their final label in each round; default 1.
    **options
        As for `nnk_neighbors`, but the default kernel is 'cosine'. Not ``kernel='precomputed'``,
        ``method='mutual_knn'`` and lists of candidates; 'kstar' and 'lnp' need
        ``kernel='gaussian'``.

    Returns
    -------
    (n,) ndarray
        Labels, of the dtype of `y`.

    Warns
    -----
    UserWarning
        If queries are similar to no labeled point or query; they get the most frequent label.

    Notes
    -----
    Queries are classified by their NNK neighbors among the labeled points. In each round the most
    confident predictions of each class join the labeled points, and the other queries are
    classified again. Confidence is the share of the class in the query's weights; equally confident
    queries are taken by their reconstruction errors.

    References
    ----------
    S. Shekkizhar, PhD thesis, University of Southern California, 2023, Algorithm 6.

    Examples
    --------
    One label at each end of an arc; the points between them are labeled step by step:

    >>> import numpy as np
    >>> from nnk_image.learning import few_shot_labels
    >>> angle = np.linspace(0, 1.5, 8)
    >>> points = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> few_shot_labels(points[[0, 7]], ["right", "up"], points[1:7])
    array(['right', 'right', 'right', 'up', 'up', 'up'], dtype='<U5')
    """
    if "queries" in options:
        raise TypeError("queries is no option of few_shot_labels: pass them as Q")
    options = {"kernel": "cosine"} | options
    if options["kernel"] == "precomputed":
        raise ValueError(
            "kernel='precomputed' is not possible, because queries become points; give features"
        )
    check_count("n_neighbors", n_neighbors)
    check_count("n_accept", n_accept)
    points = check_features("X", X)
    queries = check_features("Q", Q, points)
    y, n = plain_array(y), len(points)
    if y.shape != (n,):
        raise ValueError(f"y must have shape ({n},), a label per point of X, not {y.shape}")
    for i, label in enumerate(y.tolist()):
        equal = label is not None and label == label  # False for NaN, pandas.NA for itself
        if not (isinstance(equal, bool | np.bool_) and equal):
            raise ValueError(f"the label y[{i}] is missing; put points without a label into Q")
    classes, labels = np.unique(y, return_inverse=True)

    found = np.full(len(queries), -1)
    left = np.arange(len(queries))
    while len(left):
        k = min(n_neighbors, len(points))
        near = nnk_neighbors(points, k, queries=queries[left], **options)
        mass = near.to_csr() @ np.eye(len(classes))[labels]
        total = mass.sum(axis=1, keepdims=True)
        share = np.divide(mass, total, out=mass, where=total > 0)
        accepted = _most_confident(share, near.error, n_accept)
        if not len(accepted):
            break
        new = left[accepted]
        found[new] = share[accepted].argmax(axis=1)
        points = np.concatenate([points, queries[new]])
        labels = np.concatenate([labels, found[new]])
        left = np.delete(left, accepted)
    result: Array = classes[found]
    if len(left):
        result[left] = _most_frequent(y, found < 0, "queries")
    return result


def _most_confident(share: Array, error: Array, n_accept: int) -> Array:
    """Return the queries to accept: for each predicted class those with the largest shares."""
    predicted, confidence = share.argmax(axis=1), share.max(axis=1)
    order = np.lexsort([error, -confidence])
    order = order[confidence[order] > 0]
    chosen = [order[predicted[order] == c][:n_accept] for c in np.unique(predicted[order])]
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, int)
