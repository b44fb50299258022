"""Operators on the pixel grid, in the layout the C core is fast on (nnk_grid_operator).

The adjacency goes by packets.  Those of small graphs are kept.  Those of large ones would be
most of the memory in use, and fresh memory often costs more than they do: where their edges
and features tell them, they are made anew for every use, some rows at a time.
"""

import numpy as np

from nnk_image import _core, memory
from nnk_image.graph import BIT_SPEED, choose_edges

KEPT = 1 << 27
"""Most bytes of packets that are kept though they could be made anew."""

_PAIR = 8  # bytes of two packets, besides their weights
_PAST_ROW = 16  # weights after each row, of which the C core may read 64 bytes
_PAIRS_BESIDE = 8  # of a block: the time of what is done beside its pairs, about
_SPAN = 1 << 15  # pixels whose few numbers each stay in cache
_HELD = 1 << 20  # bytes of packets that a pass over rows holds: they stay in cache


class KernelWeights:
    """Writes packets of the edges of a `GraphPlan`, with weights of its kernel."""

    lasting = True  # nobody else holds what they are made from

    def __init__(self, plan, kind, bands):
        self.edges, self._kernel = choose_edges(plan, kind, bands), plan.kernel()

    def fill(self, operator, y0, y1):
        """The packets of rows [y0, y1)."""
        _core.fill_packets(operator, self.edges, self._kernel, y0, y1)


