"""Edges as libraries for learning on graphs have them."""

from typing import Any

import numpy as np
import numpy.typing as npt


def edges_of(matrix: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Return ``edge_index`` (2, nnz: columns and rows) and ``edge_weight`` of a CSR array."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.stack([matrix.indices.astype(np.int64), rows]), matrix.data.copy()
