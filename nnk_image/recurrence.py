"""The Chebyshev recurrence on a graph, in the layout the C core is fast on.

`GridRecurrence` for graphs on the pixel grid: the adjacency by packets, made straight
from a graph's plan or from an `ImageGraph`.  `CsrRecurrence` for any other graph.  Both
have

    shape, dtype            of a signal
    degrees                 row sums of the adjacency, in that shape
    largest_edge_sum(bands) largest degree[i] + degree[j] over the edges
    set_laplacian(a, r)     choose ``L = diag(a) - diag(r) W``; r None is 1
    analyze, synthesize     a bank of Chebyshev series of L, and its adjoint for
                            symmetric L
"""

import numpy as np

from nnk_image import _core, memory
from nnk_image.graph import choose_edges
from nnk_image.sweeps import ORDERS_PER_SWEEP, Sweeps
from nnk_image.window import window_of

_NONE = np.empty(0)


class GridRecurrence:
    """The recurrence on the packets of a graph on the pixel grid (nnk_grid_operator).

    Parameters
    ----------
    shape : (int, int)
        (H, W) of the image.
    window : Window
        All edges lie in it.
    edges : _core.Edges
        The edges of every pixel.
    dtype : numpy.dtype
        float32 or float64.
    fill : callable
        ``fill(op, y0, y1)`` writes the packets of some rows.
    bands : Bands
    """

    SETUP_STAGES = 3
    """Passes over all rows of setting up, for progress bars."""

    def __init__(self, shape, window, edges, dtype, fill, bands):
        self.shape, self.dtype = shape, dtype
        self.height, self.width = shape
        self.radius = window.radius
        packet = 32 // dtype.itemsize
        self.blocks = -(-self.width // packet)
        self.pad = -(-window.radius // packet) * packet
        self.stride = self.pad + self.blocks * packet + self.pad
        counts = np.empty((self.height, self.blocks), np.int32)
        self._run(lambda y0, y1: _core.count_packets(edges, packet, counts, y0, y1), bands)
        start = np.zeros(counts.size + 1, np.int64)
        np.cumsum(counts.ravel(), out=start[1:])
        memory.require(34 * int(start[-1]), f"the operator of {self.height}x{self.width} pixels")
        self.operator = _core.GridOperator(
            *shape,
            self.blocks,
            self.stride,
            self.pad,
            window.radius,
            *_all_offsets(window),
            start,
            np.empty(max(1, start[-1]), np.uint16),
            np.empty(max(1, start[-1]) * 32, np.uint8),
        )
        self._run(lambda y0, y1: fill(self.operator, y0, y1), bands)
        self._degrees = self.padded()
        self._run(lambda y0, y1: _core.degrees(self.operator, self._degrees, y0, y1), bands)

    @classmethod
    def of_plan(cls, plan, kind, bands):
        """The graph of a `GraphPlan`, straight from its edges."""
        edges, kernel = choose_edges(plan, kind, bands), plan.kernel()

        def fill(op, y0, y1):
            _core.fill_packets(op, edges, kernel, y0, y1)

        return cls(plan.image.shape, plan.window, edges, plan.image.dtype, fill, bands)

    @classmethod
    def of_graph(cls, graph, dtype, bands):
        """The graph of an `ImageGraph`, with its weights."""
        window, adjacency = window_of(graph.window), graph.adjacency
        data = adjacency.data.astype(dtype, copy=False)
        indptr, indices = adjacency.indptr.view(np.uint8), adjacency.indices.view(np.uint8)
        wide = adjacency.indices.dtype == np.int64
        edges = _core.Edges(*graph.shape, window.dy, window.dx)
        numbers = np.arange(window.size**2, dtype=np.int32)
        numbers[len(numbers) // 2 :] -= 1  # (0, 0) has none

        def read(y0, y1):
            _core.edges_of_csr(edges, indptr, indices, wide, window.radius, numbers, y0, y1)

        bands.run(read, *graph.shape)

        def fill(op, y0, y1):
            _core.copy_packets(op, edges, indptr, wide, data, y0, y1)

        return cls(graph.shape, window, edges, np.dtype(dtype), fill, bands)

    @property
    def degrees(self):
        """(H, W) row sums of the adjacency, added in the order of the recurrence."""
        return self._degrees[:, self.pad : self.pad + self.width]

    def largest_edge_sum(self, bands):
        """Largest sum of the degrees of an edge's ends."""
        largest = []

        def work(y0, y1):
            largest.append(_core.edge_bound(self.operator, self._degrees, y0, y1))

        self._run(work, bands)
        return max(largest)

    def set_laplacian(self, diagonal, row_scale):
        """Choose the operator ``diag(diagonal) - diag(row_scale) W``."""
        padded = [
            self.padded(diagonal),
            np.empty(0) if row_scale is None else self.padded(row_scale),
        ]
        self.operator.set_laplacian(*(image.reshape(-1).view(np.uint8) for image in padded))

    def sweeps(self, order):
        """Passes over all rows of `analyze`."""
        return -(-order // ORDERS_PER_SWEEP)

    def synthesis_sweeps(self, order):
        """Passes over all rows of `synthesize`."""
        return self.sweeps(order) + 1

    def analyze(self, signal, coefficients, top, bands):
        """All Chebyshev series on one signal: (n_bands, H, W)."""
        n_bytes = (len(coefficients) + 5) * signal.size * self.dtype.itemsize
        memory.require(n_bytes, f"the transform into {len(coefficients)} bands")
        result = np.empty((len(coefficients), *self.shape), self.dtype)
        sweeps = Sweeps(self, np.empty((0, self.stride), self.dtype), self.padded(signal), bands)
        start = np.ascontiguousarray(coefficients[:, 0])
        for c in sweeps.split(coefficients[:, 1:]):
            sweeps.add(4 / top, 2.0, result, c, start, False)
            start = _NONE
        sweeps.run(self.sweeps(coefficients.shape[1] - 1) * self.height)
        return result

    def synthesize(self, bands_in, coefficients, top, bands):
        """Sum of the series applied to one signal each, by Clenshaw's recurrence."""
        sweeps = Sweeps(self, self.padded(0), self.padded(0), bands)
        for c in sweeps.split(coefficients[:, :0:-1]):  # from the last order down to 1
            sweeps.add(4 / top, 2.0, bands_in, c, _NONE, True)
        sweeps.add(2 / top, 1.0, bands_in, coefficients[:, :1], _NONE, True)
        sweeps.run(self.synthesis_sweeps(coefficients.shape[1] - 1) * self.height)
        return np.ascontiguousarray(sweeps.last[:, self.pad : self.pad + self.width])

    def _run(self, work, bands):
        bands.run(work, self.height, self.width)

    def padded(self, image=None):
        """A new image with columns of zeros at its sides, as the C core wants them.

        `image` is what is inside: an array, a number, or None for what will be written.
        """
        rows = np.empty((self.height, self.stride), self.dtype)
        rows[:, : self.pad] = rows[:, self.pad + self.width :] = 0
        if image is not None:
            rows[:, self.pad : self.pad + self.width] = image
        return rows


def _all_offsets(window):
    """Row and column offsets of the whole window but (0, 0), in row-major order."""
    offsets = np.concatenate([-window.forward[::-1], window.forward])
    return np.ascontiguousarray(offsets[:, 0]), np.ascontiguousarray(offsets[:, 1])


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
        self.degrees = adjacency @ np.ones(self.n, self.dtype)

    def largest_edge_sum(self, bands):
        """Largest sum of the degrees of an edge's ends."""
        starts = self._adjacency.indptr[:-1]
        filled = starts < self._adjacency.indptr[1:]
        ends = self.degrees[self._adjacency.indices]
        return float((self.degrees[filled] + np.maximum.reduceat(ends, starts[filled])).max())

    def set_laplacian(self, diagonal, row_scale):
        """Choose the operator ``diag(diagonal) - diag(row_scale) W``."""
        self._laplacian = diagonal, np.empty(0, self.dtype) if row_scale is None else row_scale

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

        bands.run(work, self.n)
        return result
