"""The Chebyshev recurrence on a graph.

`GridRecurrence` is for graphs on the pixel grid, `CsrRecurrence` for any other graph. Both have the
`shape` and `dtype` of a signal, the `degrees` in that shape, and the methods of `CsrRecurrence`:
`analyze` applies Chebyshev series of L on [0, bound], `synthesize` is its adjoint if L is
symmetric.
"""

import numpy as np

from nnk_image.base import memory
from nnk_image.graph.laplacian import degrees
from nnk_image.graph.pruning import EdgePlanes
from nnk_image.graph.window import stencil_on
from nnk_image.spectral.block_matrix import BlockMatrix, MatrixEdges
from nnk_image.spectral.time_skewing import ORDERS_PER_BLOCK, SkewedSweeps


class GridRecurrence(BlockMatrix):
    """The recurrence on the pixel grid, with the adjacency in SIMD blocks."""

    @classmethod
    def of_graph(cls, graph, dtype, executor, keep=True):
        """Set up the recurrence on an `ImageGraph`, from its planes of bits if it has them."""
        spacing = graph.spacing or (1.0,) * len(graph.shape)
        stencil = stencil_on(graph.shape, graph.window, spacing)
        dtype, edges = np.dtype(dtype), graph.edges
        if not (isinstance(edges, EdgePlanes) and edges.dtype == dtype):
            edges, keep = MatrixEdges(graph, stencil, dtype, executor), True
        return cls(graph.shape, stencil, dtype, edges, executor, keep)

    @staticmethod
    def sweeps(order):
        """Return how many passes over all rows `analyze` counts as, for progress bars."""
        return -(-order // ORDERS_PER_BLOCK)

    def analyze(self, signal, coefficients, bound, executor):
        """Apply all Chebyshev series to one signal: (n_bands, *shape)."""
        n_bands, order = len(coefficients), coefficients.shape[1] - 1
        n_images = n_bands + (3 if order > ORDERS_PER_BLOCK else 1)
        n_bytes = n_images * signal.size * self.dtype.itemsize
        memory.require(n_bytes, f"the transform into {n_bands} bands")
        result = np.empty((n_bands, *self.shape), self.dtype)
        older = np.empty((0, self.stride), self.dtype)
        sweeps = SkewedSweeps(self, older, self.padded(signal), order, bound, executor)
        parts, n_rows = sweeps.split(coefficients[:, 1:]), self.sweeps(order) * self.n_lines
        for k, part in enumerate(parts):
            sweeps.run(
                result,
                part,
                start=None if k else coefficients[:, 0],
                goes_on=k + 1 < len(parts),
                n_rows=n_rows * (k + 1) // len(parts) - n_rows * k // len(parts),
            )
        return result

    def synthesize(self, bands, coefficients, bound, executor):
        """Apply each series to its band and add up the results, by Clenshaw's recurrence."""
        order = coefficients.shape[1] - 1
        sweeps = SkewedSweeps(self, self.zeros(), self.zeros(), order, bound, executor)
        for c in sweeps.split(coefficients[:, :0:-1]):  # from the last order down to 1
            sweeps.run(bands, c, clenshaw=True)
        sweeps.run(bands, coefficients[:, :1], clenshaw=True, half=True)
        return np.ascontiguousarray(self.inside(sweeps.last))


class CsrRecurrence:
    """The recurrence on an adjacency in CSR format (see `check_adjacency`), in its dtype.

    It runs on one thread; scipy's products take as long as fused ones in C.
    """

    def __init__(self, adjacency):
        self.shape, self.dtype = adjacency.shape[:1], adjacency.dtype
        self._adjacency, self.degrees = adjacency, degrees(adjacency)

    def signless(self, x, scale, executor):
        """Return ``scale (D + W) x`` for a signal x."""
        return (self.degrees * x + self._adjacency @ x) * scale

    def set_laplacian(self, diagonal, row_scale=None):
        """Set ``L = diag(diagonal) - diag(row_scale) W``; a `row_scale` of None stands for 1."""
        self._diagonal, self._row_scale = diagonal, row_scale

    def analyze(self, signal, coefficients, bound, executor):
        """Apply all Chebyshev series to one signal: (n_bands, N)."""
        first, *others = coefficients.astype(self.dtype).T
        result = np.multiply.outer(first, signal)
        older, old = None, signal
        for c in others:
            new = self._shifted(old, bound)
            if older is not None:
                new = 2 * new - older
            for band, weight in zip(result, c, strict=True):
                band += weight * new
            older, old = old, new
        return result

    def synthesize(self, bands, coefficients, bound, executor):
        """Apply each series to its band and add up the results, by Clenshaw's recurrence."""
        first, *others = coefficients.astype(self.dtype).T
        older = old = np.zeros(self.shape, self.dtype)
        for c in others[::-1]:
            new = 2 * self._shifted(old, bound) - older
            older, old = old, _plus_weighted(new, c, bands)
        return _plus_weighted(self._shifted(old, bound) - older, first, bands)

    def _shifted(self, x, bound):
        """Return ``((2 / bound) L - I) x``."""
        product = self._adjacency @ x
        if self._row_scale is not None:
            product *= self._row_scale
        return self.dtype.type(2 / bound) * (self._diagonal * x - product) - x


def _plus_weighted(total, weights, bands):
    """Add the weighted bands to the total, one after the other, and return it."""
    for weight, band in zip(weights, bands, strict=True):
        total += weight * band
    return total
