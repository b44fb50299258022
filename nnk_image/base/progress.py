"""A progress bar for terminals and notebooks, with the time that is left."""

import math
import shutil
import sys
import time
from datetime import timedelta

_INTERVAL = 0.1  # seconds between two updates of the bar
_CELLS = 24  # characters of a full bar


class Bar:
    """One line on standard error, drawn over and over, and erased at the end."""

    def __init__(self, text: str, visible: bool = True, first: str = "") -> None:
        self._visible, self._drawn = visible and sys.stderr is not None, -math.inf
        self._text, self._begun = text, time.monotonic()
        self._draw(first or text)  # until it is known how much is done

    def update(self, done: float, total: float) -> None:
        """Show how much of the whole is done."""
        now = time.monotonic()
        if now - self._drawn < _INTERVAL:
            return
        self._drawn, share = now, min(1.0, done / total)
        self._draw(f"{self._text} {bar_of(share, now - self._begun)}")

    def close(self) -> None:
        """Erase the line."""
        self._draw("")

    def _draw(self, line: str) -> None:
        if not self._visible:
            return
        width = shutil.get_terminal_size().columns - 1
        # The carriage return lets other output overwrite the line.
        print(f"{line[:width]:{width}}\r", end="", file=sys.stderr, flush=True)


def bar_of(share: float, seconds: float) -> str:
    """Return a bar as text: the share that is done after `seconds`, and the time that is left.

    >>> bar_of(0.25, 30)
    '[######                  ]  25 %, 0:01:30 left'
    """
    full, left = int(_CELLS * share), ""
    if share > 0.01:  # else not known yet
        left = f", {timedelta(seconds=math.ceil(seconds * (1 - share) / share))} left"
    return f"[{'#' * full:{_CELLS}}] {int(100 * share):3} %{left}"
