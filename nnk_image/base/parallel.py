"""Threads, progress reports and interruption: the one place that runs work on chunks of rows.

A chunk is a short call into C without the GIL.  Results do not depend on how rows are split into
chunks; Ctrl-C is answered between chunks; a forked child starts threads of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, ExitStack, contextmanager, suppress
from functools import cache, partial
from itertools import islice
from numbers import Integral
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

Progress = bool | Callable[[int, int], object]
Work = Callable[[int, int], Any]
Outcome = tuple[int, Any, BaseException | None]  # number of a task, its result, its error
Chunks = list[tuple[int, int]]

PIXELS_PER_CHUNK = 1 << 18
"""Most pixels in a chunk: 25 to 40 ms of the slowest stage."""

LEAST_PIXELS_PER_CHUNK = 1 << 11
"""Fewest pixels in a chunk for a thread: about 0.2 ms of the slowest stage."""

PIXELS_PER_THREAD = 1 << 14
"""Fewest pixels for which another thread is worth its start: about 1.5 ms of the slowest stage."""


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads: None is 1, -1 all processors this process may use.

    As in scikit-learn, -2 is all but one, and so on, but at least one.
    """
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool):
        raise TypeError(f"n_jobs must be an integer or None, not {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs=0 is not a number of threads; use 1, 2, ..., or -1 for all")
    if n_jobs > 0:
        return int(n_jobs)
    affinity = hasattr(os, "sched_getaffinity")
    allowed = len(os.sched_getaffinity(0)) if affinity else os.cpu_count() or 1
    return max(1, allowed + 1 + int(n_jobs))


class _OneBlasThread(ContextDecorator):
    """Limits BLAS to one thread while any call is inside it."""

    def __init__(self) -> None:
        self._lock, self._calls = Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._calls == 0:
                self._limit = _blas_libraries().limit(limits=1, user_api="blas")
            self._calls += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._calls -= 1
            if self._calls == 0:
                self._limit.restore_original_limits()


one_blas_thread = _OneBlasThread()
"""Context manager and decorator (20 us): more BLAS threads would only spin on small matrices."""


@cache
def _blas_libraries() -> Any:
    from threadpoolctl import ThreadpoolController  # finding the libraries takes 2 ms

    return ThreadpoolController()


@contextmanager
def progress_bar(text: str, visible: bool = True) -> Iterator[Callable[[float, float], object]]:
    """Yield a function of (done, total) that shows a bar on stderr, which is erased at the end."""
    if not visible or sys.stderr is None:
        yield lambda done, total: None
        return
    from tqdm import tqdm  # importing it takes 20 ms

    class Bar(tqdm):
        monitor_interval = 0  # no thread that outlives the bar

    # The delay lets warnings about the arguments be printed before the bar is drawn.
    layout = {"bar_format": "{l_bar}{bar}| {remaining} left", "delay": 0.1, "leave": False}
    with Bar(desc=text, miniters=0, smoothing=0, **layout) as bar:

        def show(done: float, total: float) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


def progress_of_part(progress: Progress, part: int, parts: int) -> Progress:
    """Return the `progress` argument for one of several calls that take equally long."""
    if not callable(progress):
        return progress
    return lambda done, total: progress(part * total + done, parts * total)


