"""Row bands: the one place that starts threads, reports progress and stops when asked to.

Work is split into bands of image rows, each a short call into C without the GIL.
Bands run on a few Python threads: results never depend on the split, Ctrl-C is
answered between bands, a forked child starts its own threads, and progress is a count
of finished rows.
"""

import numbers
import os
from _thread import allocate_lock, start_new_thread
from collections import deque
from contextlib import suppress
from itertools import pairwise
from queue import Empty, SimpleQueue

from nnk_image import _core
from nnk_image.chains import Wavefront

PIXELS_PER_BAND = 1 << 18
"""Pixels in a band by default: some 25 to 40 ms of the slowest stage."""

PIXELS_PER_THREAD = 1 << 14
"""For fewer a thread is not worth its start: about 1.5 ms of the slowest stage."""

LEAST_PIXELS_PER_BAND = 1 << 11
"""For fewer a band is not worth handing to a thread: about 0.2 ms of the slowest stage."""

_LEAST_ROWS = 4  # nor are fewer rows
_MOST_FRESH = 1 << 27  # bytes to take for other threads: more were hardly given back lately
_FRESH_AT_ONCE = 1 << 24  # of them: Ctrl-C is answered in between
_PATIENCE = 0.5  # seconds without a result after which to see whether the threads live


