"""Chains: every row once and in order, never ahead of what a step waits for."""

import threading
import time

import numpy as np
import pytest
from child import leaving_no_task

from nnk_image.base.parallel import RowExecutor
from nnk_image.spectral._chains import Chain, Wavefront, behind, stops_every


class Watched:
    """A few chains that check, at each step, what they were promised."""

    def __init__(self, rng):
        self.n_rows = int(rng.integers(1, 60))
        self.spans, self.broken, self.chains, self.progress = [], [], [], []
        for number in range(int(rng.integers(1, 9))):
            after = [
                (chain, int(rng.integers(0, 20))) for chain in self.chains if rng.random() < 0.4
            ]
            rows, also = int(rng.integers(1, 20)), rng.integers(-5, 70, 2).tolist()
            self.spans.append([])
            work = self.work(number, after, float(rng.choice([0, 0, 2e-4])))
            stops = stops_every(rows, 0, self.n_rows, also)
            followed = [(chain, behind(lead)) for chain, lead in after]
            self.chains.append(Chain(work, stops, followed))

    def report(self, done, total):
        self.progress.append((done, total))

    def work(self, number, after, seconds):
        def step(y0, y1):
            if any(chain.front < min(y1 + lead, self.n_rows) for chain, lead in after):
                self.broken.append((number, y0, y1))
            time.sleep(seconds)
            self.spans[number].append((y0, y1))

        return step


@pytest.mark.parametrize("evenly", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2, 3, 8])
def test_rows_in_order_and_behind_their_leaders(n_jobs, evenly):
    for seed in range(40):
        watched = Watched(np.random.default_rng(seed))
        with RowExecutor(n_jobs, watched.report, 17) as bands:
            bands.run_chains(watched.chains, 17, n_jobs, evenly)
        assert not watched.broken
        for chain, spans in zip(watched.chains, watched.spans, strict=True):
            assert chain.finished
            assert len(spans) == chain.n_steps
            ends = [y1 for _, y1 in spans]
            assert [y0 for y0, _ in spans] == [0, *ends[:-1]]
            assert ends[-1] == watched.n_rows
        assert watched.progress[-1] == (17, 17)
        assert watched.progress == sorted(watched.progress)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize(("rows", "others"), [(1, (1, 1)), (4, (3, 7)), (10, (10, 2, 5))])
def test_a_chain_may_be_ahead_so_far_and_no_further(rows, others, n_jobs):
    n_rows, room, distances = 97, rows + 4 + 2 * sum(others), []
    stops = stops_every(rows, 0, n_rows)
    first = Chain(lambda y0, y1: distances.append(y1 - last.front), stops)
    chains = [first]
    for step in others:
        stops, after = stops_every(step, 0, n_rows), [(chains[-1], behind(2))]
        chains.append(Chain(lambda y0, y1: time.sleep(1e-5), stops, after))
    last = chains[-1]
    first.follow([(last, behind(-room))])
    with RowExecutor(n_jobs) as bands:
        bands.run_chains(chains, 1, n_jobs, evenly=True)
    assert all(chain.finished for chain in chains)
    assert max(distances) <= room


def test_steps_stop_at_further_rows_too():
    assert stops_every(4, 3, 12) == [3, 7, 11, 12]
    assert stops_every(4, 3, 12, [2, 3, 5, 7, 12, 13]) == [3, 5, 7, 11, 12]
    assert stops_every(100, 3, 12) == [3, 12]


@pytest.mark.parametrize(("evenly", "order"), [(False, "aaabbbccc"), (True, "aababcbcc")])
def test_one_after_the_other_or_evenly(evenly, order):
    taken, chains = [], []

    def step_of(name):
        return lambda y0, y1: taken.append(name)

    for name in "abc":
        after = [(chain, behind(0)) for chain in chains[-1:]]
        chains.append(Chain(step_of(name), [0, 2, 4, 6], after))
    with RowExecutor() as bands:
        bands.run_chains(chains, 1, 1, evenly)
    assert "".join(taken) == order


def test_a_thread_stays_with_its_chain():
    chains = [Chain(lambda y0, y1: None, [0, 2, 4, 6]) for _ in range(2)]
    todo = []
    Wavefront(chains, 2, todo.append).offer()
    steps, arguments = todo.pop(0)
    assert len(list(steps(*arguments))) == 3
    assert chains[0].finished
    assert chains[1].front == 0
    assert len(todo) == 1


@pytest.mark.parametrize(
    ("n_live", "waits", "order"),
    [
        (1, {}, "aaccbb"),
        (3, {}, "aabbcc"),  # somebody else has been offered it
        (3, {"c": "b"}, "aabbcc"),
        (1, {"c": "a"}, "aaccbb"),
    ],
)
def test_and_goes_on_with_what_comes_then(n_live, waits, order):
    taken = []

    def step_of(name):
        return lambda y0, y1: taken.append(name)

    chains = {name: Chain(step_of(name), [0, 1, 2]) for name in "abc"}
    for name, leader in waits.items():
        chains[name].follow([(chains[leader], behind(9))])
    todo, then = [], {chains["a"]: chains["c"]}
    Wavefront(list(chains.values()), n_live, todo.append, then=then).offer()
    while todo:
        work, arguments = todo.pop(0)
        for _ in work(*arguments):
            pass
    assert "".join(taken) == order


def test_threads_share_chains_that_do_not_wait_for_each_other():
    together = threading.Barrier(3)
    chains = [Chain(lambda y0, y1: together.wait(timeout=60), range(5)) for _ in range(3)]
    with RowExecutor(3) as bands:
        bands.run_chains(chains, 1, 3)
    assert all(chain.finished for chain in chains)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_a_step_that_fails_ends_it_all(n_jobs):
    def fail(y0, y1):
        if y0 == 3:
            raise MemoryError("row 3")

    first = Chain(fail, range(10))
    second = Chain(lambda y0, y1: None, range(10), [(first, behind(0))])
    with leaving_no_task(), pytest.raises(MemoryError, match="row 3"), RowExecutor(n_jobs) as bands:
        bands.run_chains([first, second], 9, n_jobs)
    assert first.front == 3
    assert second.front <= 3


class Forgetful(Wavefront):
    """As if another thread, long delayed, always stored an old list of what is unfinished."""

    def __setattr__(self, name, value):
        if name != "_unfinished" or not hasattr(self, name):
            super().__setattr__(name, value)


def test_old_lists_stored_late_stop_nothing():
    chains = []
    for _ in range(8):
        after = [(chain, behind(1)) for chain in chains[-1:]]
        chains.append(Chain(lambda y0, y1: None, [0, 2, 3], after))
    todo = []
    Forgetful(chains, 2, todo.append).offer()
    while todo:
        steps, arguments = todo.pop(0)
        for _ in steps(*arguments):
            pass
    assert all(chain.finished for chain in chains)
