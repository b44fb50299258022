"""Checks of what users pass: undirected graphs, rows of weights, points, labels."""

import numpy as np
from scipy.sparse import csr_array, issparse

from nnk_image.graph.laplacian import check_adjacency, check_symmetric, degrees
from nnk_image.graph.pixel_graph import ImageGraph
from nnk_image.neighbors.features import check_features
from nnk_image.neighbors.result import Neighborhoods


def check_graph(graph):
    """The adjacency of an undirected graph as canonical float64 CSR, in a copy.

    Raises
    ------
    TypeError, ValueError
        Neither an ImageGraph nor a sparse adjacency that is square, symmetric, not negative,
        finite and without self loops.
    """
    if isinstance(graph, ImageGraph):
        check_symmetric(graph.adjacency)
        adjacency = graph.adjacency.astype(np.float64)
    else:
        adjacency = check_adjacency(graph).astype(np.float64, copy=False)
    total = degrees(adjacency)
    if not np.isfinite(total).all():
        raise ValueError(
            f"the weights of node {int(np.argmax(~np.isfinite(total)))} add up to more than a "
            "float can hold; scale the graph"
        )
    return adjacency


def check_weights(weights, square=False):
    """Weights of neighbours, a row per query, as canonical float64 CSR, in a copy.

    Raises
    ------
    TypeError, ValueError
        Neither `Neighborhoods` nor a sparse matrix of finite numbers; not of points among
        themselves, if that is asked for.
    """
    if isinstance(weights, Neighborhoods):
        weights = weights.to_csr()
    if not issparse(weights):
        raise TypeError(
            "neighbourhoods are what nnk_neighbors returns, or a scipy.sparse matrix with a row "
            f"of weights per query, not {type(weights).__name__}"
        )
    if weights.ndim != 2 or weights.dtype.kind not in "buif":
        raise TypeError(
            f"weights of shape {weights.shape} and dtype {weights.dtype} are no matrix of real "
            "numbers"
        )
    matrix = csr_array(weights.astype(np.float64), copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if 0 in matrix.shape:
        raise ValueError(f"weights of shape {matrix.shape} hold no neighbourhood")
    if not np.isfinite(matrix.data).all():
        raise ValueError("the weights hold numbers that are not finite")
    if square and matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            "neighbourhoods of the points themselves are needed, a square matrix; these are of "
            f"{matrix.shape[0]} queries among {matrix.shape[1]} points"
        )
    return matrix


def check_points(name, points, matrix, of="columns"):
    """Points as float64, if there is one per column (or per row) of a matrix of weights."""
    points = check_features(name, points).astype(np.float64, copy=False)
    expected = matrix.shape[1 if of == "columns" else 0]
    if len(points) != expected:
        raise ValueError(f"{name} holds {len(points)} points, the neighbourhoods are of {expected}")
    return points


def check_labels(labels, n):
    """Integer labels of n nodes, -1 where unknown; raises if none is known."""
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu":
        raise TypeError(
            f"labels must be integers, -1 where unknown, not {labels.dtype}; number the classes: "
            "classes, labels = np.unique(names, return_inverse=True)"
        )
    if labels.shape != (n,):
        raise ValueError(f"labels must have shape ({n},), one per node, not {labels.shape}")
    if labels.size and labels.min() < -1:
        raise ValueError(f"label {labels.min()} is negative; only -1 is, for unknown")
    if not (labels != -1).any():
        raise ValueError("no node has a label; give at least one that is not -1")
    return labels
