"""The four Laplacians of a graph, and checks of the adjacency that they are computed from."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from nnk_image.base.checks import check_choice, plain_array

KINDS = ("combinatorial", "normalized", "random_walk", "regularized")


def _adjacency_of(graph: Any) -> Any:
    """Return the adjacency of a graph of scipy, PyGSP or networkx as a sparse matrix, or an array.

    Nodes of a networkx graph are numbered in its own order; its edges without `weight` get 1.
    """
    if issparse(graph):
        return graph
    if issparse(getattr(graph, "W", None)):  # PyGSP
        return graph.W
    if hasattr(graph, "nodes") and hasattr(graph, "adjacency"):
        from networkx import to_scipy_sparse_array

        return to_scipy_sparse_array(graph) if len(graph) else csr_array((0, 0))
    return plain_array(graph)


def check_adjacency(graph):
    """Convert a graph of another library, or an adjacency, to a new one in canonical float CSR.

    TypeError or ValueError if it is asymmetric, empty, not finite, negative, or has self loops.
    """
    adjacency = _adjacency_of(graph)
    if adjacency.dtype.kind not in "buif":
        raise TypeError(
            "a graph is an ImageGraph, a PyGSP or networkx graph, or an adjacency as a "
            "scipy.sparse matrix or (N, N) array of real weights, such as nnk_graph(X) for points, "
            f"not {type(graph).__name__} (dtype {adjacency.dtype})"
        )
    shape = adjacency.shape
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise ValueError(
            f"an adjacency is square and not empty; its shape is {shape}: pass image_graph(image) "
            "for an image, or nnk_graph(X) for points"
        )
    single = adjacency.dtype.newbyteorder("=") in (np.float16, np.float32)
    matrix = csr_array(adjacency.astype(np.float32 if single else np.float64))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    rounding = check_symmetric(matrix)
    if matrix.nnz:
        if not np.isfinite(matrix.data).all() or matrix.data.min() < 0:
            hint = "; pass W, not its Laplacian" if matrix.data.min() < 0 else ""
            raise ValueError(
                "edge weights must be finite and not negative; they range from "
                f"{matrix.data.min():g} to {matrix.data.max():g}{hint}"
            )
        if matrix.diagonal().any():
            raise ValueError(
                "the graph has self loops; remove them: W.setdiag(0), for an array "
                "np.fill_diagonal(W, 0)"
            )
    return csr_array(matrix - 0.5 * rounding) if rounding.nnz else matrix


def check_symmetric(adjacency):
    """Return the adjacency minus its transpose; raise ValueError if it exceeds rounding errors."""
    difference = adjacency - adjacency.T
    if difference.nnz:
        largest = abs(difference).max()
        if largest > max(1e-12, 8 * np.finfo(adjacency.dtype).eps) * abs(adjacency).max():
            raise ValueError(
                f"the adjacency is not symmetric (largest difference {largest:g}), but Laplacians "
                "are of undirected graphs: build it with directed=False in image_graph, with a "
                "rule for symmetrize in nnk_graph, or use W.maximum(W.T), for an array "
                "np.maximum(W, W.T); for an image, pass image_graph(image)"
            )
    return difference


def degrees(adjacency):
    """Return the row sums as an (N,) ndarray."""
    return adjacency @ np.ones(adjacency.shape[0], adjacency.dtype)


def laplacian(adjacency, kind="combinatorial"):
    """Return a Laplacian matrix of a symmetric adjacency; see `ImageGraph.laplacian`."""
    check_choice("laplacian", kind, KINDS)
    degree = degrees(adjacency)
    diagonal, divisor = node_terms(degree, kind, regularization(degree, kind))
    if kind == "normalized":
        scale = diags_array(1 / np.sqrt(divisor))
        adjacency = scale @ adjacency @ scale
    elif divisor is not None:
        adjacency = diags_array(1 / divisor) @ adjacency
    result = csr_array(diags_array(diagonal) - adjacency)
    result.sort_indices()  # scipy leaves the columns of matrix products unsorted
    return result


def node_terms(degree, kind, tau):
    """Return the diagonal a and the divisor s of a Laplacian ``L = diag(a) - S^-1 W``, S = diag(s).

    `tau` is what `regularization` returns. The random-walk and the regularized Laplacian are
    similar to the symmetric matrix ``S^1/2 L S^-1/2``; for the random walk that is the normalized
    Laplacian, so both have the same a and s. A node without edges has a = 0 and s = 1. For the
    combinatorial Laplacian s is None, which stands for 1 everywhere.
    """
    if kind == "combinatorial":
        return degree, None
    divisor = degree + degree.dtype.type(tau or 0)
    divisor[~(degree > 0)] = 1
    return degree / divisor, divisor


def regularization(degree, kind, tau=None):
    """Return tau, by default the mean degree of nodes with edges; None for other Laplacians."""
    if kind != "regularized" or tau is not None:
        return tau
    values = degree[degree > 0]
    return degree.dtype.type(values.mean(dtype=np.float64)) if values.size else 0
