"""What the sub-commands share: options, warnings, reports and plots."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import nnk_image
from nnk_image.base.atomic import ImageFileError, atomic_output
from nnk_image.io import files

FAILURES = (ValueError, TypeError, OSError, ImportError, MemoryError)
"""Errors that are reported in one line; any other is a bug and shows its traceback."""

JOBS = "threads (default: -1, all processors; -2: all but one)"

Report = dict[str, Any]


def new_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], list[Report]],
    summary: str,
    *examples: str,
) -> argparse.ArgumentParser:
    """Add a sub-command with examples in its help, carried out by ``run(options)``."""
    lines = "\n".join(f"  nnk-image {name} {example}".rstrip() for example in examples)
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"examples:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def add_graph_options(command: argparse.ArgumentParser) -> None:
    """Add the options of commands that build graphs: window, kernel and threads."""
    text = "window side (default: 11, of volumes 5, of four axes 3)"
    command.add_argument("--window", type=int, help=text)
    command.add_argument("--sigma-d", type=float, default=2.0, help="pixels (default: 2)")
    text = "in the file's own units (default: 10/255 of the range)"
    command.add_argument("--sigma-f", type=float, help=text)
    command.add_argument("--jobs", type=int, default=-1, metavar="N", help=JOBS)


def add_overwrite(command: Any) -> None:
    text = "replace files that exist (default: refuse)"
    command.add_argument("--overwrite", action="store_true", help=text)


def print_error(message: object) -> None:
    """Print a message as one line on stderr."""
    if sys.stderr is not None:
        print("nnk-image: " + " ".join(str(message).split()), file=sys.stderr)


@contextmanager
def plain_warnings(name: Path | str | None = None) -> Iterator[None]:
    """Print each warning as one line on stderr, with the image that it is about, if any."""
    about = "warning: " if name is None else f"warning: {name}: "
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print_error(f"{about}{message}")
        yield


@contextmanager
def about(name: Path | str) -> Iterator[None]:
    """Name the image in warnings and errors."""
    try:
        with plain_warnings(name):
            yield
    except (ImageFileError, BrokenPipeError):
        raise
    except FAILURES as error:
        raise ImageFileError(f"{name}: {one_line(error)}") from error


def one_line(error: BaseException) -> str:
    """Return the text of an error on one line, with the name of the file if the system says it."""
    name = error.filename if isinstance(error, OSError) else None
    return f"{name}: {files.one_line(error)}" if name else files.one_line(error)


def for_each(paths: Sequence[Path], work: Callable[[Path], Report]) -> list[Report]:
    """Call ``work(path)`` for all images and gather its reports.

    Each report has the path as ``input``. An image that fails is reported on stderr, and its report
    has the ``error``; the others go on.
    """
    reports = []
    for path in paths:
        try:
            with about(path):
                reports.append({"input": str(path), **work(path)})
        except ImageFileError as error:
            text = one_line(error)
            print_error(text)
            reports.append({"input": str(path), "error": text})
    return reports


def write_json(path: str | Path | None, report: Report) -> None:
    """Write the report of a command, if a file for it is given."""
    if path is not None:
        with atomic_output(path) as file:
            file.write(json.dumps(report, indent=1).encode() + b"\n")


@contextmanager
def plot(path: str | Path, number: int, size: tuple[float, float], **options: Any) -> Iterator[Any]:
    """Yield matplotlib axes side by side; write the figure in the format of the extension."""
    from nnk_image.plotting.figures import new_figure

    figure = new_figure(figsize=size)
    yield figure.subplots(1, number, **options)
    with atomic_output(path) as file:
        figure.savefig(file, format=Path(path).suffix.lower().lstrip("."))


def range_of(pixels: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the range of the values but for a few extreme ones; 0 to 255 for 8 bits."""
    if pixels.dtype == np.uint8:
        return 0.0, 255.0
    some = pixels.reshape(-1)[:: 1 + (pixels.size >> 18)].astype(np.float64)
    some = some[np.isfinite(some)]
    low, high = np.quantile(some, (0.001, 0.999)) if some.size else (0.0, 0.0)
    return float(low), float(high)


def typical_level(noise: nnk_image.NoiseModel, low: float, high: float) -> float:
    """Return the noise level; for Poisson noise, its root mean square over the intensities."""
    from nnk_image.noise.model import deviations

    levels = deviations(noise, np.linspace(low, high, 65)) if any(noise.gain) else noise.sigma
    return float(np.sqrt(np.mean(np.square(levels))))


def level_text(noise: nnk_image.NoiseModel, low: float, high: float) -> str:
    """Return the level of noise in an image with values from `low` to `high` as text.

    >>> level_text(nnk_image.NoiseModel(2.4, rows=3.0), 0, 255)
    'noise 2.4 of 255 (0.9 %), rows 3'
    >>> level_text(nnk_image.NoiseModel(20.0, rician=True), 0, 255)
    'noise 20 of 255 (7.8 %), Rician'
    """
    level, extent = typical_level(noise, low, high), high - low
    text = f"noise {np.format_float_positional(level, 2, fractional=False, trim='-')}"
    digits = ".0f" if 100 <= extent < 1e6 else ".3g"
    text += f" of {extent:{digits}} ({100 * level / extent:.1f} %)" if extent else ""
    text += ", Rician" * bool(noise.rician)
    shared = {"rows": noise.rows, "columns": noise.columns}
    return ", ".join([text, *(f"{name} {value:.2g}" for name, value in shared.items() if value)])


def wants_progress() -> bool:
    """Return whether to show a progress bar: only if stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()
