"""Work down the rows of an image that other such work follows at a distance.

Chains let several sweeps over the same rows run at once without a barrier between
them: each sweep may go on as soon as those it depends on are far enough ahead.
"""

from _thread import allocate_lock
from itertools import islice


class Chain:
    """Work on rows 0 to `n_rows`, in order, step by step.

    Parameters
    ----------
    work : callable
        ``work(y0, y1)``, called for adjacent spans of rows.
    n_rows, rows_per_step : int
    after : sequence of Chain
        What it follows.
    lead : int
        Rows that those must be ahead: rows up to ``y1 + lead`` of each are done, or all
        of them, before ``work(y0, y1)``.  Negative: it may be ahead of them that far.
    """

    def __init__(self, work, n_rows, rows_per_step, after=(), lead=0):
        self._work, self._after, self._lead = work, after, lead
        self.n_rows, self._rows_per_step = n_rows, rows_per_step
        self.front = 0
        self._claimed = allocate_lock()

    def follow(self, chains, lead):
        """Follow others than those given at first."""
        self._after, self._lead = chains, lead

    @property
    def n_steps(self):
        """Steps from the first row to the last."""
        return -(-self.n_rows // self._rows_per_step)

    @property
    def finished(self):
        """Whether all rows are done."""
        return self.front == self.n_rows

    def claim(self):
        """True, for one caller, if the next step may be taken; that caller must take it."""
        # Asked again with the claim: another may have had it in between.  And again without
        # it: what the step waits for may have come meanwhile, and been turned away.
        while self._may_go_on() and self._claimed.acquire(False):
            if self._may_go_on():
                return True
            self._claimed.release()
        return False

    def _may_go_on(self):
        needed = min(self._next_front() + self._lead, self.n_rows)
        return not self.finished and all(chain.front >= needed for chain in self._after)

    def _next_front(self):
        return min(self.front + self._rows_per_step, self.n_rows)

    def take_step(self):
        """Do the next rows, and give the claim back."""
        end = self._next_front()
        self._work(self.front, end)
        self.front = end
        self._claimed.release()


class Wavefront:
    """Chains of which the first few unfinished go on at a time.

    Whatever thread ends a step offers those that it made possible: `put` must be safe to
    call from any.

    Parameters
    ----------
    chains : list of Chain
        Each after those it follows.
    n_live : int
    put : callable
        Gets ``(work, arguments)``; ``work(*arguments)`` is an iterator that takes a step for
        each item asked of it.
    evenly : bool
        All live chains in turn, a step each.  Otherwise whoever has begun with a chain stays
        with it until it must wait: the rows it works on are in that processor's cache.
    """

    def __init__(self, chains, n_live, put, evenly=False):
        self._unfinished, self._n_live, self._put = chains, n_live, put
        self._evenly = evenly

    def offer(self):
        """Put the steps that may be taken now."""
        unfinished = [chain for chain in self._unfinished if not chain.finished]
        # Not read again below: another thread may store an older list in between.
        self._unfinished = unfinished
        for chain in islice(unfinished, self._n_live):
            if chain.claim():
                self._put((self._steps, (chain,)))

    def _steps(self, chain):
        goes_on = True
        while goes_on:
            chain.take_step()
            goes_on = not self._evenly and chain.claim()  # before others are offered it
            self.offer()
            yield
