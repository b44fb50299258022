"""The one place that runs work on threads, reports progress and stops when asked to.

Work on an image is split into chunks of rows, each a short call into C without the GIL.
Results never depend on the split, Ctrl-C is answered between chunks, a forked child starts
threads of its own, and progress is a count of finished rows.
"""

from collections import deque
from functools import partial
from threading import get_ident

from nnk_image.base.imports import uninterrupted
from nnk_image.base.threads import ThreadPool, resolve_n_jobs

PIXELS_PER_CHUNK = 1 << 18
"""Pixels in a chunk at most: some 25 to 40 ms of the slowest stage."""

LEAST_PIXELS_PER_CHUNK = 1 << 11
"""For fewer a chunk is not worth handing to a thread: about 0.2 ms of the slowest stage."""

PIXELS_PER_THREAD = 1 << 14
"""For fewer a thread is not worth its start: about 1.5 ms of the slowest stage."""

_LEAST_ROWS = 4  # rows of a chunk at least, where there are threads


class RowExecutor:
    """Runs work on chunks of rows on ``n_jobs`` threads; a context manager around a public call.

    Inside the context the threads stay for the next stage of the work: starting them takes time.

    Parameters
    ----------
    n_jobs : int or None
        Threads, as in `resolve_n_jobs`.
    progress : bool or callable
        True shows a tqdm bar; a callable gets ``(done, total)`` rows after each chunk.
    total : int
        Rows of all stages together, for the progress report.
    description : str
        Text of the progress bar.
    """

    def __init__(self, n_jobs=None, progress=False, total=0, description=""):
        self.n_jobs = resolve_n_jobs(n_jobs)
        self._progress, self._total, self._description = progress, total, description
        self._done, self._bar = 0, None
        self._owner, self._from_others = get_ident(), deque()
        self._pool, self._entered = None, False

    def __enter__(self):
        self._entered = True
        if self._progress is True:
            self._bar = _tqdm()(total=self._total, desc=self._description, unit="row", leave=False)
        return self

    def __exit__(self, kind, *_):
        self._entered = False
        self._dismiss()
        if kind is None and self._done < self._total:  # count stages that were not needed as done
            self.advance(self._total - self._done)
        if self._bar is not None:
            self._bar.close()

    def threads_for(self, n_pixels):
        """Number of threads that are worth their start for work on so many pixels."""
        return max(1, min(self.n_jobs, n_pixels // PIXELS_PER_THREAD))

    def run(self, work, n_rows, width=1, rows_per_chunk=None, speed=1, counts_as=None):
        """Call ``work(y0, y1)`` for chunks that cover rows 0 to `n_rows`; all done on return.

        `width` is the number of pixels in a row.  The heights of the chunks, and whether
        threads are worth their start, follow from it unless `rows_per_chunk` is given.  A
        stage that has many times the `speed` of the slowest one is given in higher chunks.
        In the progress report all of it counts as so many rows, by default `n_rows`.
        """
        if rows_per_chunk is not None:
            n_threads, chunks = self.n_jobs, _equal_chunks(n_rows, rows_per_chunk)
        elif (n_threads := self.threads_for(n_rows * width)) == 1:
            chunks = _equal_chunks(n_rows, _rows_of(PIXELS_PER_CHUNK, width / speed))
        else:
            chunks = _shrinking_chunks(n_rows, width / speed, n_threads)
        self._run_chunks(work, lambda result: None, chunks, n_threads, counts_as)

    def run_in_order(self, work, consume, n_rows, rows_per_chunk, counts_as=None):
        """Like `run`, with ``consume(work(y0, y1))`` called on this thread, chunk after chunk.

        The chunks do not depend on the number of threads, so neither does what is made of
        their results in that order.  Each chunk is taken to be worth a thread.
        """
        chunks = _equal_chunks(n_rows, rows_per_chunk)
        self._run_chunks(work, consume, chunks, self.n_jobs, counts_as)

    def run_all(self, functions, n_threads):
        """Call functions without arguments, on so many threads; all done on return.

        They are begun in their order, and one may `wait_for` those before it.  Progress is left
        to them, by `advance`.
        """
        self._call(functions, n_threads, lambda number, result: None)

    def wait_for(self, queue):
        """Within a function of `run_all`: an item that an earlier one puts into a `SimpleQueue`."""
        return queue.get_nowait() if self._pool is None else self._pool.wait_for(queue)

    def advance(self, rows):
        """Count finished rows in the progress report.

        Only the thread that owns this reports: what others count it adds to its next report.
        """
        if get_ident() != self._owner:
            self._from_others.append(rows)
            return
        while self._from_others:
            rows += self._from_others.popleft()
        if rows == 0:
            return
        self._done += rows
        if self._bar is not None:
            self._bar.update(rows)
        elif callable(self._progress):
            self._progress(self._done, max(self._total, self._done))

    def _run_chunks(self, work, consume, chunks, n_threads, counts_as):
        n_rows = chunks[-1][1] if chunks else 0
        counts_as = n_rows if counts_as is None else counts_as

        def done(number, result):
            consume(result)
            y0, y1 = chunks[number]
            self.advance(y1 * counts_as // n_rows - y0 * counts_as // n_rows)

        self._call([partial(work, *rows) for rows in chunks], n_threads, done)

    def _call(self, functions, n_threads, done):
        """Call each function, and ``done(number, result)`` on this thread, in their order."""
        n_threads = min(n_threads, len(functions))
        if n_threads <= 1:
            for number, function in enumerate(functions):
                done(number, function())
            return
        finished = False
        try:
            self._call_on_threads(functions, n_threads, done)
            finished = True
        finally:
            if not (finished and self._entered):
                self._dismiss()

    def _call_on_threads(self, functions, n_threads, done):
        if self._pool is not None and self._pool.n_helpers < n_threads - 1:
            self._dismiss()
        if self._pool is None:
            self._pool = ThreadPool(n_threads - 1)
            self._pool.start()
        n_ahead = 2 * n_threads  # tasks queued at a time: results that wait for their turn are few
        for number, function in enumerate(functions[:n_ahead]):
            self._pool.submit(number, function)
        results = {}
        for number in range(len(functions)):
            while number not in results:
                finished, result = self._pool.next_result()
                results[finished] = result
            done(number, results.pop(number))
            if number + n_ahead < len(functions):
                self._pool.submit(number + n_ahead, functions[number + n_ahead])

    def _dismiss(self):
        if self._pool is not None:
            self._pool.stop()
            self._pool = None  # only now, so that an interrupted stop is tried again


def _rows_of(n_pixels, width):
    return max(1, int(n_pixels / max(1, width)))


def _equal_chunks(n_rows, height):
    return [(y, min(y + height, n_rows)) for y in range(0, n_rows, height)]


def _shrinking_chunks(n_rows, width, n_threads):
    """Chunks of half a thread's share of what is left: all threads end at nearly the same time."""
    most, chunks, y = _rows_of(PIXELS_PER_CHUNK, width), [], 0
    least = min(max(_LEAST_ROWS, _rows_of(LEAST_PIXELS_PER_CHUNK, width)), -(-n_rows // n_threads))
    while y < n_rows:
        share = -(-(n_rows - y) // (2 * n_threads))
        end = min(y + min(max(share, least), most), n_rows)
        chunks.append((y, end))
        y = end
    return chunks


def _tqdm():
    try:
        with uninterrupted():
            from tqdm.auto import tqdm
    except ImportError:
        raise ImportError(
            "progress=True needs tqdm: pip install 'nnk_image[progress]', "
            "or pass a function progress(done, total)"
        ) from None
    return tqdm
