"""Groups of orders of the recurrence, sweeping down strips of the image one behind another.

A group of orders on a strip of columns is a chain (`chains.py`): it follows the group
before on the strips it reads, at a distance of some rows.  So strips need not wait for
each other, nor a group for the end of the one before, and threads recompute nothing
for each other's sake.
"""

from itertools import pairwise

import numpy as np

from nnk_image import _core
from nnk_image.chains import Chain

ORDERS_PER_SWEEP = 8
"""Most orders in a group (measured: 6 to 15 are alike)."""

_ORDERS_OF_FOLLOWERS = 5  # where groups must share the threads: the next begins sooner
_STRIP = 512  # columns swept down together: of wider images too many rows are in use
_PIXELS_PER_STEP = 1 << 18
_LEAST_ROWS = 16  # of a step, to be worth the handing over
_STEPS = 16  # down the image, at least, for the next group to begin soon
_PACKETS_PER_BLOCK = 30  # of NNK graphs; where there are more, steps are shorter


class Sweeps:
    """The sweeps of one polynomial, to be added first to last and then run.

    Parameters
    ----------
    grid : GridRecurrence
    older, last : (H, stride) ndarrays
        The two orders to begin with, overwritten; `older` is empty if there is one.
        Afterwards `last` is the last order.
    bands : Bands
    """

    def __init__(self, grid, older, last, bands):
        self._grid, self._bands = grid, bands
        self._older, self.last, self._spare = older, last, (grid.padded(), grid.padded())
        n_strips = min(max(1, round(grid.width / _STRIP)), grid.blocks)
        bounds = np.linspace(0, grid.blocks, n_strips + 1).round().astype(int)
        self._strips = list(pairwise(bounds.tolist()))
        self._groups = []

    def split(self, coefficients):
        """The columns of (n_bands, order) coefficients in groups of orders."""
        shared = len(self._strips) % self._bands.n_jobs
        most = _ORDERS_OF_FOLLOWERS if shared else ORDERS_PER_SWEEP
        return np.array_split(coefficients, -(-coefficients.shape[1] // most), axis=1)

    def add(self, scale, shift, images, coefficients, start, forcing):
        """A group of orders behind those before it (arguments: `_core.ChebyshevSweep`)."""
        grid, coefficients = self._grid, np.ascontiguousarray(coefficients)
        planes = self._older, self.last, *self._spare
        n_orders = coefficients.shape[1]
        chains = []
        for strip in self._strips:
            sweep = _core.ChebyshevSweep(
                grid.operator, *strip, scale, shift, *planes, images, coefficients, start, forcing
            )
            followed = self._leaders(strip, n_orders)
            rows = self._rows_per_step(strip)
            chains.append(Chain(sweep.advance, grid.height, rows, *followed))
        self._groups.append((n_orders, chains))
        free = self._older if self._older.size else grid.padded()
        (self._older, self.last), self._spare = self._spare, (free, self.last)

    def run(self, n_rows):
        """Do it all; counts as `n_rows` rows of progress."""
        self._bands.run_chains([chain for _, chains in self._groups for chain in chains], n_rows)

    def _leaders(self, strip, n_orders):
        """The chains of the group before that read or write around a strip, and their lead."""
        if not self._groups:
            return (), 0
        orders_before, before = self._groups[-1]
        packet, radius = 32 // self._grid.dtype.itemsize, self._grid.radius
        # Blocks of the first order that are computed, and those it reads around them.
        halo = -(-(max(orders_before, n_orders) - 1) * radius // packet) - (-radius // packet)
        near = [
            chain
            for chain, (b0, b1) in zip(before, self._strips, strict=True)
            if b0 < strip[1] + halo and strip[0] < b1 + halo
        ]
        return near, orders_before * self._grid.radius

    def _rows_per_step(self, strip):
        grid, (b0, b1) = self._grid, strip
        work = grid.operator.n_packets / (grid.height * grid.blocks * _PACKETS_PER_BLOCK)
        pixels = _PIXELS_PER_STEP / min(max(1, work), 16)
        rows = max(1, int(pixels * grid.blocks / grid.width) // (b1 - b0))
        if self._bands.n_jobs > 1:
            rows = min(rows, max(_LEAST_ROWS, grid.height // _STEPS))
        return rows
