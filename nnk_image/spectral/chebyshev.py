"""The Chebyshev recurrence on a graph.

`GridRecurrence` is for graphs on the pixel grid, `CsrRecurrence` for any other graph.  Both have

    shape, dtype            of a signal
    degrees                 row sums of the adjacency, in that shape
    signless(x, scale, executor)    ``scale (D + W) x``
    set_laplacian(diagonal, row_scale)  choose ``L = diag(diagonal) - diag(row_scale) W``
    analyze, synthesize     a bank of Chebyshev series of L on [0, lambda_max], and its
                            adjoint for symmetric L
"""

import numpy as np

from nnk_image import _core
from nnk_image.base import memory
from nnk_image.base.checks import ready_for_c
from nnk_image.graph.laplacian import degrees
from nnk_image.graph.planes import EdgePlanes
from nnk_image.graph.window import window_on
from nnk_image.spectral.block_matrix import BlockMatrix, MatrixWeights
from nnk_image.spectral.time_skewing import ORDERS_PER_BLOCK, SkewedSweeps

_EDGES_PER_PIXEL = 20  # that take about as long as a pixel, the unit for sizing chunks
_NONE = np.empty(0)


class GridRecurrence(BlockMatrix):
    """The recurrence on the adjacency in SIMD blocks."""

    @classmethod
    def of_graph(cls, graph, dtype, executor, keep=True):
        """Take the graph of an `ImageGraph` straight from its planes of bits where it has them."""
        spacing = graph.spacing or (1.0,) * len(graph.shape)
        window, _ = window_on(graph.shape, graph.window, spacing)
        dtype, edges = np.dtype(dtype), graph.edges
        has_planes = isinstance(edges, EdgePlanes) and edges.directed == graph.directed
        if not (has_planes and edges.dtype == dtype):
            edges, keep = MatrixWeights(graph, window, dtype, executor), True
        return cls(graph.shape, window, dtype, edges, executor, keep)

    @staticmethod
    def sweeps(order):
        """Sweeps over all rows that `analyze` counts as, for progress bars."""
        return -(-order // ORDERS_PER_BLOCK)

    def analyze(self, signal, coefficients, lambda_max, executor):
        """All Chebyshev series on one signal: (n_bands, *shape)."""
        n_bands, order = len(coefficients), coefficients.shape[1] - 1
        n_images = n_bands + (3 if order > ORDERS_PER_BLOCK else 1)
        n_bytes = n_images * signal.size * self.dtype.itemsize
        memory.require(n_bytes, f"the transform into {n_bands} bands")
        result = np.empty((n_bands, *self.shape), self.dtype)
        older = np.empty((0, self.stride), self.dtype)
        sweeps = SkewedSweeps(self, older, self.padded(signal), order, executor)
        start = np.ascontiguousarray(coefficients[:, 0])
        parts, n_rows = sweeps.split(coefficients[:, 1:]), self.sweeps(order) * self.n_lines
        for k, c in enumerate(parts):
            rows = n_rows * (k + 1) // len(parts) - n_rows * k // len(parts)
            goes_on = k + 1 < len(parts)
            sweeps.run(4 / lambda_max, 2.0, result, c, start, False, goes_on, rows)
            start = _NONE
        return result

    def synthesize(self, bands, coefficients, lambda_max, executor):
        """Sum of the series applied to one signal each, by Clenshaw's recurrence."""
        order = coefficients.shape[1] - 1
        sweeps = SkewedSweeps(self, self.zeros(), self.zeros(), order, executor)
        for c in sweeps.split(coefficients[:, :0:-1]):  # from the last order down to 1
            sweeps.run(4 / lambda_max, 2.0, bands, c, _NONE, True)
        sweeps.run(2 / lambda_max, 1.0, bands, coefficients[:, :1], _NONE, True)
        return np.ascontiguousarray(self.inside(sweeps.last))


class CsrRecurrence:
    """The recurrence on the rows of an adjacency as from `check_adjacency`, in its dtype."""

    def __init__(self, adjacency):
        self.shape, self.dtype = adjacency.shape[:1], adjacency.dtype
        self._adjacency = adjacency
        self._rows = (
            ready_for_c(adjacency.indptr).view(np.uint8),
            ready_for_c(adjacency.indices).view(np.uint8),
            adjacency.indices.dtype == np.int64,
            ready_for_c(adjacency.data),
        )
        self.degrees = degrees(adjacency)
        self._work_of_node = max(1, adjacency.nnz // (_EDGES_PER_PIXEL * len(self.degrees)))

    def signless(self, x, scale, executor):
        """Return ``scale (D + W) x`` for a signal x."""
        return (self.degrees * x + self._adjacency @ x) * scale

    def set_laplacian(self, diagonal, row_scale=None):
        """Choose ``L = diag(diagonal) - diag(row_scale) W``; no row scale is all 1."""
        self._laplacian = diagonal, np.empty(0, self.dtype) if row_scale is None else row_scale

    def analyze(self, signal, coefficients, lambda_max, executor):
        """All Chebyshev series on one signal: (n_bands, N)."""
        result = np.multiply.outer(coefficients[:, 0].astype(self.dtype), signal)
        older, old = np.empty(0, self.dtype), np.ascontiguousarray(signal)
        for c in np.ascontiguousarray(coefficients.T)[1:]:
            new = self._step(4 / lambda_max, 2.0, older, old, result, c, False, executor)
            older, old = old, new
        return result

    def synthesize(self, bands, coefficients, lambda_max, executor):
        """Sum of the series applied to one signal each, by Clenshaw's recurrence."""
        rows = np.ascontiguousarray(coefficients.T)
        older = old = np.zeros(self.shape, self.dtype)
        for c in rows[:0:-1]:
            older, old = old, self._step(4 / lambda_max, 2.0, older, old, bands, c, True, executor)
        return self._step(2 / lambda_max, 1.0, older, old, bands, rows[0], True, executor)

    def _step(self, scale, shift, older, x, images, c, clenshaw, executor):
        result = np.empty_like(x)
        given = *self._laplacian, scale, shift, older, x, result, images, c, clenshaw

        def work(first, last):
            _core.csr_step(*self._rows, *given, first, last)

        executor.run(work, len(x), self._work_of_node)
        return result
