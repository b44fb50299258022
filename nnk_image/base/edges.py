"""Edges as libraries for learning on graphs have them."""

from typing import Any

import numpy as np
import numpy.typing as npt


def edges_of(matrix: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Return ``edge_index`` (2, nnz: columns and rows) and ``edge_weight`` of a CSR array."""
    edges = matrix.tocoo()
    return np.stack([edges.col, edges.row], dtype=np.int64), edges.data
