"""The adjacency of an image graph in SIMD blocks, the layout the C core multiplies fast.

A *block* is 8 (float32) or 4 (float64) adjacent pixels of a row.  For each block and each offset of
the window that any of its pixels has an edge to, the matrix holds which pixels have it and the
weights of these edges.  It stores two offsets at a time as an *entry* (see `nnk_grid_operator`).

A wavelet transform keeps its entries.  Denoising uses an operator once, and the entries of a large
image would take most of the memory: they are recomputed from the planes of edges for every use,
some rows at a time.  Entries of volumes are always kept, because each order of the recurrence reads
whole slices ahead, so that most rows would be in memory anyway.
"""

from functools import partial

import numpy as np

from nnk_image import _core
from nnk_image.base import memory
from nnk_image.base.checks import ready_for_c
from nnk_image.base.geometry import BLOCK_BYTES, Lines
from nnk_image.graph.pruning import new_edges

MAX_KEPT_BYTES = 1 << 27
"""An operator that is used once keeps its entries up to this size, and recomputes larger ones."""

_ENTRY_BYTES = 8  # of an entry besides its weights: two offsets, and a bit per edge
_PADDING_WEIGHTS = 16  # after the weights of a row, because the C core may read 64 bytes more
_FIXED_COST = 8  # of a block besides its entries, in units of the time that an entry takes
_BYTES_AT_ONCE = 1 << 20  # entries made before they are used, few enough to stay in cache


class MatrixEdges:
    """Edges and weights read from the matrix of an `ImageGraph`; same interface as `EdgePlanes`."""

    def __init__(self, graph, stencil, dtype, executor):
        adjacency = graph.adjacency
        self._data = ready_for_c(adjacency.data, dtype)
        self._indptr, indices = (
            ready_for_c(a).view(np.uint8) for a in (adjacency.indptr, adjacency.indices)
        )
        self._wide = wide = adjacency.indices.dtype == np.int64
        lines = Lines.of(graph.shape, stencil.radii)
        radius, border = lines.radius, lines.border
        self.bits = edges = new_edges(graph.shape, stencil, lines)
        dy, dx = _all_offsets(stencil)
        numbers = np.full((2 * border + 1, 2 * radius + 1), -1, np.int32)
        numbers[dy + border, dx + radius] = np.arange(len(dy))
        numbers = numbers.ravel()

        matrix = self._indptr, indices, wide, border, radius, numbers
        read = partial(_core.edges_of_csr, edges, *matrix)
        executor.run(read, lines.height, lines.width, counts_as=len(lines.rows))

    def fill(self, operator, y0, y1):
        """Write the entries of rows [y0, y1)."""
        _core.copy_entries(operator, self.bits, self._indptr, self._wide, self._data, y0, y1)


