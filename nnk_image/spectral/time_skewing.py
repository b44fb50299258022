"""Some orders of the Chebyshev recurrence in one pass through memory, on several threads.

Order k of a row needs order k - 1 of the `border` rows above and below it, and nothing else.  So
a *block* of some orders can be computed in one sweep down the rows, each order `border` rows
behind the one before, while the rows they share are in cache (`_core.ChebyshevSweep`).

Threads get *tiles*: spans of rows that move down by `border` rows with every order, which is time
skewing of iterated stencils.  At its top a tile needs only what it has computed itself.  At its
bottom it needs the first rows of the tile below, their *head*:

    order 1   |   tile 0   |   tile 1   |
    order 2   |    tile 0    |  tile 1  |        rows grow to the right,
    order 3   |      tile 0    | tile 1 |        one block of three orders

So the heads of all tiles are computed first, and then all other rows.  Nothing is computed twice,
and every number by the same operations as on one thread.

Where the operator's entries are not kept (`BlockMatrix`), a tile makes them some rows at a time and
uses them while they are in cache.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from nnk_image import _core

ORDERS_PER_BLOCK = 8
"""Most orders in a block (measured: 6 to 15 are alike)."""

_ORDERS_PER_BLOCK_OF_SLICES = 4  # in volumes: the rows they share are slices (2 to 4 are alike)
_ORDERS_PER_LONG_BLOCK = _core.MAX_ORDERS  # if entries are not kept: each block makes them anew
_ROWS_PER_FILLING = 32
_PIXELS_PER_STAGE = 1 << 20  # of a block, between two reports of progress


def tile_boundaries(work, border, n_orders, n_threads):
    """Rows at which the tiles for so many threads meet in order 0; fewer on small images.

    `work` is the share of the work down to each row, from which tiles get fair shares. A tile moves
    down by `border` rows in each of `n_orders` orders.
    """
    least = (2 * n_orders + 1) * border  # room for the head
    n_tiles = min(n_threads, len(work) // least)
    if n_tiles < 2:
        return []
    k = np.arange(1, n_tiles)
    # What the tiles above have beyond their least must not shrink from boundary to boundary.
    spare = np.maximum.accumulate(np.searchsorted(work, k / n_tiles) - k * least)
    rows = np.clip(spare, 0, len(work) - n_tiles * least) + k * least
    # The first tile grows by all moves and the last one shrinks: on the average, shares are fair.
    return (rows - n_orders * border // 2).tolist()


@dataclass
class _Tile:
    """A tile of a block: its sweep, and the row down to which the operator has its entries."""

    operator: Any
    sweep: Any
    filled: int


class SkewedSweeps:
    """The orders of one polynomial, block after block.

    There are `n_orders` in all. `older` and `last` are the two padded orders to begin with,
    overwritten; `older` is empty if there is one only. After a block they are its last two orders.
    """

    def __init__(self, matrix, older, last, n_orders, executor):
        self._matrix, self._executor = matrix, executor
        self._older, self.last, self._free = older, last, []
        self._most_orders = ORDERS_PER_BLOCK if matrix.keeps_entries else _ORDERS_PER_LONG_BLOCK
        if matrix.has_gaps:
            self._most_orders = _ORDERS_PER_BLOCK_OF_SLICES
        n_threads = executor.threads_for(matrix.height * matrix.width)
        of_block = min(n_orders, self._most_orders)
        boundaries = tile_boundaries(matrix.work, matrix.border, of_block, n_threads)
        self._spans = list(pairwise([None, *boundaries, None]))
        # Entries from the row being filled in to the last that the last order still reads.
        n_held = 2 * (of_block * matrix.border + _ROWS_PER_FILLING)
        self._operators = [matrix.operator(n_held) for _ in self._spans]

    def split(self, coefficients):
        """Return the columns of (n_bands, order) coefficients, in parts for the blocks."""
        n_blocks = -(-coefficients.shape[1] // self._most_orders)
        return np.array_split(coefficients, n_blocks, axis=1)

    def run(self, scale, shift, images, coefficients, start, clenshaw, goes_on=True, n_rows=0):
        """Compute a block of orders (arguments: `_core.ChebyshevSweep`).

        It counts as `n_rows` rows of progress. Unless the recurrence `goes_on`, its last orders are
        not stored.
        """
        coefficients = np.ascontiguousarray(coefficients)
        in_turn = self._older, self.last, self._new_image(goes_on), self._new_image(goes_on)
        tiles = self._tiles(scale, shift, *in_turn, images, coefficients, start, clenshaw)
        stages = 1 + self._matrix.height * self._matrix.width // _PIXELS_PER_STAGE
        ends = [np.linspace(t.sweep.head, t.sweep.end, stages + 1).astype(int) for t in tiles]
        done = 0
        for stage in range(stages + 1):
            counts_as = n_rows * stage // stages - done
            done += counts_as

            def work(tile, _, stage=stage):
                self._go_on(tiles[tile], int(ends[tile][stage]), coefficients.shape[1])

            self._executor.run(work, len(tiles), rows_per_chunk=1, counts_as=counts_as)
        self._free += [image for image in in_turn[:2] if image.size]
        self._older, self.last = in_turn[2:]

    def _tiles(self, *given):
        """Return the tiles of a block; `given` are those arguments that all sweeps have."""
        tiles, below, height = [], None, self._matrix.height
        for operator, span in zip(self._operators[::-1], self._spans[::-1], strict=True):
            below = _core.ChebyshevSweep(operator, 0, self._matrix.blocks, *span, below, *given)
            filled = height if self._matrix.keeps_entries else below.front
            tiles.append(_Tile(operator, below, filled))
        return tiles

    def _go_on(self, tile, row, n_orders):
        """Let the front of a tile go on to a row, filling in the entries that it needs."""
        matrix, sweep, needed = self._matrix, tile.sweep, row
        if row == sweep.end:  # then the front goes on until the last order has come through
            needed = min(row + (n_orders - 1) * matrix.border, matrix.height)
        while tile.filled < needed:
            filled = min(tile.filled + _ROWS_PER_FILLING, needed)
            matrix.fill(tile.operator, tile.filled, filled)
            tile.filled = filled
            sweep.go_to(min(filled, sweep.end - 1))
        sweep.go_to(row)

    def _new_image(self, wanted):
        """Room for an order that the next block begins with, empty if there is none."""
        if wanted and self._free:
            return self._free.pop()
        matrix = self._matrix
        return np.empty((matrix.height if wanted else 0, matrix.stride), matrix.dtype)
