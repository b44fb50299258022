"""How many threads, and a pool of them that neither Ctrl-C nor a fork nor a death leaves hanging.

The pool waits on C queues and locks only.  Ctrl-C may come between any two bytecodes; the locks of
`threading` and `concurrent.futures` are written in Python and could then stay taken for ever.
"""

import numbers
import os
from _thread import allocate_lock, start_new_thread
from contextlib import suppress
from queue import Empty, SimpleQueue

_PATIENCE = 0.5  # seconds without a result after which to look whether the threads still live
_SHORT_PATIENCE = 0.02  # seconds after which a waiting task looks whether all is to stop


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


class Stopped(Exception):
    """A task was waiting for another one that will not go on."""


class ThreadPool:
    """Helper threads that take tasks from one queue, together with the thread that waits.

    A task is a number and a function without arguments.  The thread that asks for the next
    result works as well: it is running already, while the system takes milliseconds to spread
    new threads, and it finishes the work alone if the helpers have died.

    Parameters
    ----------
    n_helpers : int
        Threads beside the calling one.
    """

    def __init__(self, n_helpers):
        self.n_helpers = n_helpers
        self._tasks, self._finished, self._stopped = SimpleQueue(), SimpleQueue(), False
        self._begun, self._ended = [False] * n_helpers, [False] * n_helpers
        self._running = [allocate_lock() for _ in range(n_helpers)]
        self._n_started = 0

    def start(self):
        """Start the helpers; each holds its lock in `_running` until it ends."""
        for helper, running in enumerate(self._running):
            running.acquire()
            self._n_started += 1
            try:
                start_new_thread(self._loop, (helper,))
            except RuntimeError:
                self._n_started -= 1
                raise

    def submit(self, number, function):
        """Queue a task; its result will come with its number."""
        self._tasks.put((number, function))

    def next_result(self):
        """(number, result) of a task just finished; raises what the task raised."""
        try:
            number, result = self._finished_or_done_here() or self._finished_by_a_helper()
        except Stopped:  # a helper has failed, and its own error tells why
            number, result = self._finished_by_a_helper()
        if number is None:
            raise result
        return number, result

    def wait_for(self, queue):
        """The next item of a `SimpleQueue` into which a task submitted earlier puts it.

        Raises `Stopped` if a thread has ended by an error, or all are to end.
        """
        while True:
            with suppress(Empty):
                return queue.get(timeout=_SHORT_PATIENCE)
            if self._stopped or any(self._ended):
                raise Stopped

    def stop(self):
        """Let the helpers end after the tasks they are at, and wait until they have.

        To be called again if it was interrupted.
        """
        self._stopped = True
        self._tasks.put(None)  # each helper that ends puts it back for the next one
        for helper in range(self._n_started):
            if not self._ended[helper]:
                self._running[helper].acquire(timeout=-1 if self._begun[helper] else _PATIENCE)

    def _loop(self, helper):
        try:
            self._begun[helper] = True
            while self._take_a_task():
                pass
        except BaseException as error:
            self._finished.put((None, error))
        finally:
            self._ended[helper] = True
            self._running[helper].release()
            if self._stopped:
                self._tasks.put(None)

    def _take_a_task(self):
        """Do the next task; False if there will be none.  Afterwards nothing of it is held."""
        task = self._tasks.get()
        if task is None or self._stopped:
            return False
        number, function = task
        self._finished.put((number, function()))
        return True

    def _finished_or_done_here(self):
        with suppress(Empty):
            return self._finished.get_nowait()
        with suppress(Empty):
            number, function = self._tasks.get_nowait()
            return number, function()
        return None

    def _finished_by_a_helper(self):
        while True:
            # This is asked before the queue: a helper puts its error there before it ends.
            # Until `stop` is called, no helper ends but by an error.
            someone_ended = any(self._ended)
            with suppress(Empty):
                return self._finished.get(timeout=0 if someone_ended else _PATIENCE)
            if someone_ended:
                raise MemoryError("a thread died, probably for lack of memory; use n_jobs=1")
