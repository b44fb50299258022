"""Work down the rows of an image that other such work follows at a distance.

Chains let several sweeps over the same rows run at once without a barrier between
them: each sweep may go on as soon as those it depends on are far enough ahead.
"""

from _thread import allocate_lock
from itertools import islice


def stops_every(rows, first, end, also=()):
    """Where steps of so many rows begin, and the last one ends; `also` some rows between."""
    between = {*range(first, end, rows), *(row for row in also if first < row < end)}
    return [*sorted(between), end]


def behind(rows):
    """For `Chain`: to follow at that distance.  Negative: to be ahead that far at most."""
    return lambda row: row + rows


class Chain:
    """Work on rows, in order, step by step.

    Parameters
    ----------
    work : callable
        ``work(y0, y1)``, called for adjacent spans of rows.
    stops : sequence of int
        Rows at which the steps begin, and the last one ends.
    after : sequence of (Chain, callable)
        What it follows: before ``work(y0, y1)`` the other has come to row ``needed(y1)``, or
        to its end.
    """

    def __init__(self, work, stops, after=()):
        self._work, self._stops, self._after = work, stops, after
        self.n_steps, self._n_done = len(stops) - 1, 0
        self._claimed = allocate_lock()

    def follow(self, after):
        """Follow others than those given at first."""
        self._after = after

    @property
    def front(self):
        """All is done above this row."""
        return self._stops[self._n_done]

    @property
    def finished(self):
        """Whether all rows are done."""
        return self._n_done == self.n_steps

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
        # Read once: another thread may end a step meanwhile.
        n_done = self._n_done
        if n_done == self.n_steps:
            return False
        end = self._stops[n_done + 1]
        return all(chain.finished or chain.front >= needed(end) for chain, needed in self._after)

    def take_step(self):
        """Do the next rows, and give the claim back."""
        self._work(*self._stops[self._n_done : self._n_done + 2])
        self._n_done += 1
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
    then : dict
        Chain to chain: what whoever ends a chain had better go on with.
    """

    def __init__(self, chains, n_live, put, evenly=False, then=None):
        self._unfinished, self._n_live, self._put = chains, n_live, put
        self._evenly, self._then = evenly, then or {}

    def offer(self):
        """Put the steps that may be taken now."""
        unfinished = [chain for chain in self._unfinished if not chain.finished]
        # Not read again below: another thread may store an older list in between.
        self._unfinished = unfinished
        for chain in islice(unfinished, self._n_live):
            if chain.claim():
                self._put((self._steps, (chain,)))

    def _steps(self, chain):
        while chain:
            chain.take_step()
            chain = None if self._evenly else self._go_on(chain)  # before others are offered it
            self.offer()
            yield

    def _go_on(self, chain):
        """What to take the next step of after one of `chain`, claimed; None if there is nothing."""
        if chain.finished:
            chain = self._then.get(chain)
        return chain if chain and chain.claim() else None
