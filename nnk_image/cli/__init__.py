"""The command ``nnk-image``: denoise files, build and measure graphs, demonstrate.

Exit status 0 on success, 1 on failure (one line on stderr for each image that failed, and one for
all), 2 on wrong usage, 130 after Ctrl-C. Each sub-command is a module with `add_command`; the
function that carries it out returns a report for each image.

Functions of the sub-commands import slow packages themselves, so that help and wrong usage
appear at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import nnk_image
from nnk_image import _core
from nnk_image.base.parallel import resolve_n_jobs
from nnk_image.cli import compaction, demo, denoise, graph, noise
from nnk_image.cli.common import FAILURES, one_line, plain_warnings, print_error

EPILOG = """examples:
  nnk-image demo
  nnk-image denoise noisy.jpg clean.png
  nnk-image graph photo.jpg --out photo.npz
'nnk-image COMMAND --help' says more. Messages name options as arguments of the library:
n_jobs is --jobs, channel_axis is --axes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default that of the process; return the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # file names need not be in the terminal's encoding
            stream.reconfigure(errors="backslashreplace", line_buffering=True)
    status = _run(arguments)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:  # nobody reads our output, or the disk it goes to is full
        # Without this the interpreter would try to write, and fail, once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not (status or isinstance(error, BrokenPipeError)):
            print_error(f"standard output: {error.strerror}")
        return status or 1
    return status


def _run(arguments: Sequence[str] | None) -> int:
    """Parse the arguments, run the command and report failures; return the exit status."""
    try:
        options = _parser().parse_args(arguments)
        with plain_warnings():
            reports = options.run(options)
        failed = sum("error" in report for report in reports)
        if failed and len(reports) > 1:
            print_error(f"{failed} of {len(reports)} images failed")
        return int(failed > 0)
    except SystemExit as stop:  # argparse has printed help, the version or wrong usage
        return int(stop.code or 0)
    except KeyboardInterrupt:
        print_error("interrupted; nothing was half written")
        return 130
    except BrokenPipeError:  # nobody reads our output
        return 1
    except FAILURES as error:
        print_error(one_line(error))
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nnk-image",
        description="Sparse NNK graphs of images: denoising, graphs, energy compaction.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    threads = resolve_n_jobs(-1)
    parser.add_argument(
        "--version",
        action="version",
        version=f"nnk-image {nnk_image.__version__} ({_core.simd_variant()}, "
        f"{threads} thread{'s' * (threads > 1)})",
        help="print version, SIMD variant and number of threads",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (demo, denoise, noise, graph, compaction):
        module.add_command(commands)
    return parser
