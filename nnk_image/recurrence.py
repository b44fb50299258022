"""The Chebyshev recurrence on a graph.

`GridRecurrence` for graphs on the pixel grid, made straight from a graph's plan or from an
`ImageGraph`.  `CsrRecurrence` for any other graph.  Both have

    shape, dtype            of a signal
    degrees                 row sums of the adjacency, in that shape
    largest_edge_sum(bands) largest degree[i] + degree[j] over the edges
    set_laplacian(terms, bands)  choose ``L = diag(a) - S^-1 W``, where ``terms(degrees)``
                            gives a and s of some nodes; s None is 1
    analyze, synthesize     a bank of Chebyshev series of L, and its adjoint for
                            symmetric L
"""

import numpy as np

from nnk_image import _core, memory
from nnk_image.grid import Grid, KernelWeights, MatrixWeights
from nnk_image.sweeps import ORDERS_PER_SWEEP, Sweeps, orders_per_sweep
from nnk_image.window import window_of

_NONE = np.empty(0)
_EDGES_PER_PIXEL = 20  # that take as long as a pixel of the stages `Bands` knows, about


class GridRecurrence:
    """The recurrence on a `Grid`."""

    SETUP_STAGES = Grid.SETUP_STAGES
    """Passes over all rows of setting up, for progress bars."""

    def __init__(self, grid):
        self._grid, self.shape, self.dtype = grid, grid.shape, grid.dtype
        self.largest_edge_sum, self.set_laplacian = grid.largest_edge_sum, grid.set_laplacian

    @classmethod
    def of_plan(cls, plan, kind, bands):
        """The graph of a `GraphPlan`, straight from its edges."""
        weights = KernelWeights(plan, kind, bands)
        return cls(Grid(plan.image.shape, plan.window, plan.image.dtype, weights, bands))

    @classmethod
    def of_graph(cls, graph, dtype, bands):
        """The graph of an `ImageGraph`, with its weights."""
        window, dtype = window_of(graph.window), np.dtype(dtype)
        weights = MatrixWeights(graph, window, dtype, bands)
        return cls(Grid(graph.shape, window, dtype, weights, bands))

    @property
    def degrees(self):
        """(H, W) row sums of the adjacency, added in the order of the recurrence."""
        return self._grid.degrees

    @staticmethod
    def sweeps(order):
        """Passes over all rows that `analyze` counts as, for progress bars."""
        return -(-order // ORDERS_PER_SWEEP)

    def synthesis_sweeps(self, order):
        """Passes over all rows that `synthesize` counts as."""
        return self.sweeps(order) + 1

    def analyze(self, signal, coefficients, top, bands):
        """All Chebyshev series on one signal: (n_bands, H, W)."""
        grid, n_bands, order = self._grid, len(coefficients), coefficients.shape[1] - 1
        hands_on = order > orders_per_sweep(grid, bands.n_jobs)
        n_images = n_bands + (3 if hands_on else 1)
        n_bytes = n_images * signal.size * self.dtype.itemsize
        memory.require(n_bytes, f"the transform into {n_bands} bands")
        result = np.empty((n_bands, *self.shape), self.dtype)
        older = np.empty((0, grid.stride), self.dtype)
        sweeps = Sweeps(grid, older, grid.padded(signal), order, False, bands)
        start = np.ascontiguousarray(coefficients[:, 0])
        for c in sweeps.split(coefficients[:, 1:]):
            sweeps.add(4 / top, 2.0, result, c, start, False)
            start = _NONE
        sweeps.run(self.sweeps(order) * grid.height)
        return result

    def synthesize(self, bands_in, coefficients, top, bands):
        """Sum of the series applied to one signal each, by Clenshaw's recurrence."""
        grid, order = self._grid, coefficients.shape[1] - 1
        sweeps = Sweeps(grid, grid.padded(0), grid.padded(0), order + 1, True, bands)
        for c in sweeps.split(coefficients[:, :0:-1]):  # from the last order down to 1
            sweeps.add(4 / top, 2.0, bands_in, c, _NONE, True)
        sweeps.add(2 / top, 1.0, bands_in, coefficients[:, :1], _NONE, True)
        sweeps.run(self.synthesis_sweeps(order) * grid.height)
        return np.ascontiguousarray(sweeps.last[:, grid.pad : grid.pad + grid.width])


class CsrRecurrence:
    """The recurrence on plain CSR rows, order by order.

    Parameters
    ----------
    adjacency : (N, N) csr_array
        As from `check_adjacency`, of the dtype to compute in.
    """

    def __init__(self, adjacency):
        self.n = adjacency.shape[0]
        self.shape, self.dtype = (self.n,), adjacency.dtype
        self._adjacency = adjacency
        self._rows = (
            adjacency.indptr.view(np.uint8),
            adjacency.indices.view(np.uint8),
            adjacency.indices.dtype == np.int64,
            adjacency.data,
        )
        self._work_of_node = max(1, adjacency.nnz // (_EDGES_PER_PIXEL * max(1, self.n)))
        self.degrees = adjacency @ np.ones(self.n, self.dtype)

    def largest_edge_sum(self, bands):
        """Largest sum of the degrees of an edge's ends."""
        starts = self._adjacency.indptr[:-1]
        filled = starts < self._adjacency.indptr[1:]
        ends = self.degrees[self._adjacency.indices]
        return float((self.degrees[filled] + np.maximum.reduceat(ends, starts[filled])).max())

    def set_laplacian(self, terms, bands):
        """Choose L by its `node_terms` as a function of degrees."""
        diagonal, square = terms(self.degrees)
        self._laplacian = diagonal, np.empty(0, self.dtype) if square is None else 1 / square

    def sweeps(self, order):
        """Passes over all rows of `analyze`."""
        return order

    def synthesis_sweeps(self, order):
        """Passes over all rows of `synthesize`."""
        return order + 1

    def analyze(self, signal, coefficients, top, bands):
        """All Chebyshev series on one signal: (n_bands, N)."""
        result = np.multiply.outer(coefficients[:, 0].astype(self.dtype), signal)
        older, old = np.empty(0, self.dtype), np.ascontiguousarray(signal)
        for c in np.ascontiguousarray(coefficients.T)[1:]:
            older, old = old, self._step(4 / top, 2.0, older, old, result, c, False, bands)
        return result

    def synthesize(self, bands_in, coefficients, top, bands):
        """Sum of the series applied to one signal each, by Clenshaw's recurrence."""
        rows = np.ascontiguousarray(coefficients.T)
        older = old = np.zeros(self.n, bands_in.dtype)
        for c in rows[:0:-1]:
            older, old = old, self._step(4 / top, 2.0, older, old, bands_in, c, True, bands)
        return self._step(2 / top, 1.0, older, old, bands_in, rows[0], True, bands)

    def _step(self, scale, shift, older, x, images, c, forcing, bands):
        result = np.empty_like(x)

        def work(first, last):
            _core.csr_step(
                *self._rows,
                *self._laplacian,
                scale,
                shift,
                older,
                x,
                result,
                images,
                c,
                forcing,
                first,
                last,
            )

        bands.run(work, self.n, self._work_of_node)
        return result
