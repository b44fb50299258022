"""Many orders of the Chebyshev recurrence in few journeys through memory, on several threads.

Order k of a row needs order k - 1 of the `radius` rows above and below it, and nothing else.  So
a *block* of some orders can be computed in one sweep down the rows, each order `radius` rows
behind the one before, while the rows they share are in cache (`_core.ChebyshevSweep`).  Wide
images are swept in strips of columns.

Threads get *tiles*: spans of rows that move down by `radius` rows with every order, which is time
skewing of iterated stencils.  At its top a tile needs only what it has computed itself.  At its
bottom it needs the first rows of the tile below, so its last rows of a block, its *tail*, wait
until the body of the tile below is done:

    order 1   |   tile 0   |   tile 1   |
    order 2   |    tile 0    |  tile 1  |        rows grow to the right,
    order 3   |      tile 0    | tile 1 |        one block of three orders

All threads meet once per block: each then does the tail of the last block and the body of
the next one.  Nothing is computed twice, and every number by the same operations as on one thread.

Where the operator's entries are not kept (`BlockMatrix`), or there are too few rows for tiles, the
blocks follow each other down the image as a pipeline: in a step every block moves on by some
rows, as far as the one before it had come, and all threads meet after each step.
"""

from functools import partial
from itertools import pairwise

import numpy as np

from nnk_image import _core

ORDERS_PER_BLOCK = 8
"""Most orders in a block (measured: 6 to 15 are alike)."""

_ORDERS_PER_PIXEL = 16  # these take about as long as a pixel does in the slowest stage
_STRIP = 1024  # columns swept down together: of more, the rows in use would not stay in cache
_LEAST_STRIP = 256  # columns of a strip that is there for another thread to work on
_ORDERS_PER_FILLING = 32  # use the same entries, where these are not kept
_PIXELS_PER_STEP = 1 << 15  # of the pipeline
_STEP_ROWS = 8, 32  # of the pipeline, at least and at most


