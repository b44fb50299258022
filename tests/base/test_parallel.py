"""Threads process every row once, return results in order and stop cleanly after errors."""

import gc
import os
import re
import signal
import sys
import threading
import time
import weakref
from functools import partial

import numpy as np
import pytest
from child import leaving_no_task, python
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController
from whole_chain import PIXELS_PER_THREAD

from nnk_image import bilateral_graph, image_graph
from nnk_image.base import parallel
from nnk_image.base.parallel import (
    PIXELS_PER_CHUNK,
    RowExecutor,
    one_blas_thread,
    progress_bar,
    resolve_n_jobs,
)

JOBS = pytest.mark.parametrize("n_jobs", [1, 2, 4])


# --- number of threads -------------------------------------------------------------------


def test_n_jobs_gives_the_number_of_threads():
    assert resolve_n_jobs(None) == 1
    for n_jobs in (1, 7, 10**4, np.int64(3)):
        assert resolve_n_jobs(n_jobs) == n_jobs
        assert type(resolve_n_jobs(n_jobs)) is int
    assert 1 <= resolve_n_jobs(-1) <= os.cpu_count()


def test_negative_n_jobs_leave_processors_free_as_in_joblib(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {*range(8)}, raising=False)
    assert [resolve_n_jobs(n) for n in (-1, -2, -7, -8, -9, -100)] == [8, 7, 2, 1, 1, 1]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs os.sched_setaffinity")
def test_n_jobs_minus_one_respects_the_processor_affinity():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert resolve_n_jobs(-1) == 1
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize("n_jobs", [0, 1.0, "2", True, [2]])
def test_invalid_n_jobs_are_refused(n_jobs):
    error, message = TypeError, "n_jobs must be an integer or None, not"
    if type(n_jobs) is int:
        error, message = ValueError, rf"n_jobs={n_jobs} .* use 1, 2, \.\.\., or -1 for all"
    image = np.zeros((3, 3))
    for call in (RowExecutor, partial(image_graph, image), partial(bilateral_graph, image)):
        with pytest.raises(error, match=message):
            call(n_jobs=n_jobs)


def test_one_job_and_small_images_stay_on_the_calling_thread(monkeypatch):
    monkeypatch.setattr(parallel, "PIXELS_PER_THREAD", PIXELS_PER_THREAD)
    n_rows, before = int(1.9 * PIXELS_PER_THREAD) // 100, threading.active_count()
    for n_jobs, options in ((1, {"rows_per_chunk": 2}), (4, {"width": 100})):
        with RowExecutor(n_jobs) as executor:
            executor.run(lambda y0, y1: None, n_rows, **options)
            assert threading.active_count() <= before  # no helper was started


def test_every_thread_gets_work_and_later_stages_may_use_more_threads():
    with leaving_no_task(), RowExecutor(4) as executor:
        for n_threads in (2, 4, 3):  # each barrier needs this many threads at once
            meeting = threading.Barrier(n_threads, timeout=60)
            executor.run(lambda y0, y1, m=meeting: m.wait(), n_threads, rows_per_chunk=1)


# --- chunks of rows ----------------------------------------------------------------------


def chunks_of(n_jobs, *arguments, **options):
    """Return the chunks of rows that `run` passes to the work, from the first row on."""
    chunks = []
    with RowExecutor(n_jobs) as executor:
        executor.run(lambda y0, y1: chunks.append((y0, y1)), *arguments, **options)
    return sorted(chunks)


