"""The Chebyshev recurrence on the graph of an image.

`GridRecurrence` is for graphs on the pixel grid, `CsrRecurrence` (csr_chebyshev.py) for any other
graph.  Both have

    shape, dtype            of a signal
    degrees                 row sums of the adjacency, in that shape
    padded_degrees          the same as the recurrence lays signals out, and
    inside(rows)            the signal within what is laid out so
    signless(x, out, scale, executor)   out = scale (D + W) x, both laid out so
    set_laplacian(terms, executor)  choose ``L = diag(a) - S^-1 W``, where ``terms(degrees)``
                            gives a and s of some nodes; s None is 1
    set_row_scale(scale)    or ``L = I - diag(scale) W``
    analyze, synthesize     a bank of Chebyshev series of L on [0, lambda_max], and its
                            adjoint for symmetric L
"""

import numpy as np

from nnk_image.base import memory
from nnk_image.base.image import check_spacing
from nnk_image.graph.planes import EdgePlanes
from nnk_image.graph.window import window_on
from nnk_image.spectral.block_matrix import BlockMatrix, MatrixWeights
from nnk_image.spectral.time_skewing import ORDERS_PER_BLOCK, SkewedSweeps

_NONE = np.empty(0)


class GridRecurrence(BlockMatrix):
    """The recurrence on the adjacency in SIMD blocks."""

    @classmethod
    def of_graph(cls, graph, dtype, executor, keep=True):
        """Take the graph of an `ImageGraph` straight from its planes of bits where it has them."""
        spacing = check_spacing(graph.spacing, len(graph.shape))
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
        older = np.empty((0, self.rows.stride), self.dtype)
        sweeps = SkewedSweeps(self, older, self.padded(signal), order, False, executor)
        start = np.ascontiguousarray(coefficients[:, 0])
        for c in sweeps.split(coefficients[:, 1:]):
            sweeps.add(4 / lambda_max, 2.0, result, c, start, False)
            start = _NONE
        sweeps.run(self.sweeps(order) * self.n_lines)
        return result

    def synthesize(self, bands, coefficients, lambda_max, executor):
        """Sum of the series applied to one signal each, by Clenshaw's recurrence."""
        order = coefficients.shape[1] - 1
        sweeps = SkewedSweeps(self, self.zeros(), self.zeros(), order + 1, True, executor)
        for c in sweeps.split(coefficients[:, :0:-1]):  # from the last order down to 1
            sweeps.add(4 / lambda_max, 2.0, bands, c, _NONE, True)
        sweeps.add(2 / lambda_max, 1.0, bands, coefficients[:, :1], _NONE, True)
        sweeps.run()
        return np.ascontiguousarray(self.inside(sweeps.last))