def resolve_n_jobs(n_jobs):
    """Number of threads for ``n_jobs``: None is 1, -1 all processors this process may use."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool):
        raise TypeError(f"n_jobs must be an integer or None, not {n_jobs!r}")
    if n_jobs == 0 or n_jobs < -1:
        raise ValueError(f"n_jobs={n_jobs} is no number of threads; use 1, 2, ..., or -1 for all")
    if n_jobs > 0:
        return int(n_jobs)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Bands:
    """Runs row bands on ``n_jobs`` threads; a context manager around one public call.

    Parameters
    ----------
    n_jobs : int or None
        Threads, as in `resolve_n_jobs`.
    progress : bool or callable
        True shows a tqdm bar; a callable gets ``(done, total)`` rows after each band.
    total : int
        Rows of all stages together, for the progress bar.
    description : str
        Text of the progress bar.
    """

    def __init__(self, n_jobs=None, progress=False, total=0, description=""):
        self.n_jobs = resolve_n_jobs(n_jobs)
        self._progress, self._total, self._description = progress, total, description
        self._done, self._bar = 0, None
        self._team, self._entered = None, False

    def __enter__(self):
        self._entered = True
        if self._progress is True:
            self._bar = _tqdm()(total=self._total, desc=self._description, unit="row", leave=False)
        return self

    def __exit__(self, kind, *_):
        self._entered = False
        self._dismiss()
        if kind is None and self._done < self._total:  # stages that were not needed
            self.advance(self._total - self._done)
        if self._bar is not None:
            self._bar.close()

    def run(self, work, n_rows, width=1, rows_per_band=None, speed=1, fresh=None):
        """Call ``work(y0, y1)`` for bands that cover rows 0 to `n_rows`, all done on return.

        `width` is the number of pixels in a row, from which the band heights follow, and
        whether threads are worth their start, unless `rows_per_band` gives them.  Stages that
        have many times the `speed` of the slowest are given in higher bands.

        ``fresh(y0, y1)`` gives the memory, as byte views, that the work on these rows is the
        first to write to.  This thread takes some of it from the system while the others
        begin: the system hands it what it gave back last, which is in its cache, but the
        others pages from elsewhere (measured: nearly three times as slow), and two that come
        to the same huge page at once clear it twice.
        """
        if rows_per_band is not None:
            n_threads, bands = self.n_jobs, _equal_bands(n_rows, rows_per_band)
        elif (n_threads := self.threads_for(n_rows * width)) == 1:
            bands = _equal_bands(n_rows, _rows_of(PIXELS_PER_BAND, width / speed))
        else:
            bands = _shrinking_bands(n_rows, width / speed, n_threads)
        self._run_bands(work, lambda result: None, bands, n_threads, fresh)

    def threads_for(self, n_pixels):
        """Threads worth their start to share the work on so many pixels."""
        return max(1, min(self.n_jobs, n_pixels // PIXELS_PER_THREAD))

    def run_in_order(self, work, consume, n_rows, rows_per_band):
        """Like `run`, with ``consume(work(y0, y1))`` called here, band after band.

        The bands do not depend on the number of threads, so neither does what is made
        of their results in that order.  Each is taken to be worth a thread.
        """
        self._run_bands(work, consume, _equal_bands(n_rows, rows_per_band), self.n_jobs)

    def _run_bands(self, work, consume, bands, n_threads, fresh=None):
        if n_threads == 1 or len(bands) == 1:
            for y0, y1 in bands:
                consume(work(y0, y1))
                self.advance(y1 - y0)
        else:
            self._run_on_threads(
                lambda team: self._distribute(team, work, consume, bands, fresh),
                min(n_threads, len(bands)),
            )

    def run_chains(self, chains, n_rows, n_threads, evenly=False, then=None):
        """Do all the steps of a list of `Chain` on so many threads, counting as `n_rows` rows.

        All go on at once, a step each in turn, if `evenly`.  Otherwise the first few
        unfinished, and threads stay with them and what comes `then`: as few as keep the
        threads busy, twice as many, so that there is work while one is kept from ending its
        step.
        """
        n_steps = sum(chain.n_steps for chain in chains)
        done = [n_rows * n // n_steps for n in range(n_steps + 1)]
        advances = (end - begin for begin, end in pairwise(done))
        if n_threads == 1 or len(chains) == 1:
            todo = deque()
            Wavefront(chains, len(chains) if evenly else 1, todo.append, evenly, then).offer()
            for rows, _ in zip(advances, _results(todo), strict=True):
                self.advance(rows)
        else:
            n_live = len(chains) if evenly else 2 * n_threads
            self._run_on_threads(
                lambda team: self._let_run(
                    team, Wavefront(chains, n_live, team.todo.put, evenly, then), advances
                ),
                min(n_threads, len(chains)),
            )

    def _run_on_threads(self, give_work, n_threads):
        # Waits on C queues and locks only: Ctrl-C may come between any two bytecodes, and
        # would leave the Python-level locks of threading and concurrent.futures taken for ever.
        # Inside the context the threads stay for the next stage: starting them takes time.
        done = False
        try:
            if self._team is not None and self._team.size < n_threads - 1:
                self._dismiss()
            if self._team is None:
                self._team = _Team(n_threads - 1)
                self._team.start()
            # Only now: a thread that Ctrl-C kept off the list never gets a band.
            give_work(self._team)
            self._team.forget()
            done = True
        finally:
            if not (done and self._entered):
                self._dismiss()

    def _distribute(self, team, work, consume, bands, fresh):
        def once(*band):
            yield work(*band)

        # Results waiting for their turn are few; with `fresh`, enough work until this thread joins.
        n_ahead = (4 if fresh else 2) * (team.size + 1)
        for band in bands[:n_ahead]:
            team.todo.put((once, band))
        if fresh:
            _take_memory(team, bands[:n_ahead], fresh)
        results = {}
        for n, band in enumerate(bands):
            while band not in results:
                finished, result = team.next_result()
                results[finished] = result
            consume(results.pop(band))
            self.advance(band[1] - band[0])
            for later in bands[n + n_ahead : n + n_ahead + 1]:
                team.todo.put((once, later))

    def _let_run(self, team, wavefront, advances):
        wavefront.offer()
        for rows in advances:
            team.next_result()
            self.advance(rows)

    def _dismiss(self):
        if self._team is not None:
            self._team.stop()
            self._team = None  # only now: interrupted, it is done again

    def advance(self, rows):
        """Count finished rows in the progress report."""
        self._done += rows
        if self._bar is not None:
            self._bar.update(rows)
        elif callable(self._progress):
            self._progress(self._done, max(self._total, self._done))


class _Team:
    """This thread and `size` more, which take (work, band) from the queue `todo`.

    ``work(*band)`` is an iterator of results, each of which it works for.  This thread works
    too: it is on a processor already, where the system takes some milliseconds to spread new
    threads, and finishes alone if the others have died.  The others keep off its processor:
    on a busy machine they would begin there and stay for longer than the work takes, two
    threads then being slower than one.
    """

    def __init__(self, size):
        self.size, self.todo = size, SimpleQueue()
        self._finished, self._stopped = SimpleQueue(), False
        self._band, self._results = None, iter(())  # what this thread is at
        self._begun, self._ended = [False] * size, [False] * size
        self._running = [allocate_lock() for _ in range(size)]
        self._n_started, self._home = 0, _core.current_processor()

    def start(self):
        """Start the threads; each holds its lock in `_running` until it ends."""
        for number, running in enumerate(self._running):
            running.acquire()
            self._n_started += 1
            try:
                _core.start_off(self._home, start_new_thread, self._loop, (number,))
            except RuntimeError:
                self._n_started -= 1
                raise

    def _loop(self, number):
        try:
            self._begun[number] = True
            while self._work_on(self.todo.get()):
                pass
        except BaseException as error:
            self._finished.put((None, error))
        finally:
            self._ended[number] = True
            self._running[number].release()
            if self._stopped:
                self.todo.put(None)  # for the next one

    def _work_on(self, task):
        """Put the results of a task into `_finished`; False if there is nothing left to do."""
        if task is None or self._stopped:
            return False
        work, band = task
        for result in work(*band):
            self._finished.put((band, result))
            if self._stopped:
                return False
        return True

    def next_result(self):
        """(band, result) of a band just finished; raises what its work raised."""
        band, result = self._finished_or_done_here() or self._finished_elsewhere()
        if band is None:
            raise result
        return band, result

    def forget(self):
        """Let go of what this thread did last, and of the images in it."""
        self._band, self._results = None, iter(())

    def _finished_or_done_here(self):
        with suppress(Empty):
            return self._finished.get_nowait()
        with suppress(Empty):
            while True:
                for result in self._results:
                    return self._band, result
                work, self._band = self.todo.get_nowait()
                self._results = work(*self._band)
        return None

    def _finished_elsewhere(self):
        while True:
            # Asked before the queue, for their last words come before their end.  Before `stop`
            # none ends but by an error.
            someone_ended = any(self._ended)
            with suppress(Empty):
                return self._finished.get(timeout=0 if someone_ended else _PATIENCE)
            if someone_ended:
                raise MemoryError("a thread died, probably for lack of memory; use n_jobs=1")

    def stop(self):
        """Let the threads end after the band they are at, and wait until they have.

        To be called again if it was interrupted.
        """
        self._stopped = True
        self.todo.put(None)  # one that ends passes it on
        for number in range(self._n_started):
            if not self._ended[number]:
                self._running[number].acquire(timeout=-1 if self._begun[number] else _PATIENCE)


def _take_memory(team, queued, fresh):
    """Populate `fresh` memory of bands in the queue, but of those that others begin with."""
    left = _MOST_FRESH
    for piece in _pieces_for_others(team, queued, fresh):
        _core.populate(piece)
        left -= piece.size
        if left <= 0:
            return


def _pieces_for_others(team, queued, fresh):
    for n, band in enumerate(queued):
        if n >= max(team.size, len(queued) - team.todo.qsize()):  # nobody has begun with it
            for part in fresh(*band):
                for first in range(0, part.size, _FRESH_AT_ONCE):
                    yield part[first : first + _FRESH_AT_ONCE]


def _results(todo):
    """The results of the tasks of a deque, and of those that they add to it."""
    while todo:
        work, arguments = todo.popleft()
        yield from work(*arguments)


def _rows_of(n_pixels, width):
    return max(1, int(n_pixels / max(1, width)))


def _equal_bands(n_rows, height):
    return [(y, min(y + height, n_rows)) for y in range(0, n_rows, height)]


def _shrinking_bands(n_rows, width, n_threads):
    """Bands of half a thread's share of what is left: all end at nearly the same time."""
    most, bands, y = _rows_of(PIXELS_PER_BAND, width), [], 0
    least = min(max(_LEAST_ROWS, _rows_of(LEAST_PIXELS_PER_BAND, width)), -(-n_rows // n_threads))
    while y < n_rows:
        share = -(-(n_rows - y) // (2 * n_threads))
        end = min(y + min(max(share, least), most), n_rows)
        bands.append((y, end))
        y = end
    return bands


def _tqdm():
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError(
            "progress=True needs tqdm: pip install 'nnk_image[progress]', "
            "or pass a function progress(done, total)"
        ) from None
    return tqdm
