"""Row bands cover every row once, report progress, and stop cleanly whatever happens."""

import gc
import os
import signal
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from child import leaving_no_task, python
from hypothesis import given
from hypothesis import strategies as st
from whole_chain import LEAST_PIXELS_PER_BAND, PIXELS_PER_THREAD

import nnk_image.base.parallel
from nnk_image import bilateral_graph, image_graph
from nnk_image.base.parallel import RowExecutor, PIXELS_PER_BAND, _shrinking_bands
from nnk_image.base.threads import resolve_n_jobs
from nnk_image.spectral._chains import Chain
from nnk_image.graph.build import GRAPH_STAGES, build_graph
from nnk_image.graph.pruning import GraphSpec
from nnk_image.base.image import check_image

JOBS = pytest.mark.parametrize("n_jobs", [1, 2, 4])


# --- how many threads --------------------------------------------------------------------


def test_n_jobs():
    assert resolve_n_jobs(None) == 1
    for n_jobs in (1, 7, 10**4, np.int64(3)):
        assert resolve_n_jobs(n_jobs) == n_jobs
        assert type(resolve_n_jobs(n_jobs)) is int
    assert 1 <= resolve_n_jobs(-1) <= os.cpu_count()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no processor affinity here")
def test_all_processors_are_those_allowed():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert resolve_n_jobs(-1) == 1
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize("n_jobs", [0, -2, -100])
def test_n_jobs_out_of_range(n_jobs):
    for call in (resolve_n_jobs, Bands, lambda n: image_graph(np.zeros((3, 3)), n_jobs=n)):
        with pytest.raises(
            ValueError, match=rf"n_jobs={n_jobs} .* use 1, 2, \.\.\., or -1 for all"
        ):
            call(n_jobs)


@pytest.mark.parametrize("n_jobs", [1.0, "2", True, [2]])
def test_n_jobs_that_are_no_integers(n_jobs):
    for call in (resolve_n_jobs, Bands, lambda n: bilateral_graph(np.zeros((3, 3)), n_jobs=n)):
        with pytest.raises(TypeError, match="n_jobs must be an integer or None, not"):
            call(n_jobs)


# --- which rows --------------------------------------------------------------------------


@given(
    n_rows=st.integers(0, 300),
    width=st.sampled_from([1, 1000, 2**17, 2**18, 2**20]),
    n_jobs=st.integers(1, 4),
    rows_per_band=st.sampled_from([None, 1, 7, 1000]),
)
def test_bands_cover_every_row_once(n_rows, width, n_jobs, rows_per_band):
    done = []
    with RowExecutor(n_jobs) as bands:
        bands.run(lambda y0, y1: done.append((y0, y1)), n_rows, width, rows_per_band)
    done.sort()
    assert all(y0 < y1 for y0, y1 in done)
    assert [0, *(y1 for _, y1 in done)] == [*(y0 for y0, _ in done), n_rows]
    if rows_per_band:
        assert all(y1 - y0 <= rows_per_band for y0, y1 in done)


