"""Many orders of the Chebyshev recurrence in few journeys through memory, on several threads.

Order k of a row needs order k - 1 of the `radius` rows above and below it, and nothing else.  So
a *block* of some orders can be computed in one sweep down the rows, each order `radius` rows
behind the one before, while the rows they share are in cache (`_core.ChebyshevSweep`).  Wide
images are swept in strips of columns.

Threads get *tiles*: spans of rows that move down by `radius` rows with every order, which is time
skewing of iterated stencils.  At its top a tile needs only what it has computed itself.  At its
bottom it needs the first rows of the tile below, their *head*, so its own last rows of a block,
its *tail*, come when these are done:

    order 1   |   tile 0   |   tile 1   |
    order 2   |    tile 0    |  tile 1  |        rows grow to the right,
    order 3   |      tile 0    | tile 1 |        one block of three orders

A thread takes its tile through all blocks, and waits before each tail until the tile below has done
that block's head; the lower tiles never wait for the upper ones.  Nothing is computed twice, and
every number by the same operations as on one thread.

Where the operator's entries are not kept (`BlockMatrix`), or there are too few rows for tiles, the
blocks follow each other down the image as a pipeline: in a step every block moves on by some
rows, as far as the one before it had come.  A thread has some of the blocks on some of the strips,
and after each step waits for the others to have done theirs.
"""

from functools import partial
from itertools import pairwise
from queue import SimpleQueue

import numpy as np

from nnk_image import _core

ORDERS_PER_BLOCK = 8
"""Most orders in a block (measured: 6 to 15 are alike)."""

_ORDERS_PER_PIXEL = 16  # these take about as long as a pixel does in the slowest stage
_STRIP = 1024  # columns swept down together: of more, the rows in use would not stay in cache
_LEAST_STRIP = 256  # columns of a strip that is there for another thread to work on
_ORDERS_PER_FILLING = 32  # use the same entries, where these are not kept
_PIXELS_PER_STEP = 1 << 16  # of the pipeline
_STEP_ROWS = 8, 32  # of the pipeline, at least and at most
_STEPS_AT_ONCE = 32  # between two reports of progress


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
    # A tile has room for its head in each block, and for what it hands over in the last one.
    least = max(-(-moves // 2) + 2 * radius, (2 * ORDERS_PER_BLOCK + 1) * radius)
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
        """Each tile through all blocks, the lowest first: none waits for one that is not begun."""
        begun = [SimpleQueue() for _ in range(len(self._boundaries) + 1)]
        numbers = range(len(begun))
        work = [partial(self._run_tile, number, begun) for number in reversed(numbers)]
        self._executor.run_all(work, self._n_threads)
        self._executor.advance(n_rows)

    def _run_tile(self, number, begun):
        """All blocks of one tile; `begun` gets a word for each strip that has done its head."""
        for block in self._blocks:
            for sweep in block.tiles[number]:
                sweep.go_to(sweep.head)
                begun[number].put(True)
                sweep.go_to(sweep.body)
            if number + 1 < len(begun):
                for sweep in block.tiles[number]:
                    self._executor.wait_for(begun[number + 1])
                    sweep.go_to(sweep.end)

    def _run_pipeline(self, blocks, n_rows):
        """Some blocks behind each other down the rows, and before them the entries they share."""
        cells = [
            (number, block.strips[strip])
            for strip in range(len(self._strips))
            for number, block in enumerate(blocks)
        ]
        ends = [len(cells) * n // self._n_threads for n in range(self._n_threads + 1)]
        steps = list(self._pipeline_steps(blocks))
        for first in range(0, len(steps), _STEPS_AT_ONCE):
            some = steps[first : first + _STEPS_AT_ONCE]
            done = [SimpleQueue() for _ in range(self._n_threads)]
            work = [
                partial(self._run_cells, thread, cells[begin:end], some, done)
                for thread, (begin, end) in enumerate(pairwise(ends))
            ]
            self._executor.run_all(work, self._n_threads)
            before, after = (n_rows * n // len(steps) for n in (first, first + len(some)))
            self._executor.advance(after - before)

    def _run_cells(self, thread, cells, steps, done):
        """A thread's part of some steps: its share of the filling, its blocks on its strips.

        `done` has a queue for each thread, which gets a word from every other after each step.
        """
        for (fill_begin, fill_end), targets in steps:
            share = (fill_end - fill_begin) / len(done)
            y0, y1 = (fill_begin + round(share * n) for n in (thread, thread + 1))
            if y0 < y1:
                self._matrix.fill(self._operator, y0, y1)
            for number, sweep in cells:
                sweep.go_to(targets[number])
            for other, queue in enumerate(done):
                if other != thread:
                    queue.put(True)
            for _ in range(len(done) - 1):
                self._executor.wait_for(done[thread])

    def _pipeline_steps(self, blocks):
        """For each step the rows to fill in, and the rows to which the blocks then go on."""
        last_row, radius = self._matrix.height, self._matrix.radius
        filled = last_row if self._matrix.keeps_entries else 0
        # Rows that a block must stay behind the one before it: by so many that one's last order
        # is behind its first, and so many more the next one reads ahead.
        behind = [0, *(block.n_orders * radius for block in blocks[:-1])]
        fronts = [0] * len(blocks)
        while fronts[-1] < last_row:
            leaders, targets = [filled, *fronts[:-1]], []
            for leader, front, distance in zip(leaders, fronts, behind, strict=True):
                reach = last_row if leader == last_row else leader - distance
                targets.append(max(front, min(reach, front + self._step)))
            rows = filled, min(filled + self._step, last_row)
            yield rows, targets
            filled, fronts = rows[1], targets

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
