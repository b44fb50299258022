"""Imports within a call, which Ctrl-C must not cut short.

A package whose import was interrupted stays half loaded: the next call that needs it fails with
errors that tell nothing, until Python is started anew.
"""


class uninterrupted:
    """A context manager that puts Ctrl-C off until its block has ended.

    The handler that was there before is then called as if the key had just been pressed.  Outside
    the main thread, which alone is interrupted, nothing is changed.

    Examples
    --------
    >>> with uninterrupted():
    ...     import sqlite3
    """

    def __enter__(self):
        import signal
        import threading

        self._before, self._pressed = None, []
        before = signal.getsignal(signal.SIGINT)
        if callable(before) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._note)
            self._before = before

    def __exit__(self, *_):
        import signal

        if self._before is None:
            return
        signal.signal(signal.SIGINT, self._before)
        if self._pressed:
            self._before(*self._pressed[-1])

    def _note(self, *press):
        self._pressed.append(press)
