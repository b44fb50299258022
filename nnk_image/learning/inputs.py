"""Checks of arguments: undirected graphs, rows of weights, points, labels."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse, sparray, spmatrix

from nnk_image.base.checks import plain_array
from nnk_image.base.image import Array
from nnk_image.graph.pixel_graph import check_undirected
from nnk_image.neighbors.features import check_features, check_finite
from nnk_image.neighbors.result import Neighborhoods
from nnk_image.solvers.problem import Graph, adjacency_of, node_values

Weights: TypeAlias = Neighborhoods | sparray | spmatrix


def check_graph(graph: Graph) -> csr_array:
    """Return a copy of the adjacency of an undirected graph as canonical float64 CSR."""
    return adjacency_of(check_undirected(graph)).astype(np.float64)


def check_weights(weights: Weights, square: bool = False) -> csr_array:
    """Return a copy of neighbors' weights, one row per query, as canonical float64 CSR.

    With `square`, the queries must be the points themselves.
    """
    if isinstance(weights, Neighborhoods):
        weights = weights.to_csr()
    if not issparse(weights):
        raise TypeError(
            "neighborhoods must be a result of nnk_neighbors, or a scipy.sparse matrix with a row "
            f"of weights per query, not {type(weights).__name__}"
        )
    if weights.ndim != 2 or 0 in weights.shape:
        raise ValueError(f"weights of shape {weights.shape} are empty, or not a matrix")
    matrix = csr_array(weights)
    values = check_finite("the neighborhoods' weights", matrix.data)
    matrix = csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if square and matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            "neighborhoods of the points themselves are needed, a square matrix; these are of "
            f"{matrix.shape[0]} queries among {matrix.shape[1]} points"
        )
    return matrix


def check_points(name: str, points: npt.ArrayLike, matrix: csr_array) -> Array:
    """Return points as float64, if there is one for each column of a matrix of weights."""
    array: Array = check_features(name, points).astype(np.float64, copy=False)
    if len(array) != matrix.shape[1]:
        raise ValueError(
            f"{name} holds {len(array)} points, but the neighborhoods are of {matrix.shape[1]}"
        )
    return array


def check_labels(labels: npt.ArrayLike, graph: Graph, n: int) -> Array:
    """Return labels of n nodes, whole numbers or -1 (unknown), not all unknown."""
    array = plain_array(labels)
    whole = array.dtype.kind == "f" and (np.isfinite(array) & (array == np.rint(array))).all()
    if array.dtype.kind not in "iu" and not whole:
        raise TypeError(
            f"labels must be integers, -1 where unknown, not {array.dtype}; number the classes by "
            "classes, labels = np.unique(names, return_inverse=True), and set the unknown ones to "
            "-1 afterwards"
        )
    node_values("labels", array, graph, n, channels=False)
    if array.size and array.min() < -1:
        raise ValueError(f"labels must be -1 (unknown) or not negative, got {array.min()}")
    if not (array != -1).any():
        raise ValueError("all labels are -1 (unknown); give at least one")
    return array
