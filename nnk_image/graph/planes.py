"""The edges of a pixel graph as planes of bits, and the matrix that they make."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from scipy.sparse import csr_array

from nnk_image import _core
from nnk_image.base import memory
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.pruning import GraphSpec, choose_edges


class EdgePlanes:
    """Edges as planes of bits, one per offset of the window, and the kernel that weighs them.

    The executor runs the choice of the edges; the matrix is written later, with the same `n_jobs`.
    `directed` keeps the edges that each pixel chose instead of their union.
    """

    def __init__(self, spec: GraphSpec, executor: RowExecutor, directed: bool = False) -> None:
        self.bits = choose_edges(spec, executor, directed)
        self.shape, self.dtype, self.window = spec.image.shape, spec.image.dtype, spec.side
        self.directed = directed
        self._kernel, self._row_work, self._n_jobs = spec.kernel(), spec.row_work, executor.n_jobs
        self._height = spec.lines.height

    def fill(self, operator: _core.GridOperator, y0: int, y1: int) -> None:
        """Write the entries of rows [y0, y1) of an operator in SIMD blocks."""
        _core.fill_entries(operator, self.bits, self._kernel, y0, y1)

    @cached_property
    def matrix(self) -> csr_array:
        """The matrix with sorted columns and no explicit zeros, made when it is first used."""
        with RowExecutor(self._n_jobs) as executor:
            return self._matrix(executor.run)

    def _matrix(self, run: Callable[..., None]) -> csr_array:
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
        if any(n_zeros):
            adjacency.eliminate_zeros()
        return adjacency
