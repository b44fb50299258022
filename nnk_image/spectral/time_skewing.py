"""Many orders of the Chebyshev recurrence in few passes through memory, on several threads.

Order k of a row needs order k - 1 of the `border` rows above and below it, and nothing else.  So
a *block* of some orders can be computed in one sweep down the rows, each order `border` rows
behind the one before, while the rows they share are in cache (`_core.ChebyshevSweep`).  Wide
images are swept in strips of columns.

Threads get *tiles*: spans of rows that move down by `border` rows with every order, which is time
skewing of iterated stencils.  At its top a tile needs only what it has computed itself.  At its
bottom it needs the first rows of the tile below, their *head*, so its own last rows of a block,
its *tail*, come when these are done:

    order 1   |   tile 0   |   tile 1   |
    order 2   |    tile 0    |  tile 1  |        rows grow to the right,
    order 3   |      tile 0    | tile 1 |        one block of three orders

A thread takes its tile through all blocks, and waits before each tail until the tile below has done
that block's head; the lower tiles never wait for the upper ones.  Nothing is computed twice, and
every number by the same operations as on one thread.  Where the rows are too few for so many tiles,
each block has tiles of its own, and all threads wait for each other after it.

Where the operator's entries are not kept (`BlockMatrix`), a tile makes them some rows at a time,
and its blocks follow each other closely down the rows, to use them while they are in cache.
"""

from functools import partial
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from nnk_image import _core

ORDERS_PER_BLOCK = 8
"""Most orders in a block (measured: 6 to 15 are alike)."""

_ORDERS_PER_BLOCK_OF_SLICES = 4  # in volumes: the rows they share are slices (2 to 4 are alike)
_ORDERS_PER_LONG_BLOCK = _core.MAX_ORDERS  # if entries are not kept: fewer blocks hand over less
_ORDERS_PER_FILLING = 32  # that use the same entries, if these are not kept
_ROWS_PER_FILLING = 32
_ORDERS_PER_PIXEL = 16  # these take about as long as a pixel does in the slowest stage
_STRIP = 1024  # columns swept down together: of more, the rows in use would not stay in cache