class BlockMatrix:
    """An operator ``L = diag(a) - diag(r) W`` on images, the adjacency W in SIMD blocks.

    `edges` are `EdgePlanes` or `MatrixEdges`. With `keep` all entries are kept, for an operator
    that is used more than once or whose matrix may change.

    Attributes
    ----------
    height, width : int
        Rows of the image as `Lines` lays it out, gaps included, and pixels of a row.
    n_lines : int
        Rows that are not gaps; all in images of two axes, where `has_gaps` is False.
    border : int
        Number of rows by which each order of the recurrence lags behind the one before, at least 1.
    stride : int
        Numbers in a row of a padded image, whose rows are whole blocks with zeros on both sides.
    work : (H,) ndarray
        Approximate fraction of the recurrence's time that is spent in the rows up to each one.
    """

    SETUP_SWEEPS = 2  # passes over all rows to set up an operator, for progress bars

    def __init__(self, shape, stencil, dtype, edges, executor, keep=True):
        self.shape, self.dtype = shape, dtype
        self._lines = lines = Lines.of(shape, stencil.radii)
        self.height, self.width, self.n_lines = lines.height, lines.width, len(lines.rows)
        self.has_gaps = self.n_lines < self.height
        self.border = max(1, lines.border)
        lanes = BLOCK_BYTES // dtype.itemsize
        self._blocks, pad_blocks = -(-self.width // lanes), -(-lines.radius // lanes)
        self._pad, self.stride = pad_blocks * lanes, (self._blocks + 2 * pad_blocks) * lanes
        self._inner = slice(self._pad, self._pad + self.width)  # the pixels of a padded row
        self._offsets = _all_offsets(stencil)
        self._before = before = np.empty((self.height, self._blocks + 1, 2), np.int32)
        count = partial(_core.count_entries, edges.bits, lanes, before)
        work = int(self.width * stencil.work)
        executor.run(count, self.height, work, counts_as=self.n_lines)
        of_rows = before[:, -1] + np.array([0, _PADDING_WEIGHTS], np.int64)  # entries, weights
        in_all, self._most = of_rows.sum(axis=0), of_rows.max(axis=0)
        work = np.cumsum(of_rows[:, 0] + _FIXED_COST * self._blocks)
        self.work = work / work[-1]
        self._edges, self._kept, self._laplacian = edges, None, None
        if keep or self.has_gaps or self._bytes(in_all) <= MAX_KEPT_BYTES:
            row_start = np.cumsum(of_rows, axis=0) - of_rows
            self._kept = self._new_operator(row_start, in_all)
        self._degrees = degrees = self.zeros()

        def sum_up(operator, y0, y1):
            _core.degrees(operator, degrees, y0, y1)

        self._visit(sum_up, executor)
        if self._kept is not None:
            self._edges = None

    @property
    def keeps_entries(self):
        """Whether the entries of all rows are kept."""
        return self._kept is not None

    @property
    def degrees(self):
        """Row sums of the adjacency, added in the same order as the terms of the recurrence."""
        return self.inside(self._degrees)

    def signless(self, x, scale, executor):
        """Return ``scale (D + W) x`` for an image x."""
        x, out = self.padded(x), self.zeros()

        def multiply(operator, y0, y1):
            _core.signless(operator, self._degrees, scale, x, out, y0, y1)

        self._visit(multiply, executor)
        return self.inside(out)

    def set_laplacian(self, diagonal, row_scale=None):
        """Set ``L = diag(diagonal) - diag(row_scale) W`` by two images; None stands for 1."""
        images = self.padded(diagonal), np.empty(0) if row_scale is None else self.padded(row_scale)
        self._laplacian = [image.reshape(-1).view(np.uint8) for image in images]
        if self._kept is not None:
            self._kept.set_laplacian(*self._laplacian)

    def operator(self, n_rows):
        """Return L as the C core takes it, for one pass over the image from top to bottom.

        Unless `keeps_entries`, there is room for the entries of `n_rows` rows: the caller writes
        those of each row by `fill` before they are used, over those of the row `n_rows` above.
        """
        if self._kept is not None:
            return self._kept
        operator = self._hold(n_rows)
        operator.set_laplacian(*self._laplacian)
        return operator

    def fill(self, operator, y0, y1):
        """Write the entries of rows [y0, y1)."""
        self._edges.fill(operator, y0, y1)

    def padded(self, image):
        """Return a copy of an image with zeros at its sides and in its gaps."""
        rows = self.zeros()
        rows[self._lines.rows, self._inner] = image.reshape(-1, self.width)
        return rows

    def zeros(self):
        """Return an image of zeros, padded."""
        return np.zeros((self.height, self.stride), self.dtype)

    def inside(self, rows):
        """Return the image within padded rows."""
        return rows[self._lines.rows, self._inner].reshape(self.shape)

    def _hold(self, n_rows):
        """Allocate an operator with room for the entries of `n_rows` rows."""
        n_rows = min(n_rows, self.height)
        return self._new_operator(self._most * np.arange(n_rows)[:, None], self._most * n_rows)

    def _bytes(self, numbers):
        n_entries, n_weights = numbers.tolist()
        return _ENTRY_BYTES * n_entries + self.dtype.itemsize * n_weights

    def _new_operator(self, row_start, numbers):
        """Allocate an operator; `numbers` are those of its entries and weights.

        Both are in one array.  When the C library returns freed memory to the system depends on the
        size of the largest array that a process has had: with two smaller arrays it did so after
        each call, and each call took a fifth longer on two threads.
        """
        memory.require(
            self._bytes(numbers), f"the operator of {'x'.join(map(str, self.shape))} pixels"
        )
        n_entries, n_weights = numbers.tolist()
        room = np.empty(1 + n_entries + -(-n_weights * self.dtype.itemsize // 8), np.uint64)
        weights = room[n_entries + 1 :].view(self.dtype)[:n_weights]
        layout = self.width, self._blocks, self.stride, self._pad, self.border
        nodes = self.n_lines * self.width, *self._offsets
        entries = self._before, row_start, room[: n_entries + 1], weights.view(np.uint8)
        return _core.GridOperator(*layout, *nodes, self._lines.first_node, *entries)

    def _visit(self, work, executor):
        """Call ``work(operator, y0, y1)`` on chunks of rows, once their entries are filled in.

        The first visit, in the constructor, fills in the entries that are kept as well.
        """

        def visit(y0, y1):
            if self._edges is None:
                work(self._kept, y0, y1)
                return
            step = max(1, _BYTES_AT_ONCE // self._bytes(self._most))
            operator = self._hold(step) if self._kept is None else self._kept
            for y in range(y0, y1, step):
                end = min(y + step, y1)
                self.fill(operator, y, end)
                work(operator, y, end)

        executor.run(visit, self.height, self.width, counts_as=self.n_lines)


def _all_offsets(stencil):
    """Return row and column offsets of the window without its center, in row-major order."""
    return tuple(np.concatenate([-o[::-1], o]) for o in (stencil.dy, stencil.dx))
