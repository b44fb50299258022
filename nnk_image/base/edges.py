"""Edges as two arrays, as libraries for learning on graphs have them."""

import numpy as np


def edges_of(matrix):
    """The entries of CSR rows as edges from their columns to their rows.

    Returns
    -------
    edge_index : (2, nnz) int64 ndarray
        Columns, and rows.
    edge_weight : (nnz,) ndarray
    """
    edge_index = np.empty((2, matrix.nnz), np.int64)
    edge_index[0] = matrix.indices
    edge_index[1] = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return edge_index, matrix.data.copy()
