"""Parts of an experiment: each is measured once and kept in a folder."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.machine import machine, versions
from benchmarks.pictures import Picture
from nnk_image.base.atomic import atomic_output

_AT_WORK = ("nnk_image", "numpy", "scipy", "scikit-image", "PyGSP")
"""Packages that every result depends on."""


@dataclass(frozen=True)
class Setup:
    """What an experiment is asked for.

    Attributes
    ----------
    pictures : tuple of Picture
    seed : int
        Of the noise.
    lmax : dict from picture name to dict from kind of graph to float
        Eigenvalues to design wavelets for, where given.
    n_jobs : int or None
        Threads; timings always take one.
    """

    pictures: tuple[Picture, ...]
    seed: int = 0
    lmax: dict[str, dict[str, float]] = field(default_factory=dict)
    n_jobs: int | None = None


@dataclass(frozen=True)
class Part:
    """One measurement.

    Attributes
    ----------
    picture : Picture
    parameters : dict
        All that the result depends on besides the picture; values that JSON can hold.
    measure : callable
        Returns the measured rows: a list of dicts of values that JSON can hold.
    timed : bool
        Whether the rows hold times, which only count on the processor they were taken on.
    """

    picture: Picture
    parameters: dict
    measure: Callable[[], list[dict]]
    timed: bool = False


def parts_by_window(pictures, windows, parameters, measure):
    """Timed parts, one per picture and window, each measured by ``measure(picture, window)``."""
    return [
        Part(
            picture,
            parameters | {"windows": [window]},
            lambda p=picture, w=window: measure(p, w),
            timed=True,
        )
        for picture in pictures
        for window in windows
    ]


class Store:
    """Keeps measured parts as JSON files in a folder, so that they are not measured again.

    A file's name is a digest of the figure, the part's parameters, the picture's content
    and the versions of the packages that every result depends on.

    Parameters
    ----------
    folder : Path
    fresh : bool
        Measure everything again.
    """

    def __init__(self, folder, fresh=False):
        self._folder, self._fresh = folder, fresh
        self._versions = {name: v for name, v in versions().items() if name in _AT_WORK}
        here = machine()
        self._processor = [here["processor"], here["vector variant"]]

    def find(self, figure, part):
        """Rows of a finished part, or None; a damaged file counts as none."""
        if self._fresh:
            return None
        key, path = self._place(figure, part)
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            return kept["rows"] if kept["key"] == key else None
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def measure(self, figure, part):
        """Measure a part and keep its rows, each with the picture's name in front."""
        start = time.perf_counter()
        rows = [{"image": part.picture.name, **row} for row in part.measure()]
        key, path = self._place(figure, part)
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {"key": key, "seconds": time.perf_counter() - start, "rows": rows}
        with atomic_output(path, text=True) as file:
            json.dump(kept, file)
        return rows

    def _place(self, figure, part):
        """What identifies a part, and the path of its file."""
        key = {
            "figure": figure,
            "image": part.picture.digest,
            "name": part.picture.name,
            "parameters": part.parameters,
            "versions": self._versions,
        }
        if part.timed:
            key["processor"] = self._processor
        key = json.loads(json.dumps(key))  # as it will be read: lists for tuples
        text = json.dumps(key, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:24]
        return key, self._folder / figure / f"{digest}.json"
