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
from nnk_image.window import window_of

ORDERS_PER_SWEEP = 8
"""Orders computed in one sweep down an image (measured: 6 to 15 are alike)."""

_NONE = np.empty(0)

_PIXELS_PER_SWEEP = 1 << 20  # rows that neighbouring bands both compute stay a few percent
_STRIP = 512  # columns swept down together: of wider images too many rows are in use
_PACKETS_PER_BLOCK = 30  # of NNK graphs; where there are more, bands are smaller


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
        packet = 32 // dtype.itemsize
        self.blocks = -(-self.width // packet)
        self.pad = -(-window.radius // packet) * packet
        self.stride = self.pad + self.blocks * packet + self.pad
        counts = np.empty((self.height, self.blocks), np.int32)
        self._run(lambda y0, y1: _core.count_packets(edges, packet, counts, y0, y1), bands)
        start = np.zeros(counts.size + 1, np.int64)
        np.cumsum(counts.ravel(), out=start[1:])
        memory.require(34 * int(start[-1]), f"the operator of {self.height}x{self.width} pixels")
        self._op = _core.GridOperator(
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
        self._run(lambda y0, y1: fill(self._op, y0, y1), bands)
        self._degrees = self._padded()
        self._run(lambda y0, y1: _core.degrees(self._op, self._degrees, y0, y1), bands)

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
            largest.append(_core.edge_bound(self._op, self._degrees, y0, y1))

        self._run(work, bands)
        return max(largest)

    def set_laplacian(self, diagonal, row_scale):
        """Choose the operator ``diag(diagonal) - diag(row_scale) W``."""
        padded = [
            self._padded(diagonal),
            np.empty(0) if row_scale is None else self._padded(row_scale),
        ]
        self._op.set_laplacian(*(image.reshape(-1).view(np.uint8) for image in padded))

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
        older, old = np.empty((0, self.stride), self.dtype), self._padded(signal)
        spare = (self._padded(), self._padded())
        start = np.ascontiguousarray(coefficients[:, 0])
        for first in range(1, coefficients.shape[1], ORDERS_PER_SWEEP):
            c = np.ascontiguousarray(coefficients[:, first : first + ORDERS_PER_SWEEP])
            older, old, spare = self._group(4 / top, older, old, spare, result, c, start, "", bands)
            start = _NONE
        return result

    def synthesize(self, bands_in, coefficients, top, bands):
        """Sum of the series applied to one signal each, by Clenshaw's recurrence."""
        older, old = self._padded(), self._padded()
        spare = (self._padded(), self._padded())
        falling = coefficients[:, :0:-1]  # from the last order down to 1
        for first in range(0, falling.shape[1], ORDERS_PER_SWEEP):
            c = np.ascontiguousarray(falling[:, first : first + ORDERS_PER_SWEEP])
            older, old, spare = self._group(
                4 / top, older, old, spare, bands_in, c, _NONE, "all", bands
            )
        c = np.ascontiguousarray(coefficients[:, :1])
        _, old, _ = self._group(2 / top, older, old, spare, bands_in, c, _NONE, "last", bands)
        return np.ascontiguousarray(old[:, self.pad : self.pad + self.width])

    def _group(self, scale, older, old, spare, images, coefficients, start, forcing, bands):
        """Advance by the orders of `coefficients`: returns the new last two and two spares."""
        new_older, new_old = spare

        def sweep(y0, y1):
            _core.chebyshev_group(
                self._op,
                scale,
                1.0 if forcing == "last" else 2.0,
                older,
                old,
                new_older,
                new_old,
                images,
                coefficients,
                start,
                bool(forcing),
                _STRIP,
                y0,
                y1,
            )

        work = self._op.n_packets / (self.height * self.blocks * _PACKETS_PER_BLOCK)
        pixels = int(_PIXELS_PER_SWEEP / min(max(1, work), 4))
        rows = min(pixels // self.width, -(-self.height // bands.n_jobs))
        bands.run(sweep, self.height, self.width, max(64, rows))
        if not older.size:
            older = self._padded()
        return new_older, new_old, (older, old)

    def _run(self, work, bands):
        bands.run(work, self.height, self.width)

    def _padded(self, image=None):
        rows = np.zeros((self.height, self.stride), self.dtype)
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
