"""The edges of a pixel graph as planes of bits, and the matrix that they make."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from nnk_image import _core
from nnk_image.base import memory
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.pruning import GraphSpec, choose_edges


class StoredEdges(NamedTuple):
    """Edges as a matrix with sorted columns and no explicit zeros.

    `n_underflow` edges are left out, whose weight was below the smallest normal number of its type.
    """

    adjacency: csr_array
    n_underflow: int = 0

    @property
    def stored(self) -> StoredEdges:
        """Return self, so that callers can use `edges.stored` for both classes."""
        return self

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the weights."""
        return self.adjacency.dtype


class EdgePlanes:
    """Edges as planes of bits, one per offset of the window, and the kernel that weighs them.

    The executor runs the choice of the edges; the matrix is written later, with the same `n_jobs`.
    `directed` keeps the edges that each pixel chose instead of their union.
    """

    def __init__(self, spec: GraphSpec, executor: RowExecutor, directed: bool = False) -> None:
        self.bits = choose_edges(spec, executor, directed)
        self.shape, self.dtype, self.directed = spec.image.shape, spec.image.dtype, directed
        self._kernel, self._row_work, self._n_jobs = spec.kernel(), spec.row_work, executor.n_jobs
        self._height = spec.lines.height

    def fill(self, operator: _core.GridOperator, y0: int, y1: int) -> None:
        """Write the entries of rows [y0, y1) of an operator in SIMD blocks."""
        _core.fill_entries(operator, self.bits, self._kernel, y0, y1)

    @cached_property
    def stored(self) -> StoredEdges:
        """The matrix, made when it is first used."""
        with RowExecutor(self._n_jobs) as executor:
            adjacency, n_zeros = self._matrix(executor.run)
        if n_zeros:
            adjacency.eliminate_zeros()
        return StoredEdges(adjacency, n_zeros if self.directed else n_zeros // 2)

    def _matrix(self, run: Callable[..., None]) -> tuple[csr_array, int]:
        """Return the matrix with sorted columns, and the number of stored weights that are 0."""
        n_nodes, rows = math.prod(self.shape), (self._height, self._row_work)
        row_start = np.zeros(self._height + 1, np.int64)
        run(partial(_core.count_rows, self.bits, row_start[1:]), *rows)
        np.cumsum(row_start, out=row_start)
        n_stored = int(row_start[-1])
        index_dtype = memory.index_dtype(max(n_stored, n_nodes))
        n_bytes = n_stored * (index_dtype.itemsize + self.dtype.itemsize)
        memory.require(n_bytes, f"the adjacency of {n_stored} entries")
        indptr = np.empty(n_nodes + 1, index_dtype)
        indptr[-1] = n_stored
        indices = np.empty(n_stored, index_dtype)
        data = np.empty(n_stored, self.dtype)
        wide = index_dtype == np.int64
        arrays = indptr.view(np.uint8), indices.view(np.uint8), wide, data.view(np.uint8)
        n_zeros: list[int] = []
        fill = partial(_core.fill, self.bits, self._kernel, row_start, *arrays)
        run(fill, *rows, consume=n_zeros.append)
        adjacency = csr_array((data, indices, indptr), shape=(n_nodes, n_nodes))
        adjacency.has_canonical_format = True
        return adjacency, sum(n_zeros)