def tile_boundaries(work, border, n_orders, orders_per_block, n_threads):
    """Rows at which the tiles for so many threads meet in order 0; fewer on small images.

    `work` is the share of the work down to each row, from which tiles get fair shares. A tile moves
    down by `border` rows in each of `n_orders` orders, at most `orders_per_block` in a block.
    """
    moves = n_orders * border  # the first tile grows by so much, and the last one shrinks
    # A tile has room for its head in each block, and for what it hands over in the last one.
    least = max(-(-moves // 2) + 2 * border, (2 * orders_per_block + 1) * border)
    n_tiles = min(n_threads, len(work) // least)
    if n_tiles < 2:
        return []
    k = np.arange(1, n_tiles)
    # What the tiles above have beyond their least must not shrink from boundary to boundary.
    spare = np.maximum.accumulate(np.searchsorted(work, k / n_tiles) - k * least)
    rows = np.clip(spare, 0, len(work) - n_tiles * least) + k * least
    return (rows - moves // 2).tolist()


class _Block(NamedTuple):
    """A block of orders: how many, and for each tile its sweeps, strip by strip."""

    n_orders: int
    tiles: list[Any]


class SkewedSweeps:
    """The blocks of orders of one polynomial, to be added first to last and then run.

    There are `n_orders` in all blocks. `older` and `last` are the two padded orders to begin with,
    overwritten; `older` is empty if there is one only. Afterwards `last` is the last order, if
    `keep_last`.
    """

    def __init__(self, matrix, older, last, n_orders, keep_last, executor):
        self._matrix, self._executor = matrix, executor
        self._older, self.last, self._free = older, last, []
        self._n_done, self._n_orders, self._keep_last = 0, n_orders, keep_last
        n_pixels = matrix.height * matrix.width
        self._n_threads = executor.threads_for(n_pixels * n_orders // _ORDERS_PER_PIXEL)
        kept = matrix.keeps_entries
        self._most_orders = ORDERS_PER_BLOCK if kept else _ORDERS_PER_LONG_BLOCK
        if matrix.has_gaps:
            self._most_orders = _ORDERS_PER_BLOCK_OF_SLICES
        self._apart, self._boundaries = False, self._boundaries_for(n_orders)
        if kept and len(self._boundaries) + 1 < self._n_threads and n_orders > self._most_orders:
            of_block = self._boundaries_for(self._most_orders)
            if len(of_block) > len(self._boundaries):
                self._apart, self._boundaries = True, of_block
        n_strips = min(max(1, round(matrix.width / _STRIP)), matrix.blocks)
        ends = np.linspace(0, matrix.blocks, n_strips + 1).round().astype(int).tolist()
        self._strips = list(pairwise(ends))
        self._operators = [
            matrix.operator(self._rows_held()) for _ in range(len(self._boundaries) + 1)
        ]
        self._blocks = []

    def split(self, coefficients):
        """Return the columns of (n_bands, order) coefficients, in parts for the blocks."""
        n_blocks = -(-coefficients.shape[1] // self._most_orders)
        return np.array_split(coefficients, n_blocks, axis=1)

    def add(self, scale, shift, images, coefficients, start, clenshaw):
        """Append a block of orders (arguments: `_core.ChebyshevSweep`)."""
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

    def run(self, n_rows=0):
        """Compute all blocks; counts as `n_rows` rows of progress."""
        runs = [[block] for block in self._blocks] if self._apart else [self._blocks]
        done = 0
        for number, blocks in enumerate(runs, 1):
            end = n_rows * number // len(runs)
            self._run(blocks, end - done)
            done = end

    def _run(self, blocks, n_rows):
        # The lowest tile first: so none waits for one that is not begun.
        heads = [SimpleQueue() for _ in self._operators]
        self._share, self._reported = n_rows / len(heads), [0] * len(heads)
        tiles = [partial(self._run_tile, blocks, tile, heads) for tile in range(len(heads))]
        self._executor.run_all(tiles[::-1], self._n_threads)
        self._executor.advance(n_rows - sum(self._reported))

    def _run_tile(self, blocks, tile, heads):
        """Compute the blocks of a tile; its queue in `heads` gets an item per strip head done."""
        if self._matrix.keeps_entries:
            for number, block in enumerate(blocks):
                for sweep in block.tiles[tile]:
                    self._go_on(sweep, sweep.body, tile, heads)
                for sweep in block.tiles[tile]:
                    self._go_on(sweep, sweep.end, tile, heads)
                self._report(tile, (number + 1) / len(blocks))
        else:
            parts = _parts(blocks, _ORDERS_PER_FILLING)
            for number, part in enumerate(parts):
                for share in self._run_and_fill(part, tile, heads):
                    self._report(tile, (number + share) / len(parts))

    def _report(self, tile, share):
        """Count rows of progress, when that share of a tile's work is done."""
        rows = int(share * self._share) - self._reported[tile]
        if rows > 0:
            self._reported[tile] += rows
            self._executor.advance(rows)

    def _run_and_fill(self, blocks, tile, heads):
        """Fill in the matrix entries of a tile, and let its blocks of orders follow one another.

        After each step, yield the share of the rows that the last block has done.
        """
        matrix, border = self._matrix, self._matrix.border
        sweeps = [block.tiles[tile] for block in blocks]
        filled = sweeps[0][0].front
        while sweeps[-1][0].front < sweeps[-1][0].end:
            rows = filled, min(filled + _ROWS_PER_FILLING, matrix.height)
            if rows[0] < rows[1]:
                matrix.fill(self._operators[tile], *rows)
            filled = leader = rows[1]
            for block, strips in zip(blocks, sweeps, strict=True):
                # At its end a block's front goes on until its last order has come through.
                first, end = strips[0], strips[0].end
                through = min(end + (block.n_orders - 1) * border, matrix.height)
                reach = min(leader, filled)
                target = end if reach >= through else min(reach, first.body)
                for sweep in strips:
                    self._go_on(sweep, target, tile, heads)
                # The next block reads ahead of its first order what this one's last has done.
                done = first.front - block.n_orders * border
                leader = matrix.height if first.front == end else done
            yield first.front / end

    def _go_on(self, sweep, row, tile, heads):
        """Advance a sweep to a row, if it is not there yet; announce when its head is done."""
        if sweep.front < sweep.head <= row:
            sweep.go_to(sweep.head)
            heads[tile].put(True)
        if sweep.front < row == sweep.end and tile + 1 < len(heads):
            sweep.go_to(sweep.body)
            self._executor.wait_for(heads[tile + 1])
        sweep.go_to(row)

    def _boundaries_for(self, n_orders):
        matrix = self._matrix
        return tile_boundaries(
            matrix.work, matrix.border, n_orders, self._most_orders, self._n_threads
        )

    def _rows_held(self):
        """Rows from the one being filled in to the last that the blocks behind it still read."""
        n_orders = min(self._n_orders, _ORDERS_PER_FILLING) + _ORDERS_PER_LONG_BLOCK
        return n_orders * self._matrix.border + 3 * _ROWS_PER_FILLING

    def _tiles(self, given):
        """Return the sweeps of a block, by tile and strip; `given` are those arguments all have."""
        moves = 0 if self._apart else self._n_done * self._matrix.border
        moved = [row + moves for row in self._boundaries]
        tiles, below = [], [None] * len(self._strips)
        spans = list(pairwise([None, *moved, None]))
        for operator, (top, bottom) in reversed(list(zip(self._operators, spans, strict=True))):
            below = [
                _core.ChebyshevSweep(operator, *strip, top, bottom, sweep, *given)
                for strip, sweep in zip(self._strips, below, strict=True)
            ]
            tiles.insert(0, below)
        return tiles

    def _new_image(self, wanted):
        """Room for an order that the next block begins with, empty if there is none."""
        if wanted and self._free:
            return self._free.pop()
        matrix = self._matrix
        return np.empty((matrix.height if wanted else 0, matrix.stride), matrix.dtype)


def _parts(blocks, most_orders):
    """Return lists of successive blocks: single, or with at most `most_orders` in all."""
    parts, n_orders = [], most_orders
    for block in blocks:
        n_orders += block.n_orders
        if n_orders > most_orders:
            parts.append([])
            n_orders = block.n_orders
        parts[-1].append(block)
    return parts