def tile_boundaries(work, radius, n_orders, n_threads):
    """Rows at which the tiles for so many threads meet in order 0; fewer on small images.

    Parameters
    ----------
    work : (H,) ndarray
        Share of the work down to each row, from which tiles get fair shares.
    radius, n_orders : int
        A tile moves down by ``radius`` rows in each of so many orders.
    n_threads : int
    """
    moves = n_orders * radius  # the first tile grows by so much, and the last one shrinks
    least = -(-moves // 2) + 2 * radius
    n_tiles = min(n_threads, len(work) // least)
    if n_tiles < 2:
        return []
    k = np.arange(1, n_tiles)
    # What the tiles above have beyond their least must not shrink from boundary to boundary.
    spare = np.maximum.accumulate(np.searchsorted(work, k / n_tiles) - k * least)
    rows = np.clip(spare, 0, len(work) - n_tiles * least) + k * least
    return (rows - moves // 2).tolist()


class _Block:
    """A block of orders: how many, and its sweeps by tile and strip."""

    def __init__(self, n_orders, tiles):
        self.n_orders, self.tiles = n_orders, tiles

    @property
    def strips(self):
        """The sweeps of the only tile, strip by strip."""
        (strips,) = self.tiles
        return strips


class SkewedSweeps:
    """The blocks of orders of one polynomial, to be added first to last and then run.

    Parameters
    ----------
    matrix : BlockMatrix
    older, last : (H, stride) ndarrays
        The two orders to begin with, overwritten; `older` is empty if there is one only.
        Afterwards `last` is the last order, if `keep_last`.
    n_orders : int
        Of all blocks together.
    keep_last : bool
    executor : RowExecutor
    """

    def __init__(self, matrix, older, last, n_orders, keep_last, executor):
        self._matrix, self._executor = matrix, executor
        self._older, self.last, self._free = older, last, []
        self._n_done, self._n_orders, self._keep_last = 0, n_orders, keep_last
        n_pixels = matrix.height * matrix.width
        self._n_threads = executor.threads_for(n_pixels * n_orders // _ORDERS_PER_PIXEL)
        self._boundaries = []
        if matrix.keeps_entries:
            self._boundaries = tile_boundaries(
                matrix.work, matrix.radius, n_orders, self._n_threads
            )
        self._in_tiles = matrix.keeps_entries and (self._boundaries or self._n_threads == 1)
        self._strips = self._strips_of_columns()
        self._blocks = []
        self._step = int(np.clip(_PIXELS_PER_STEP // matrix.width, *_STEP_ROWS))
        self._operator = matrix.operator(self._rows_held())

    def split(self, coefficients):
        """The columns of (n_bands, order) coefficients, in parts for the blocks."""
        n_blocks = -(-coefficients.shape[1] // ORDERS_PER_BLOCK)
        return np.array_split(coefficients, n_blocks, axis=1)

    def add(self, scale, shift, images, coefficients, start, clenshaw):
        """A block of orders after those before it (arguments: `_core.ChebyshevSweep`)."""
        coefficients = np.ascontiguousarray(coefficients)
        n_orders = coefficients.shape[1]
        goes_on = self._n_done + n_orders < self._n_orders
        results = self._new_image(goes_on), self._new_image(goes_on or self._keep_last)
        in_turn = self._older, self.last, *results
        given = scale, shift, *in_turn, images, coefficients, start, clenshaw
        self._blocks.append(_Block(n_orders, self._tiles(given)))
        self._free += [image for image in in_turn[:2] if image.size]
        self._older, self.last = results
        self._n_done += n_orders

    def run(self, n_rows):
        """Compute all blocks; counts as `n_rows` rows of progress."""
        if self._in_tiles:
            self._run_tiles(n_rows)
            return
        parts = _parts(self._blocks, _ORDERS_PER_FILLING)
        ends = [n_rows * n // len(parts) for n in range(len(parts) + 1)]
        for blocks, (begin, end) in zip(parts, pairwise(ends), strict=True):
            self._run_pipeline(blocks, end - begin)

    def _run_tiles(self, n_rows):
        """Each block by tiles; all threads meet between the blocks."""
        ends = [n_rows * n // len(self._blocks) for n in range(len(self._blocks) + 1)]
        tails = [()] * (len(self._boundaries) + 1)
        for block, (begin, end) in zip(self._blocks, pairwise(ends), strict=True):
            work = [
                partial(_finish_and_begin, tail, strips)
                for tail, strips in zip(tails, block.tiles, strict=True)
            ]
            self._executor.run_all(work, self._n_threads)
            tails = block.tiles
            self._executor.advance(end - begin)
        self._executor.run_all([partial(_finish, tail) for tail in tails[:-1]], self._n_threads)

    def _run_pipeline(self, blocks, n_rows):
        """Some blocks behind each other down the rows, the entries that they share before them."""
        matrix, last_row = self._matrix, self._matrix.height
        filled = last_row if matrix.keeps_entries else 0
        # Rows that a block must stay behind the one before it: those that its own orders lag,
        # and those that the next one reads ahead.
        behind = [0, *(block.n_orders * matrix.radius for block in blocks[:-1])]
        fronts, done = [filled] + [0] * len(blocks), 0
        total = max(1, len(blocks) * last_row)
        while fronts[-1] < last_row:
            targets = [min(fronts[0] + self._step, last_row)]
            for leader, front, distance in zip(fronts[:-1], fronts[1:], behind, strict=True):
                reach = last_row if leader == last_row else leader - distance
                targets.append(max(front, min(reach, front + self._step)))
            work = [
                partial(sweep.advance, y0, y1)
                for block, y0, y1 in zip(blocks, fronts[1:], targets[1:], strict=True)
                for sweep in block.strips
                if y0 < y1
            ]
            work += self._filling(fronts[0], targets[0])
            self._executor.run_all(work, self._n_threads)
            fronts = targets
            before, done = done, n_rows * sum(fronts[1:]) // total
            if done > before:
                self._executor.advance(done - before)

    def _filling(self, y0, y1):
        """Work that fills in the entries of rows [y0, y1), in parts for the threads."""
        n_parts = min(2 * self._n_threads, y1 - y0) if self._n_threads > 1 else 1
        rows = np.linspace(y0, y1, n_parts + 1).astype(int).tolist()
        return [
            partial(self._matrix.fill, self._operator, *part) for part in pairwise(rows) if y0 < y1
        ]

    def _rows_held(self):
        """Rows from the one being filled in to the last that the blocks behind it still read."""
        n_orders = min(self._n_orders, _ORDERS_PER_FILLING)
        n_blocks = -(-n_orders // ORDERS_PER_BLOCK) + 1
        return n_orders * self._matrix.radius + (n_blocks + 2) * self._step

    def _strips_of_columns(self):
        """Blocks of pixels [b0, b1) of each strip."""
        matrix = self._matrix
        for_threads = 1 if self._in_tiles else min(self._n_threads, matrix.width // _LEAST_STRIP)
        n_strips = min(max(1, round(matrix.width / _STRIP), for_threads), matrix.rows.blocks)
        ends = np.linspace(0, matrix.rows.blocks, n_strips + 1).round().astype(int).tolist()
        return list(pairwise(ends))

    def _tiles(self, given):
        """The sweeps of a block, by tile and strip; `given` are those arguments all have."""
        moved = [row + self._n_done * self._matrix.radius for row in self._boundaries]
        tiles, below = [], [None] * len(self._strips)
        for top, bottom in reversed(list(pairwise([None, *moved, None]))):
            below = [
                _core.ChebyshevSweep(self._operator, *strip, top, bottom, sweep, *given)
                for strip, sweep in zip(self._strips, below, strict=True)
            ]
            tiles.insert(0, below)
        return tiles

    def _new_image(self, wanted):
        """Room for an order that the next block begins with, empty if there is none."""
        if wanted and self._free:
            return self._free.pop()
        matrix = self._matrix
        return np.empty((matrix.height if wanted else 0, matrix.rows.stride), matrix.dtype)


def _finish_and_begin(tail, strips):
    """A thread's part between two meetings: one block's tail, the next one's body."""
    _finish(tail)
    for sweep in strips:
        sweep.begin()


def _finish(strips):
    for sweep in strips:
        sweep.finish()


def _parts(blocks, most_orders):
    """Lists of successive blocks that have at most so many orders together."""
    parts, n_orders = [], most_orders + 1
    for block in blocks:
        n_orders += block.n_orders
        if n_orders > most_orders:
            parts.append([])
            n_orders = block.n_orders
        parts[-1].append(block)
    return parts
