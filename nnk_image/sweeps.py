"""Groups of orders of the recurrence, sweeping down strips of the image one behind another.

A group of orders on a strip of columns is a chain (`chains.py`): it follows the group
before on the strips it reads, at a distance of some rows.  So strips need not wait for
each other, nor a group for the end of the one before.  Where packets are kept, threads
have a segment of the rows each (`segments.py`).
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nnk_image import _core
from nnk_image.chains import Chain, behind, stops_every
from nnk_image.segments import Seam, seams

ORDERS_PER_SWEEP = 8
"""Most orders in a group, as a rule (measured: 6 to 15 are alike)."""

_ORDERS_ALONE = _core.MAX_ORDERS  # of one thread on large images: groups hand over less
_ORDERS_PER_PIXEL = 16  # that take as long as a pixel does in the slowest stage, about
_STRIP = 1024  # columns swept down together: of wider images too many rows are in use
_LEAST_STRIP = 256  # narrower for many threads to share, but no more than this
_PIXELS_PER_STEP = 1 << 18
_LEAST_ROWS = 16  # of a step, to be worth the handing over
_ORDERS_PER_FILLING = 32  # that use the same packets, where these are not kept
_ROWS_PER_FILLING = 32  # of packets, and of all steps where packets are not kept
_STEPS = 6  # down the image, at least, for groups to go on at once
_PAIRS_PER_BLOCK = 15  # of packets, in NNK graphs; where there are more, steps are shorter


def orders_per_sweep(grid, n_jobs):
    """Most orders in a group, for that many threads."""
    return _ORDERS_ALONE if n_jobs == 1 and not grid.keeps_packets else ORDERS_PER_SWEEP


def _strips(grid, n_threads):
    """Blocks [b0, b1) of each strip, for that many threads on the same rows."""
    # Two share one well, a group behind the other.
    of_threads = min(-(-n_threads // 2), grid.width // _LEAST_STRIP)
    n_strips = min(max(1, round(grid.width / _STRIP), of_threads), grid.blocks)
    return list(pairwise(np.linspace(0, grid.blocks, n_strips + 1).round().astype(int).tolist()))


class _Pass(NamedTuple):
    """Groups that use the same packets, and the chain that fills these in, if they are not kept.

    Of a group there are its number of orders and {(segment, strip): chain}.
    """

    filling: Chain | None
    groups: list


class Sweeps:
    """The sweeps of one polynomial, to be added first to last and then run.

    Parameters
    ----------
    grid : Grid
    older, last : (H, stride) ndarrays
        The two orders to begin with, overwritten; `older` is empty if there is one.
        Afterwards `last` is the last order, if `keep_last`.
    n_orders : int
        Of all groups together.
    keep_last : bool
    bands : Bands
    """

    def __init__(self, grid, older, last, n_orders, keep_last, bands):
        self._grid, self._bands = grid, bands
        self._older, self.last, self._free = older, last, []
        self._n_done, self._n_orders, self._keep_last = 0, n_orders, keep_last
        self._n_threads = bands.threads_for(
            grid.height * grid.width * n_orders // _ORDERS_PER_PIXEL
        )
        self._seams, self._passes = [], []
        if grid.keeps_packets:
            self._seams = seams(grid.work, grid.radius, n_orders, self._n_threads)
        self._strips = _strips(grid, self._n_threads // (len(self._seams) + 1))
        self._most_orders = orders_per_sweep(grid, bands.n_jobs)
        self._n_left_to_fill = 0  # orders that may join the last pass
        self._n_held = self._rows_in_use(n_orders)
        self._operator = grid.operator(self._n_held)

    def split(self, coefficients):
        """The columns of (n_bands, order) coefficients in groups of orders."""
        return np.array_split(coefficients, -(-coefficients.shape[1] // self._most_orders), axis=1)

    def add(self, scale, shift, images, coefficients, start, forcing):
        """A group of orders behind those before it (arguments: `_core.ChebyshevSweep`)."""
        coefficients = np.ascontiguousarray(coefficients)
        n_orders = coefficients.shape[1]
        goes_on = self._n_done + n_orders < self._n_orders
        results = self._new_image(goes_on), self._new_image(goes_on or self._keep_last)
        in_turn = self._older, self.last, *results
        group = scale, shift, *in_turn, images, coefficients, start, forcing
        this_pass = self._pass_for(n_orders)
        this_pass.groups.append((n_orders, self._chains(this_pass, n_orders, group)))
        self._free += [image for image in in_turn[:2] if image.size]
        self._older, self.last = results
        self._n_done += n_orders

    def _chains(self, this_pass, n_orders, group):
        """{(segment, strip): chain} of a group, from the lowest segment up."""
        radius, sweeps, chains = self._grid.radius, {}, {}
        inner = [Seam.of_group(row, radius, self._n_done, n_orders) for row in self._seams]
        for segment, (above, below) in reversed(list(enumerate(pairwise([None, *inner, None])))):
            top, bottom = (seam and seam.row for seam in (above, below))
            also = ([above.shared] if above else []) + ([below.end - 1] if below else [])
            for strip, blocks in enumerate(self._strips):
                under = segment + 1, strip
                sweep = _core.ChebyshevSweep(
                    self._operator, *blocks, top, bottom, sweeps.get(under), *group
                )
                stops = stops_every(self._rows_per_step(blocks), sweep.first, sweep.end, also)
                after = self._leaders(this_pass, segment, blocks, n_orders)
                if below:
                    after.append((chains[under], below.needed))
                sweeps[segment, strip] = sweep
                chains[segment, strip] = Chain(sweep.advance, stops, after)
        return chains

    def _new_image(self, wanted):
        """Room for an order that the next group begins with, empty if there is none."""
        grid = self._grid
        if not wanted:
            return np.empty((0, grid.stride), grid.dtype)
        return self._free.pop() if self._free else np.empty((grid.height, grid.stride), grid.dtype)

    def run(self, n_rows):
        """Do it all; counts as `n_rows` rows of progress."""
        ends = [n_rows * n // len(self._passes) for n in range(len(self._passes) + 1)]
        for one, (begin, end) in zip(self._passes, pairwise(ends), strict=True):
            groups = [group for _, group in one.groups]
            chains = [chain for group in groups for chain in group.values()]
            if one.filling is None:
                # A thread that is done in a segment goes on there, not on the heels of another.
                then = {group[at]: later[at] for group, later in pairwise(groups) for at in group}
                self._bands.run_chains(chains, end - begin, self._n_threads, then=then)
            else:
                self._run_with_filling(one.filling, chains, one.groups[-1], end - begin)

    def _run_with_filling(self, filling, chains, last_group, n_rows):
        n_orders, last = last_group
        if self._n_held < self._grid.height:  # else no packets take the place of others
            ahead = self._n_held - (n_orders - 1) * self._grid.radius
            filling.follow([(chain, behind(-ahead)) for chain in last.values()])
        try:
            # Evenly: packets are used while in cache, and the first ones alone would wait for
            # room that the others must make.
            self._bands.run_chains([filling, *chains], n_rows, self._n_threads, evenly=True)
        finally:
            filling.follow(())  # in a circle they would keep their images until a collection

    def _pass_for(self, n_orders):
        """The pass over the packets that the next group joins."""
        grid, operator = self._grid, self._operator
        if grid.keeps_packets:
            self._passes = self._passes or [_Pass(None, [])]
        elif not self._passes or n_orders > self._n_left_to_fill:

            def fill(y0, y1):
                grid.fill(operator, y0, y1)

            self._passes.append(
                _Pass(Chain(fill, stops_every(_ROWS_PER_FILLING, 0, grid.height)), [])
            )
            self._n_left_to_fill = _ORDERS_PER_FILLING
        self._n_left_to_fill -= n_orders
        return self._passes[-1]

    def _rows_in_use(self, n_orders):
        """Rows from the one being filled to the last that the groups behind it still read."""
        most = min(n_orders, _ORDERS_PER_FILLING)
        groups = -(-most // self._most_orders) + 2  # some are not full
        return most * self._grid.radius + (groups + 3) * _ROWS_PER_FILLING

    def _leaders(self, this_pass, segment, blocks, n_orders):
        """The chains that the next group follows on a strip of a segment, and how.

        They are those of the group before that read or write around it.
        """
        if not this_pass.groups:
            return [] if this_pass.filling is None else [(this_pass.filling, behind(0))]
        (b0, b1), (orders_before, before) = blocks, this_pass.groups[-1]
        packet, radius = 32 // self._grid.dtype.itemsize, self._grid.radius
        # Blocks of the first order that are computed, and those it reads around them.
        halo = -(-(max(orders_before, n_orders) - 1) * radius // packet) - (-radius // packet)
        return [
            (before[segment, strip], behind(orders_before * radius))
            for strip, (first, end) in enumerate(self._strips)
            if first < b1 + halo and b0 < end + halo
        ]

    def _rows_per_step(self, blocks):
        grid, (b0, b1) = self._grid, blocks
        work = grid.n_pairs / (grid.height * grid.blocks * _PAIRS_PER_BLOCK)
        pixels = _PIXELS_PER_STEP / min(max(1, work), 16)
        rows = max(1, int(pixels * grid.blocks / grid.width) // (b1 - b0))
        if self._n_threads > 1:
            # As far as the next group stays behind: it begins after two steps.
            lead = self._most_orders * grid.radius
            rows = min(rows, max(_LEAST_ROWS, min(lead, grid.height // _STEPS)))
        return rows if grid.keeps_packets else min(rows, _ROWS_PER_FILLING)