class RowExecutor:
    """Runs work on chunks of rows on `n_jobs` threads, as a context manager around a public call.

    The threads live until the context ends. It can be used again after an error.
    """

    def __init__(
        self,
        n_jobs: int | None = None,  # as in `resolve_n_jobs`
        progress: Progress = False,  # True shows a bar; a callable gets rows (done, total)
        total: int = 0,  # rows of all stages together, for the progress report
        description: str = "",  # text of the bar
    ) -> None:
        self.n_jobs = resolve_n_jobs(n_jobs)
        if not (isinstance(progress, bool) or callable(progress)):
            raise TypeError(
                f"progress must be a bool, or a function of (done, total): {progress!r}"
            )
        self._progress, self._total, self._description = progress, total, description
        self._done = 0
        self._bar = ExitStack()
        self._helpers: list[Thread] = []
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        self._outcomes: SimpleQueue[Outcome] = SimpleQueue()

    def __enter__(self) -> RowExecutor:
        if self._progress is True:
            self._progress = self._bar.enter_context(progress_bar(self._description))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._bar:
            self._stop()
            if kind is None and self._done < self._total:  # count stages that were skipped as done
                self.advance(self._total - self._done)

    def threads_for(self, n_pixels: int) -> int:
        """Return the number of threads that are worth their start for work on `n_pixels` pixels."""
        return max(1, min(self.n_jobs, n_pixels // PIXELS_PER_THREAD))

    def run(
        self,
        work: Work,
        n_rows: int,
        width: int = 1,  # pixels in a row
        rows_per_chunk: int | None = None,  # None: as suits the threads
        counts_as: int | None = None,  # rows in the progress report; None: `n_rows`
        consume: Callable[[Any], object] | None = None,
    ) -> None:
        """Call ``work(y0, y1)`` for chunks that cover rows 0 to `n_rows`; all done on return.

        ``consume(result)`` is called on this thread, chunk after chunk. With `rows_per_chunk`, the
        chunks and their order, and so rounding, do not depend on the number of threads.
        """
        n_threads, height = self.n_jobs, rows_per_chunk
        if height is None:
            n_threads = self.threads_for(n_rows * width)
            height = _height_of_chunks(n_rows, width, n_threads)
        chunks = [(y, min(y + height, n_rows)) for y in range(0, n_rows, height)]
        n_threads = min(n_threads, len(chunks))
        total = n_rows if counts_as is None else counts_as
        results = (
            self._on_threads(work, chunks, n_threads)
            if n_threads > 1
            else (work(*rows) for rows in chunks)
        )
        try:
            for (y0, y1), result in zip(chunks, results, strict=True):
                if consume is not None:
                    consume(result)
                self.advance(y1 * total // n_rows - y0 * total // n_rows)
        except BaseException:
            self._stop()
            raise

    def advance(self, rows: int) -> None:
        """Count finished rows, and report them."""
        self._done += rows
        if rows > 0 and callable(self._progress):
            self._progress(self._done, max(self._total, self._done))

    def _on_threads(self, work: Work, chunks: Chunks, n_threads: int) -> Iterator[Any]:
        """Yield the results of the work on chunks, in their order."""
        self._start_helpers(n_threads - 1)
        tasks, results = enumerate(chunks), {}
        n_ahead = 2 * n_threads  # so that few results wait in memory for their turn
        for number in range(len(chunks)):
            for task, rows in islice(tasks, 1 if number else n_ahead):
                self._tasks.put((task, partial(work, *rows)))
            while number not in results:
                finished, result, error = self._next_outcome()
                if error is not None:
                    raise error
                results[finished] = result
            yield results.pop(number)

    def _next_outcome(self) -> Outcome:
        """Return the outcome of a task; the calling thread works on tasks too, if there are any."""
        with suppress(Empty):
            return self._outcomes.get_nowait()
        with suppress(Empty):
            number, function = self._tasks.get_nowait()
            return number, function(), None
        return self._outcomes.get()

    def _start_helpers(self, n_threads: int) -> None:
        """Have at least `n_threads` threads take tasks; the calling thread works as well.

        Tasks go through queues in C and not through `concurrent.futures`, whose locks in Python
        could stay taken if Ctrl-C came while the calling thread held one.
        """
        while len(self._helpers) < n_threads:
            helper = Thread(target=_help, args=(self._tasks, self._outcomes))
            self._helpers.append(helper)
            helper.start()

    def _stop(self) -> None:
        """Drop tasks that have not begun, and wait for those that have."""
        with suppress(Empty):
            while True:
                self._tasks.get_nowait()
        for _ in self._helpers:
            self._tasks.put(None)
        while self._helpers:
            if self._helpers[-1].ident is not None:  # it was started
                self._helpers[-1].join()
            self._helpers.pop()  # last, so that a wait that Ctrl-C interrupts is repeated
        self._tasks, self._outcomes = SimpleQueue(), SimpleQueue()


def _help(tasks: SimpleQueue[Any], outcomes: SimpleQueue[Outcome]) -> None:
    """Do tasks until there is None."""
    while (task := tasks.get()) is not None:
        number, function = task
        try:
            outcomes.put((number, function(), None))
        except BaseException as error:
            outcomes.put((number, None, error))
        del task, function  # free their memory while waiting for the next task


def _height_of_chunks(n_rows: int, width: int, n_threads: int) -> int:
    """Return the number of rows in a chunk; of several threads each gets about eight chunks."""
    most, least = (max(1, n // max(1, width)) for n in (PIXELS_PER_CHUNK, LEAST_PIXELS_PER_CHUNK))
    if n_threads == 1:
        return most
    least = min(least, -(-n_rows // n_threads))
    return min(max(least, n_rows // (8 * n_threads)), most)