@settings(max_examples=60)
@given(
    n_rows=st.integers(0, 300),
    width=st.sampled_from([1, 1000, 2**17, 2**18, 2**20]),
    n_jobs=st.integers(1, 4),
    rows_per_chunk=st.sampled_from([None, 1, 7, 1000]),
)
def test_chunks_cover_every_row_once(n_rows, width, n_jobs, rows_per_chunk):
    chunks = chunks_of(n_jobs, n_rows, width, rows_per_chunk)
    assert all(y0 < y1 for y0, y1 in chunks)
    assert [0, *(y1 for _, y1 in chunks)] == [*(y0 for y0, _ in chunks), n_rows]
    most = rows_per_chunk or max(1, PIXELS_PER_CHUNK // width)
    assert all(y1 - y0 <= most for y0, y1 in chunks)


@JOBS
@pytest.mark.parametrize("rows_per_chunk", [1, 4, 100])
def test_results_are_consumed_in_order(n_jobs, rows_per_chunk):
    consumed, seen = [], set()

    def work(y0, y1):
        time.sleep(0.002 * (y0 % 3))
        return y0, y1

    def consume(rows):
        seen.add(threading.get_ident())
        consumed.append(rows)

    with leaving_no_task(), RowExecutor(n_jobs) as executor:
        executor.run(work, 30, rows_per_chunk=rows_per_chunk, consume=consume)
    assert seen == {threading.get_ident()}
    ends = [*range(rows_per_chunk, 30, rows_per_chunk), 30]
    assert consumed == list(zip([0, *ends[:-1]], ends, strict=True))


# --- progress ----------------------------------------------------------------------------


@JOBS
def test_progress_counts_rows(n_jobs):
    reports = []
    with RowExecutor(n_jobs, lambda *report: reports.append(report), total=50) as executor:
        executor.run(lambda y0, y1: None, 30, rows_per_chunk=4)
        executor.advance(5)
        executor.run(lambda y0, y1: None, 15, rows_per_chunk=7, consume=lambda result: None)
    done, totals = zip(*reports, strict=True)
    assert list(done) == sorted(set(done))
    assert done[-1] == 50
    assert set(totals) == {50}


def test_progress_true_shows_a_bar_on_standard_error_and_erases_it(capsys):
    threads = threading.active_count()
    with RowExecutor(1, True, total=4, description="work") as executor:
        executor.run(lambda y0, y1: time.sleep(0.11), 4, rows_per_chunk=1)
        out, err = capsys.readouterr()
    assert out == ""
    drawn = re.findall(r"\rwork: +(\d+)%\|.*?\| (\d\d:\d\d) left", err)
    assert drawn == [("25", "00:00"), ("50", "00:00"), ("75", "00:00"), ("100", "00:00")]
    assert re.fullmatch(r"\r {30,}\r", capsys.readouterr().err)
    assert threading.active_count() == threads


def test_progress_works_without_standard_error_and_loads_nothing_if_not_visible(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)  # an import would fail
    with progress_bar("work", visible=False) as show:
        show(1, 2)
    monkeypatch.setattr(sys, "stderr", None)
    with progress_bar("work") as show:
        show(1, 2)


# --- errors and interruptions ------------------------------------------------------------


@JOBS
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("place", ["work", "ordered work", "consume", "progress"])
def test_errors_are_raised_and_the_executor_stays_usable(place, error, n_jobs):
    """When an error is raised, no work is running and not all of it was started."""
    begun, running, failing = [], [], True

    def fail(where, row):
        if failing and where == place.removeprefix("ordered ") and row == 5:
            raise error("here")

    def work(y0, y1):
        begun.append(y0)
        fail("work", y0)
        running.append(y0)
        time.sleep(0.002)
        running.remove(y0)
        return y0

    options = {"rows_per_chunk": 1}
    if place in ("consume", "ordered work"):
        options["consume"] = lambda y0: fail("consume", y0)
    with leaving_no_task(), RowExecutor(n_jobs, lambda n, _: fail("progress", n), 2000) as executor:
        # The count of rows continues, so that row 5 is reported only once.
        for _ in range(1 if place == "progress" else 2):
            begun.clear()
            with pytest.raises(error, match="here"):
                executor.run(work, 1000, **options)
            assert not running
            assert len(begun) < 1000
        failing = False
        begun.clear()
        executor.run(work, 3, rows_per_chunk=1)
    assert sorted(begun) == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signal.setitimer")
def test_control_c_at_any_moment_stops_all_threads():
    answers = python(
        """
        import faulthandler, random, signal, threading, time
        from nnk_image.base.parallel import RowExecutor

        def starting_a_thread(frame):  # interrupting `start` would leave a lock held
            here = frame is not None
            return here and (frame.f_code.co_name == "start" or starting_a_thread(frame.f_back))

        def interrupt(_, frame):
            if starting_a_thread(frame):
                signal.setitimer(signal.ITIMER_REAL, 0.0001)
                return
            interrupted.append(True)
            raise KeyboardInterrupt

        def work(y0, y1):
            elsewhere = threading.get_ident() != main
            if elsewhere:
                running.append(y0)
            time.sleep(0.0002)
            if elsewhere:
                running.remove(y0)

        main, interrupted = threading.get_ident(), []
        signal.signal(signal.SIGALRM, interrupt)
        random.seed(1)
        for trial in range(500):
            faulthandler.dump_traceback_later(600, exit=True)  # if it hangs, show where
            running = []
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0002, 0.003))
                with RowExecutor(2) as executor:
                    executor.run(work, 60, rows_per_chunk=1, consume=str if trial % 2 else None)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                assert not running
        assert len(interrupted) > 100
        print("done")
        """
    )
    assert answers == ["done"]


# --- failing threads and memory ----------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_finished_work_is_released_before_the_next_stage(n_jobs):
    """Otherwise the images of one stage would stay in memory during the next."""
    image = type("Image", (), {})()
    held = weakref.ref(image)
    gc.disable()  # reference counting alone must release the image
    try:
        with RowExecutor(n_jobs) as executor:
            executor.run(lambda y0, y1, _=image: time.sleep(0.005), 9, rows_per_chunk=1)
            del image
            give_up = time.monotonic() + 30
            while held() is not None and time.monotonic() < give_up:
                time.sleep(1e-3)  # the other threads may be about to end
            assert held() is None
    finally:
        gc.enable()


# --- BLAS --------------------------------------------------------------------------------


def test_blas_has_one_thread_while_any_call_asks_for_it():
    libraries = ThreadpoolController().select(user_api="blas")

    def n_blas_threads():
        return max((library["num_threads"] for library in libraries.info()), default=1)

    with libraries.limit(limits=2):
        before = n_blas_threads()
        with one_blas_thread:
            with one_blas_thread:
                assert n_blas_threads() == 1
            assert n_blas_threads() == 1
        assert n_blas_threads() == before