def bands_for_threads(*arguments):
    """As large as outside of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nnk_image.bands, "LEAST_PIXELS_PER_BAND", LEAST_PIXELS_PER_BAND)
        return _shrinking_bands(*arguments)


@given(n_rows=st.integers(1, 5000), width=st.integers(1, 2**20), n_jobs=st.integers(2, 9))
def test_bands_for_threads_shrink(n_rows, width, n_jobs):
    """So that threads end at nearly the same time, however unequal they are."""
    bands = bands_for_threads(n_rows, width, n_jobs)
    heights = [y1 - y0 for y0, y1 in bands]
    assert sum(heights) == n_rows
    assert heights == sorted(heights, reverse=True)
    assert heights[0] <= max(1, PIXELS_PER_BAND // width)
    assert heights[0] <= -(-n_rows // n_jobs)
    for (y0, _), height in zip(bands, heights, strict=True):
        share = -(-(n_rows - y0) // (2 * n_jobs))
        assert height <= max(4, share) or height * width <= LEAST_PIXELS_PER_BAND


@given(n_rows=st.integers(1, 3000), width=st.integers(1, 3000), n_jobs=st.integers(2, 9))
def test_fast_stages_have_fewer_bands(n_rows, width, n_jobs):
    """None, but the last, that takes less time than a small one of the slowest stage."""
    bands = bands_for_threads(n_rows, width / 16, n_jobs)
    assert len(bands) <= len(bands_for_threads(n_rows, width, n_jobs))
    for y0, y1 in bands[:-1]:
        assert (y1 - y0 + 1) * width / 16 > LEAST_PIXELS_PER_BAND or y1 - y0 >= n_rows // n_jobs


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no processor affinity here")
@pytest.mark.parametrize("alone", [False, True])
def test_threads_keep_off_the_callers_processor(alone, monkeypatch):
    """The system would start them there on a busy machine; what the caller may use stays."""
    allowed, meeting, seen = os.sched_getaffinity(0), threading.Barrier(2, timeout=30), {}
    home = nnk_image._core.current_processor()
    assert home in allowed
    monkeypatch.setattr(nnk_image._core, "current_processor", lambda: home)

    def work(y0, y1):
        meeting.wait()
        seen[threading.get_ident()] = os.sched_getaffinity(0)

    may_use = {home} if alone else allowed
    os.sched_setaffinity(0, may_use)
    try:
        RowExecutor(2).run(work, 2, rows_per_band=1)
    finally:
        os.sched_setaffinity(0, allowed)
    assert seen.pop(threading.get_ident()) == may_use
    assert list(seen.values()) == [may_use - {home} or may_use]


def test_small_works_are_not_worth_threads(monkeypatch):
    monkeypatch.setattr(nnk_image.bands, "PIXELS_PER_THREAD", PIXELS_PER_THREAD)
    assert 1 < PIXELS_PER_THREAD < PIXELS_PER_BAND
    for n_pixels, expected in ((0, 1), (1, 1), (2, 2), (2.9, 2), (7.5, 7), (8, 8), (100, 8)):
        assert RowExecutor(8).threads_for(int(n_pixels * PIXELS_PER_THREAD)) == expected
    assert RowExecutor().threads_for(10**9) == 1
    threads, rows = set(), int(1.9 * PIXELS_PER_THREAD) // 100
    with RowExecutor(4) as bands:
        bands.run(lambda y0, y1: threads.add(threading.get_ident()), rows, width=100)
    assert threads == {threading.get_ident()}


def test_every_thread_gets_work():
    meeting = threading.Barrier(3, timeout=30)  # passed only by three threads at once
    with leaving_no_task(), RowExecutor(3) as bands:
        bands.run(lambda y0, y1: meeting.wait(), 6, rows_per_band=1)


def test_a_later_stage_may_take_more_threads():
    with leaving_no_task(), RowExecutor(4) as bands:
        for n_threads in (2, 4, 3):
            meeting = threading.Barrier(n_threads, timeout=30)
            bands.run(lambda y0, y1, m=meeting: m.wait(), n_threads, rows_per_band=1)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_nothing_done_is_held_until_the_next_stage(n_jobs):
    """It would be images, as many again as the next stage needs."""

    class Image:
        pass

    image = Image()
    held = weakref.ref(image)
    gc.disable()  # nor are there circles
    try:
        with RowExecutor(n_jobs) as bands:
            chains = [Chain(lambda y0, y1, _=image: None, range(9)) for _ in range(4)]
            then = {chains[0]: chains[3]}
            bands.run_chains(chains, 1, n_jobs, then=then)
            bands.run(lambda y0, y1, _=image: None, 9, rows_per_band=1)
            del image, chains, then
            give_up = time.monotonic() + 30
            while held() is not None and time.monotonic() < give_up:
                time.sleep(1e-3)  # the other threads are just at their last words
            assert held() is None
    finally:
        gc.enable()


def test_one_job_stays_on_the_calling_thread():
    threads = set()
    with RowExecutor(1) as bands:
        bands.run(lambda y0, y1: threads.add(threading.current_thread()), 9, rows_per_band=2)
    assert threads == {threading.current_thread()}


@JOBS
@pytest.mark.parametrize("rows_per_band", [1, 4, 100])
def test_results_are_consumed_in_order(n_jobs, rows_per_band):
    consumed, threads = [], set()

    def work(y0, y1):
        time.sleep(0.002 * (y0 % 3))
        return y0, y1

    def consume(rows):
        threads.add(threading.current_thread())
        consumed.append(rows)

    with leaving_no_task(), RowExecutor(n_jobs) as bands:
        bands.run_in_order(work, consume, 30, rows_per_band)
    assert threads == {threading.current_thread()}
    ends = [*range(rows_per_band, 30, rows_per_band), 30]
    assert consumed == list(zip([0, *ends[:-1]], ends, strict=True))


# --- progress ----------------------------------------------------------------------------


@JOBS
def test_progress_counts_rows(n_jobs):
    reports = []
    with RowExecutor(n_jobs, lambda *report: reports.append(report), total=50) as bands:
        bands.run(lambda y0, y1: None, 30, rows_per_band=4)
        bands.run(lambda y0, y1: None, 20, rows_per_band=7)
    done, totals = zip(*reports, strict=True)
    assert list(done) == sorted(set(done))
    assert done[-1] == 50
    assert set(totals) == {50}


@JOBS
@pytest.mark.parametrize("kind", ["nnk", "bilateral"])
def test_progress_of_a_graph_never_exceeds_its_total(kind, n_jobs):
    reports = []
    plan = GraphSpec(check_image(np.eye(40)), 5, 2.0, 0.1)
    total = GRAPH_STAGES * 40
    with RowExecutor(n_jobs, lambda *report: reports.append(report), total) as bands:
        build_graph(plan, kind, bands)
    assert len(reports) > 1
    assert all(done <= of == total for done, of in reports)
    if kind == "nnk":
        assert reports[-1] == (total, total)


def test_progress_bar(capsys):
    with RowExecutor(2, True, total=20, description="work") as bands:
        bands.run(lambda y0, y1: None, 20, rows_per_band=1)
        shown = capsys.readouterr().err
    assert "work" in shown
    assert "/20" in shown


def test_progress_bar_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with (
        pytest.raises(
            ImportError, match=r"pip install 'nnk_image\[progress\]', or pass a function"
        ),
        RowExecutor(1, True, total=1),
    ):
        pass


# --- errors and interruptions ------------------------------------------------------------


class Failure(Exception):
    pass


@JOBS
@pytest.mark.parametrize("error", [Failure, KeyboardInterrupt, MemoryError, SystemExit])
def test_errors_in_a_band_come_out(error, n_jobs):
    started = []

    def work(y0, y1):
        started.append(y0)
        if y0 == 5:
            raise error("here")
        time.sleep(0.005)

    with leaving_no_task(), pytest.raises(error, match="here"), RowExecutor(n_jobs) as bands:
        bands.run(work, 1000, rows_per_band=1)
    assert len(started) < 1000


@JOBS
@pytest.mark.parametrize("error", [Failure, KeyboardInterrupt])
def test_errors_in_the_progress_report_come_out(error, n_jobs):
    started = []

    def work(y0, y1):
        started.append(y0)
        time.sleep(0.005)

    def report(done, total):
        if done >= 3:
            raise error("here")

    with (
        leaving_no_task(),
        pytest.raises(error, match="here"),
        RowExecutor(n_jobs, report) as bands,
    ):
        bands.run(work, 1000, rows_per_band=1)
    assert len(started) < 1000


@JOBS
@pytest.mark.parametrize("place", ["work", "consume"])
def test_errors_in_ordered_bands_come_out(place, n_jobs):
    started = []

    def work(y0, y1):
        started.append(y0)
        if place == "work" and y0 == 7:
            raise Failure("here")
        return y0

    def consume(y0):
        if place == "consume" and y0 == 7:
            raise Failure("here")

    with leaving_no_task(), pytest.raises(Failure, match="here"), RowExecutor(n_jobs) as bands:
        bands.run_in_order(work, consume, 1000, 1)
    assert len(started) < 1000


def test_an_interrupted_stop_is_done_again():
    class Interrupted:
        def __init__(self, todo):
            self._todo, self.n_interrupts = todo, 0

        def __getattr__(self, name):
            return getattr(self._todo, name)

        def put(self, task):
            if task is None and not self.n_interrupts:
                self.n_interrupts += 1
                raise KeyboardInterrupt
            self._todo.put(task)

    def fail_last(y0):
        if y0 == 5:
            raise Failure

    with leaving_no_task(), RowExecutor(3) as bands:
        bands.run(lambda y0, y1: None, 6, rows_per_band=1)
        team = bands._team
        team.todo = Interrupted(team.todo)
        with pytest.raises(KeyboardInterrupt):
            bands.run_in_order(lambda y0, y1: y0, fail_last, 6, 1)
    assert team.todo.n_interrupts == 1


@JOBS
def test_no_band_runs_once_an_error_is_out(n_jobs):
    release, running = threading.Event(), []

    def work(y0, y1):
        if y0 == 0:
            raise Failure
        running.append(y0)
        release.wait(0.01)
        running.remove(y0)

    with RowExecutor(n_jobs) as bands:
        with pytest.raises(Failure):
            bands.run(work, 500, rows_per_band=1)
        assert not running
        bands.run(lambda y0, y1: running.append(y0), 3, rows_per_band=1)
        assert sorted(running) == [0, 1, 2]


@JOBS
def test_errors_inside_a_graph_come_out(n_jobs, monkeypatch):
    def fail(*arguments):
        raise MemoryError("no scratch")

    monkeypatch.setattr(nnk_image.graph._core, "fill", fail)
    with leaving_no_task(), pytest.raises(MemoryError, match="no scratch"):
        image_graph(np.eye(30), n_jobs=n_jobs)
    monkeypatch.undo()
    assert image_graph(np.eye(30), n_jobs=n_jobs).n_edges > 0


def test_no_threads_are_left_after_a_graph():
    with leaving_no_task():
        image_graph(np.eye(64), n_jobs=4)


# --- processes ---------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_works_after_its_parent():
    answers = python(
        """
        import multiprocessing
        from nnk_image import image_graph
        from nnk_image.bands import RowExecutor
        from whole_chain import GREY, graph_sum

        def answer():
            return graph_sum(image_graph(GREY, n_jobs=2))

        def report(queue):
            queue.put(answer())

        fork = multiprocessing.get_context("fork")
        queue = fork.SimpleQueue()
        with RowExecutor(2) as bands:  # threads may live on from one run to the next
            bands.run(lambda y0, y1: None, 8, rows_per_band=1)
            own = answer()
            children = [fork.Process(target=report, args=(queue,)) for _ in range(2)]
            for child in children:
                child.start()
            for child in children:
                child.join(60)
                assert child.exitcode == 0, child.exitcode
        print(own == queue.get(), own == queue.get())
        """
    )
    assert answers == ["True", "True"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_control_c_at_any_moment_stops_the_bands():
    answers = python(
        """
        import faulthandler, random, signal, threading, time
        from nnk_image.bands import RowExecutor

        def interrupt(*_):
            raise KeyboardInterrupt

        def work(y0, y1):
            elsewhere = threading.get_ident() != main
            if elsewhere:
                running.append(y0)
            time.sleep(0.0002)
            if elsewhere:
                running.remove(y0)

        main = threading.get_ident()

        signal.signal(signal.SIGALRM, interrupt)
        random.seed(1)
        for trial in range(500):
            faulthandler.dump_traceback_later(20, exit=True)  # it hangs: say where
            running = []
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0002, 0.003))
                with RowExecutor(2) as bands:
                    if trial % 2:
                        bands.run(work, 60, rows_per_band=1)
                    else:
                        bands.run_in_order(work, lambda result: None, 60, 1)
            except KeyboardInterrupt:
                assert not running
            else:
                signal.setitimer(signal.ITIMER_REAL, 0)
        print("done")
        """
    )
    assert answers == ["done"]


def test_many_threads_may_call_at_once():
    image = np.random.default_rng(1).random((40, 70))
    expected = image_graph(image).adjacency
    found = [None] * 8

    def call(i):
        found[i] = image_graph(image, n_jobs=1 + i % 2).adjacency

    callers = [threading.Thread(target=call, args=(i,)) for i in range(len(found))]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    for adjacency in found:
        assert (adjacency != expected).nnz == 0
