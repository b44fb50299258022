"""Several orders of the Chebyshev recurrence in one pass through memory, on several threads.

docs/threads.md explains it. A *block* of several orders is computed in one sweep down the rows,
each order `border` rows behind the one before it (`_core.ChebyshevSweep`). Each thread gets a
*tile*: a span of rows that moves down by `border` rows with every order. At its bottom it needs the
first rows of the tile below, its *head*, so the heads of all tiles are computed first. If the
operator's entries are not kept (`BlockMatrix`), a tile makes them some rows at a time.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from nnk_image import _core

ORDERS_PER_BLOCK = 8  # at most (measured: 6 to 15 are alike)
_ORDERS_PER_BLOCK_OF_SLICES = 4  # in volumes, where orders are slices apart (2 to 4 are alike)
_ORDERS_PER_LONG_BLOCK = _core.MAX_ORDERS  # if entries are not kept: each block recomputes them
_ROWS_PER_FILLING = 32  # rows whose entries are made before they are used, if these are not kept
_PIXELS_PER_STAGE = 1 << 20  # pixels of a block between two progress reports


def tile_boundaries(work, border, n_orders, n_threads):
    """Return the rows at which tiles meet in order 0: one tile per thread, fewer on small images.

    `work` is the fraction of the work down to each row, of which tiles get equal shares. A tile
    moves down by `border` rows in each of `n_orders` orders.
    """
    least = (2 * n_orders + 1) * border  # rows of the smallest tile, which holds its head
    n_tiles = min(n_threads, len(work) // least)
    if n_tiles < 2:
        return []
    k = np.arange(1, n_tiles)
    # The number of rows above a boundary, less the minimum for the tiles there, must not decrease.
    spare = np.maximum.accumulate(np.searchsorted(work, k / n_tiles) - k * least)
    rows = np.clip(spare, 0, len(work) - n_tiles * least) + k * least
    # Tiles move down with every order: starting higher by half of that makes average shares equal.
    return (rows - n_orders * border // 2).tolist()


@dataclass
class _Tile:
    """A tile of a block: its sweep, and the row down to which its operator's entries are made."""

    operator: Any
    sweep: Any
    filled: int


class SkewedSweeps:
    """The recurrence ``T_k = 2 X T_{k-1} - T_{k-2}`` with ``X = (2 / bound) L - I``, in blocks.

    It goes up to order `n_orders`. It begins with the two orders `older` and `last`, padded images
    that are overwritten; `older` is empty if it begins with order 0 only. After a block they are
    its last two orders.
    """

    def __init__(self, matrix, older, last, n_orders, bound, executor):
        self._matrix, self._bound, self._executor = matrix, bound, executor
        self._older, self.last, self._free = older, last, []
        self._most_orders = ORDERS_PER_BLOCK if matrix.keeps_entries else _ORDERS_PER_LONG_BLOCK
        if matrix.has_gaps:
            self._most_orders = _ORDERS_PER_BLOCK_OF_SLICES
        n_threads = executor.threads_for(matrix.height * matrix.width)
        of_block = min(n_orders, self._most_orders)
        boundaries = tile_boundaries(matrix.work, matrix.border, of_block, n_threads)
        self._spans = list(pairwise([None, *boundaries, None]))
        # Rows from the one that is being filled in back to the last one that is still needed.
        n_held = 2 * (of_block * matrix.border + _ROWS_PER_FILLING)
        self._operators = [matrix.operator(n_held) for _ in self._spans]

    def split(self, coefficients):
        """Split the columns of (n_bands, order) coefficients into one part per block."""
        n_blocks = -(-coefficients.shape[1] // self._most_orders)
        return np.array_split(coefficients, n_blocks, axis=1)

    def run(
        self, bands, coefficients, *, start=None, clenshaw=False, half=False, goes_on=True, n_rows=0
    ):
        """Compute a block of orders, as many as there are columns of `coefficients`.

        The orders times the coefficients (n_bands, orders) are added to the bands, which are first
        set to order 0 times `start`, if that is given. With `clenshaw`, the bands times the
        coefficients are added to the orders instead; the last step of Clenshaw's recurrence is
        `half`, ``X T_{k-1} - T_{k-2}``. The last two orders are stored only if the recurrence
        `goes_on`: another block follows. The block counts as `n_rows` rows of progress.
        """
        shift = 1.0 if half else 2.0  # T_k = scale L T_{k-1} - shift T_{k-1} - T_{k-2}
        scale = 2 * shift / self._bound
        coefficients = np.ascontiguousarray(coefficients)
        start = np.ascontiguousarray([] if start is None else start)
        in_turn = self._older, self.last, self._new_image(goes_on), self._new_image(goes_on)
        tiles = self._tiles(scale, shift, *in_turn, bands, coefficients, start, clenshaw)
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
        """Return the tiles of a block; `given` are the arguments that all sweeps have in common."""
        tiles, below, height = [], None, self._matrix.height
        for operator, span in zip(self._operators[::-1], self._spans[::-1], strict=True):
            below = _core.ChebyshevSweep(operator, *span, below, *given)
            filled = height if self._matrix.keeps_entries else below.front
            tiles.append(_Tile(operator, below, filled))
        return tiles

    def _go_on(self, tile, row, n_orders):
        """Advance the front of a tile to a row, filling in the entries that it needs."""
        matrix, sweep, needed = self._matrix, tile.sweep, row
        if row == sweep.end:  # the later orders, which lag behind, read rows beyond it
            needed = min(row + (n_orders - 1) * matrix.border, matrix.height)
        while tile.filled < needed:
            filled = min(tile.filled + _ROWS_PER_FILLING, needed)
            matrix.fill(tile.operator, tile.filled, filled)
            tile.filled = filled
            sweep.go_to(min(filled, sweep.end - 1))
        sweep.go_to(row)

    def _new_image(self, wanted):
        """Return memory for an order that the next block begins with; empty unless `wanted`."""
        if wanted and self._free:
            return self._free.pop()
        matrix = self._matrix
        return np.empty((matrix.height if wanted else 0, matrix.stride), matrix.dtype)
