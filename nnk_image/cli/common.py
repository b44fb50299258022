"""What the sub-commands share: options, pairs of input and output files, reports."""

import argparse
import json
import os
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

from nnk_image.base.atomic import check_output
from nnk_image.io.images import ImageFileError, atomic_output, read_image
from nnk_image.io.stacks import extension_of
from nnk_image.plotting.figures import new_figure

PICTURES = (".png", ".pdf", ".svg")
"""Extensions of plots."""

FAILURES = (ValueError, TypeError, OSError, ImportError, MemoryError)
"""Errors that are told in one line; any other is a bug and shows its traceback."""


def new_command(commands, name, run, summary, *examples):
    """A sub-command with examples in its help, carried out by ``run(options)``."""
    lines = "\n".join(f"  nnk-image {name} {example}".rstrip() for example in examples)
    command = commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"examples:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def add_kernel(command, window=11, told="11"):
    """Add the options of graphs: window, with its default and what is told of it, and kernel."""
    text = f"window side (default: {told})"
    command.add_argument("--window", type=int, default=window, help=text)
    command.add_argument("--sigma-d", type=float, default=2.0, help="pixels (default: 2)")
    command.add_argument(
        "--sigma-f", type=float, help="in the file's own units (default: 10/255 of the range)"
    )


def add_jobs(command):
    """Add the option ``--jobs``."""
    command.add_argument(
        "--jobs", type=int, default=-1, metavar="N", help="threads (default: -1, all processors)"
    )


def add_max_pixels(command):
    """Add the option ``--max-pixels``."""
    command.add_argument("--max-pixels", type=int, metavar="N", help="refuse larger images")


def complain(message):
    """Print one line on stderr, if the process has one."""
    if sys.stderr is not None:
        print("nnk-image: " + " ".join(str(message).split()), file=sys.stderr)


@contextmanager
def plain_warnings(path=None):
    """Within it each warning is one line on stderr, with the file that it is about, if any."""
    about = "warning: " if path is None else f"warning: {path}: "
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: complain(f"{about}{message}")
        yield


def one_line(error):
    """The text of an error on one line."""
    if isinstance(error, MemoryError):
        return f"out of memory {error}".strip()
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def read_source(path, options):
    """`read_image`, without what the libraries below it print of damaged files."""
    with quiet_libraries():
        return read_image(path, max_pixels=options.max_pixels)


@contextmanager
def quiet_libraries():
    """Keep what libraries that read files say of damaged ones from the user, who gets our message.

    libtiff, a C library, writes straight to the file descriptor of stderr.  Our own warnings wait
    until the descriptor is back.
    """
    ours = []
    try:
        with _no_stderr(), warnings.catch_warnings(record=True) as ours:
            warnings.filterwarnings("ignore", module=r"PIL\.")
            yield
    finally:
        for warning in ours:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


@contextmanager
def _no_stderr():
    """Lead what C libraries write to stderr to nowhere."""
    try:
        stderr = os.dup(2)
    except OSError:  # it is closed
        yield
        return
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


def pair_outputs(paths, arguments, output, extensions):
    """Where the result of each image goes.

    Parameters
    ----------
    paths : list of Path
        The images that `arguments` name.
    arguments : list of str
    output : str
        A file for one image; a folder for a folder, or for several images.  A missing
        folder is made.
    extensions : tuple of str
        Extensions of the files that can be written.  In a folder, images keep their names, but
        for other extensions, which become the first of these.

    Returns
    -------
    dict from Path to Path
    """
    folder = Path(output)
    to_file = not (folder.is_dir() or output.endswith(("/", os.sep)) or Path(arguments[0]).is_dir())
    if to_file and len(paths) == 1:
        return {paths[0]: folder}
    if not folder.is_dir():
        if folder.exists() or extension_of(folder) in extensions:
            raise ImageFileError(
                f"{output}: names a file; a folder or several images need a folder"
            )
        check_output(folder)
        folder.mkdir()
    pairs, sources = {}, {}
    for path in paths:
        extension = extension_of(path)
        stem = path.name[: len(path.name) - len(extension)]
        name = path.name if extension in extensions else stem + extensions[0]
        if name in sources:
            raise ImageFileError(
                f"{sources[name]} and {path} would both become {folder / name}; rename one, or "
                "give them folders of their own"
            )
        pairs[path], sources[name] = folder / name, path
    return pairs


def for_each(paths, work):
    """Call ``work(path)`` for all images and gather what it reports.

    Warnings are told with the image's path.  If there are several images, one that fails is told on
    stderr and the others go on.

    Returns
    -------
    list of dict
        What `work` returned, or the path as ``input`` and the ``error``.
    """
    reports = []
    for path in paths:
        try:
            with plain_warnings(path):
                reports.append(work(path))
        except BrokenPipeError:
            raise
        except FAILURES as error:
            if len(paths) == 1:
                raise
            text = one_line(error)
            text = text if isinstance(error, ImageFileError) else f"{path}: {text}"
            complain(text)
            reports.append({"input": str(path), "error": text})
    return reports


def check_reports(reports):
    """Raise if some images have failed; that gives the last line on stderr and the exit status."""
    failed = sum("error" in report for report in reports)
    if failed:
        raise ImageFileError(f"{failed} of {len(reports)} images failed")


def check_outputs(*paths):
    """Refuse files that cannot be written before the long computation."""
    for path in paths:
        if path is not None:
            check_output(path)


def write_json(path, report):
    """Write the report of a command, if a file for it is given."""
    if path is not None:
        with atomic_output(path) as file:
            file.write((json.dumps(report, indent=1) + "\n").encode())


def check_plots(*paths):
    """Refuse plots that cannot be written, or drawn, before the long computation."""
    for path in paths:
        if path is not None:
            if Path(path).suffix.lower() not in PICTURES:
                raise ImageFileError(f"{path}: unknown extension; use one of {', '.join(PICTURES)}")
            check_output(path)
            new_figure()  # raises without matplotlib


def write_plot(path, figure):
    """Write a matplotlib figure in the format of the extension."""
    with atomic_output(path) as file:
        figure.savefig(file, format=Path(path).suffix.lower().lstrip("."))


def wants_progress():
    """Whether to show a bar: to a person at a terminal where tqdm is installed, never in pipes."""
    if sys.stderr is None or not sys.stderr.isatty():
        return False
    try:
        import tqdm  # noqa: F401
    except ImportError:
        return False
    return True
