"""Segments of rows that threads compute at the same time, through all orders of the recurrence.

They are the parallelogram tiles, or time skewing, of iterated stencils, the order being the time.
Order k of a row takes order k - 1 of `radius` rows around it.  So from order to order a
segment moves down by `radius` rows: at its top it needs nothing but what it has computed
before, and at its bottom the first rows of the segment below, which begins with them.  It
waits for these at the end of each group of orders, and nothing is computed twice.
"""

from typing import NamedTuple

import numpy as np


class Seam(NamedTuple):
    """Where two segments meet in a group of orders.

    Attributes
    ----------
    row : int
        The lower segment has the rows from ``row + k radius`` on of order k = 1, 2, ...
    end : int
        The upper one has the rows to this one of the first order.
    shared : int
        Row of the first order at which the lower one has done all that the upper one needs,
        for the other orders to come to their ends.
    """

    row: int
    end: int
    shared: int

    @classmethod
    def of_group(cls, row, radius, n_before, n_orders):
        """The seam in `n_orders` orders after `n_before`, `row` being the one of order 0."""
        row += n_before * radius
        return cls(row, row + radius, row + (2 * n_orders + 1) * radius)

    def needed(self, row):
        """Row that the lower segment must have come to before the upper one comes to `row`."""
        return self.shared if row >= self.end else 0


def seams(work, radius, n_orders, n_threads):
    """Rows of order 0 at which segments for so many threads meet; fewer on small images.

    `work` is the share of the work down to each row, for segments to be fair.
    """
    # The first segment grows by that much, and the last one shrinks.
    moves = n_orders * radius
    least = -(-moves // 2) + 2 * radius
    n = min(n_threads, len(work) // least)
    if n < 2:
        return []
    k = np.arange(1, n)
    # What segments above have beyond their least: it must not shrink from seam to seam.
    spare = np.maximum.accumulate(np.searchsorted(work, k / n) - k * least)
    rows = np.clip(spare, 0, len(work) - n * least) + k * least
    return (rows - moves // 2).tolist()
