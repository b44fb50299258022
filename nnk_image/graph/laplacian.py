"""The four Laplacians of a graph, and what an adjacency must be to have one."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from nnk_image.base.checks import check_choice, plain_array

KINDS = ("combinatorial", "normalized", "random_walk", "regularized")


def sparse_adjacency(graph: Any) -> Any:
    """Return the scipy.sparse adjacency of a graph of scipy, PyGSP or networkx, or of an array.

    Nodes of networkx are numbered in their order, and edges without a `weight` have 1.
    """
    if issparse(graph):
        return graph
    if issparse(getattr(graph, "W", None)):  # of PyGSP
        return graph.W
    if hasattr(graph, "nodes") and hasattr(graph, "adjacency"):
        from networkx import to_scipy_sparse_array

        return to_scipy_sparse_array(graph) if len(graph) else csr_array((0, 0))
    array = plain_array(graph)
    if array.dtype.kind not in "buif":
        raise TypeError(
            "a graph is an ImageGraph, a PyGSP or networkx graph, or an adjacency as a "
            "scipy.sparse matrix or (N, N) array of real weights, not of dtype "
            f"{array.dtype} ({type(graph).__name__})"
        )
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(
            f"an array of shape {array.shape} is no graph: an adjacency matrix is square and "
            "symmetric; pass image_graph(image) for an image, or nnk_graph(X) for points"
        )
    return csr_array(array.astype(np.float32) if array.dtype == np.float16 else array)


def check_adjacency(adjacency):
    """Return a copy of what `sparse_adjacency` takes as canonical float CSR.

    TypeError or ValueError unless it is symmetric, not empty, finite, without negative weights and
    self loops.
    """
    adjacency = sparse_adjacency(adjacency)
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1] or adjacency.shape[0] == 0:
        raise ValueError(f"an adjacency is square and not empty; its shape is {adjacency.shape}")
    if adjacency.dtype.kind not in "buif":
        raise TypeError(f"an adjacency of dtype {adjacency.dtype} has no real weights")
    dtype = adjacency.dtype if adjacency.dtype in (np.float32, np.float64) else np.float64
    matrix = csr_array(adjacency.astype(dtype))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    rounding = check_symmetric(matrix)
    if matrix.nnz:
        if not np.isfinite(matrix.data).all() or matrix.data.min() < 0:
            raise ValueError(
                "edge weights must be finite and not negative; they range from "
                f"{matrix.data.min():g} to {matrix.data.max():g}"
            )
        if matrix.diagonal().any():
            raise ValueError("the graph has self loops; remove them: W.setdiag(0)")
    return csr_array(matrix - 0.5 * rounding) if rounding.nnz else matrix


def check_symmetric(adjacency):
    """Return the adjacency minus its transpose; raise ValueError unless it is rounding errors."""
    difference = adjacency - adjacency.T
    if difference.nnz:
        largest = abs(difference).max()
        if largest > max(1e-12, 8 * np.finfo(adjacency.dtype).eps) * abs(adjacency).max():
            raise ValueError(
                f"the adjacency is not symmetric (largest difference {largest:g}), but Laplacians "
                "are of undirected graphs: use directed=False, or W.maximum(W.T), for an array "
                "np.maximum(W, W.T); pass image_graph(image) for an image"
            )
    return difference


def degrees(adjacency):
    """(N,) ndarray of row sums."""
    return adjacency @ np.ones(adjacency.shape[0], adjacency.dtype)


def laplacian(adjacency, kind="combinatorial"):
    """Laplacian matrix; see `ImageGraph.laplacian`."""
    check_choice("laplacian", kind, KINDS)
    check_symmetric(adjacency)
    diagonal, square = node_terms(degrees(adjacency), kind)
    if kind == "normalized":
        scale = diags_array(1 / np.sqrt(square))
        adjacency = scale @ adjacency @ scale
    elif square is not None:
        adjacency = diags_array(1 / square) @ adjacency
    result = csr_array(diags_array(diagonal) - adjacency)
    result.sort_indices()  # products of scipy are not sorted
    return result


def node_terms(degree, kind, tau=None):
    """Diagonal a and divisor s of a Laplacian ``L = diag(a) - S^-1 W``, S = diag(s).

    ``D - W``; random walk ``I - D^-1 W``; regularized ``(D + tau I)^-1 (D - W)``, tau by
    default `regularization`.  The last two are similar to symmetric matrices, ``S^1/2 L
    S^-1/2``; for the random walk that is the normalized Laplacian.  Where a node has no edges, a is
    0 and s is 1; for the combinatorial Laplacian s is None, all 1.
    """
    if kind == "combinatorial":
        return degree, None
    if kind != "regularized":
        tau = 0
    elif tau is None:
        tau = regularization(degree)
    square = degree + degree.dtype.type(tau)
    square[~(degree > 0)] = 1
    return degree / square, square


def regularization(degree):
    """tau of the regularized Laplacian: the mean degree of the nodes that have edges."""
    linked = degree > 0
    # ravel() gives the same values in the same order as the mask would, but is faster.
    values = degree.ravel() if linked.all() else degree[linked]
    return degree.dtype.type(values.mean(dtype=np.float64)) if values.size else 0