class MatrixWeights:
    """Writes packets of an `ImageGraph`, with its weights in a given dtype."""

    lasting = False  # the caller may change the matrix

    def __init__(self, graph, window, dtype, bands):
        adjacency = graph.adjacency
        self._data = adjacency.data.astype(dtype, copy=False)
        self._indptr, indices = adjacency.indptr.view(np.uint8), adjacency.indices.view(np.uint8)
        self._wide = wide = adjacency.indices.dtype == np.int64
        self.edges = edges = _core.Edges(*graph.shape, window.dy, window.dx)
        numbers = np.arange(window.size**2, dtype=np.int32)
        numbers[len(numbers) // 2 :] -= 1  # (0, 0) has none

        def read(y0, y1):
            _core.edges_of_csr(edges, self._indptr, indices, wide, window.radius, numbers, y0, y1)

        bands.run(read, *graph.shape)

    def fill(self, operator, y0, y1):
        """The packets of rows [y0, y1)."""
        _core.copy_packets(operator, self.edges, self._indptr, self._wide, self._data, y0, y1)


class Grid:
    """An operator ``L = diag(a) - diag(r) W`` on images, W by packets.

    Parameters
    ----------
    shape : (int, int)
        (H, W) of the image.
    window : Window
        All edges lie in it.
    dtype : numpy.dtype
        float32 or float64.
    weights : KernelWeights or MatrixWeights
        Tells the edges and writes their packets.
    bands : Bands

    Attributes
    ----------
    height, width, radius : int
    blocks : int
        Of a row: its packets' worth of pixels.
    pad, stride : int
        Columns beside a padded row, and all its columns.
    n_pairs : int
        Of packets.
    work : (H,) ndarray
        Share of the recurrence's time that the rows down to each one take, about.
    """

    SETUP_STAGES = 3
    """Passes over all rows of setting up, for progress bars."""

    def __init__(self, shape, window, dtype, weights, bands):
        self.shape, self.dtype = shape, dtype
        self.height, self.width = shape
        self.radius = window.radius
        packet = 32 // dtype.itemsize
        self.blocks = -(-self.width // packet)
        self.pad = -(-window.radius // packet) * packet
        self.stride = self.pad + self.blocks * packet + self.pad
        self._offsets = _all_offsets(window)
        self._before = before = np.empty((self.height, self.blocks + 1, 2), np.int32)
        edges = weights.edges

        def count(y0, y1):
            _core.count_packets(edges, packet, before, y0, y1)

        bands.run(count, self.height, int(self.width * window.work), speed=BIT_SPEED)
        of_rows = before[:, -1] + np.array([0, _PAST_ROW], np.int64)  # pairs, weights
        in_all, self._most = of_rows.sum(axis=0), of_rows.max(axis=0)
        self.n_pairs = int(in_all[0])
        work = np.cumsum(of_rows[:, 0] + _PAIRS_BESIDE * self.blocks)
        self.work = work / work[-1]
        self._weights, self._kept, self._laplacian = weights, None, None
        fresh = None
        if not weights.lasting or self._bytes(in_all) <= KEPT:
            end = np.cumsum(of_rows, axis=0)
            packets, start = self._room(in_all), end - of_rows
            self._kept = self._new_operator(start, *packets)

            def fresh(y0, y1):
                spans = zip(packets, start[y0], end[y1 - 1], strict=True)
                return [part[first:last].view(np.uint8) for part, first, last in spans]

        self._degrees = degrees = self._new_image()

        def sum_up(operator, y0, y1):
            self._pad(degrees[y0:y1])
            _core.degrees(operator, degrees, y0, y1)

        self._visit(sum_up, bands, fresh)
        if self._kept is not None:
            self._weights = None

    @property
    def keeps_packets(self):
        """Whether the packets of all rows are there for good."""
        return self._kept is not None

    @property
    def degrees(self):
        """(H, W) row sums of the adjacency, added in the order of the recurrence."""
        return self._degrees[:, self.pad : self.pad + self.width]

    def largest_edge_sum(self, bands):
        """Largest sum of the degrees of an edge's ends."""
        largest = []
        self._visit(
            lambda op, y0, y1: largest.append(_core.edge_bound(op, self._degrees, y0, y1)), bands
        )
        return max(largest)

    def set_laplacian(self, terms, bands):
        """Choose L by its `node_terms` as a function of degrees."""
        scaled = terms(self.degrees[:1])[1] is not None
        diagonal, row_scale = self._new_image(), self._new_image() if scaled else _NONE

        # By spans that stay in cache; so short that threads would only wait for each other.
        step = max(1, _SPAN // self.width)
        for y in range(0, self.height, step):
            rows = slice(y, min(y + step, self.height))
            a, square = terms(self.degrees[rows])
            self._pad(diagonal[rows], a)
            if scaled:
                self._pad(row_scale[rows], 1 / square)
            bands.advance(rows.stop - y)
        self._laplacian = [image.reshape(-1).view(np.uint8) for image in (diagonal, row_scale)]
        if self._kept is not None:
            self._kept.set_laplacian(*self._laplacian)

    def operator(self, n_rows):
        """L for going down the image once, with room for the packets of `n_rows` rows.

        Unless the packets are kept, `fill` must write those of a row before they are used,
        and they take the place of those of the row `n_rows` above.
        """
        if self._kept is not None:
            return self._kept
        operator = self._hold(n_rows)
        operator.set_laplacian(*self._laplacian)
        return operator

    def fill(self, operator, y0, y1):
        """Write the packets of rows [y0, y1)."""
        self._weights.fill(operator, y0, y1)

    def padded(self, image):
        """A copy of an image (or number) with zeros at its sides, as the C core wants them."""
        rows = self._new_image()
        self._pad(rows, image)
        return rows

    def _new_image(self):
        return np.empty((self.height, self.stride), self.dtype)

    def _pad(self, rows, inside=None):
        """Put zeros beside some rows of a padded image, and `inside` between them."""
        rows[:, : self.pad] = rows[:, self.pad + self.width :] = 0
        if inside is not None:
            rows[:, self.pad : self.pad + self.width] = inside

    def _hold(self, n_rows):
        n_rows = min(n_rows, self.height)
        room = self._room(self._most * n_rows)
        return self._new_operator(self._most * np.arange(n_rows)[:, None], *room)

    def _bytes(self, numbers):
        n_pairs, n_weights = numbers.tolist()
        return _PAIR * n_pairs + self.dtype.itemsize * n_weights

    def _room(self, numbers):
        """Room for so many packets' pairs and weights."""
        height, width = self.shape
        memory.require(self._bytes(numbers), f"the operator of {height}x{width} pixels")
        n_pairs, n_weights = numbers.tolist()
        return np.empty(max(1, n_pairs), np.uint64), np.empty(n_weights, self.dtype)

    def _new_operator(self, row_start, pair, weight):
        return _core.GridOperator(
            *self.shape,
            self.blocks,
            self.stride,
            self.pad,
            self.radius,
            *self._offsets,
            self._before,
            row_start,
            pair,
            weight.view(np.uint8),
        )

    def _visit(self, work, bands, fresh=None):
        """Call ``work(operator, y0, y1)`` for all rows, with an operator that has their packets."""

        def visit(y0, y1):
            if self._weights is None:
                work(self._kept, y0, y1)
                return
            step = max(1, _HELD // self._bytes(self._most))
            operator = self._hold(step) if self._kept is None else self._kept
            for y in range(y0, y1, step):
                end = min(y + step, y1)
                self.fill(operator, y, end)
                work(operator, y, end)

        bands.run(visit, *self.shape, fresh=fresh)


_NONE = np.empty(0)


def _all_offsets(window):
    """Row and column offsets of the whole window but (0, 0), in row-major order."""
    offsets = np.concatenate([-window.forward[::-1], window.forward])
    return np.ascontiguousarray(offsets[:, 0]), np.ascontiguousarray(offsets[:, 1])
