"""Calls of the command line, in this process or in a new one."""

import subprocess
import sys

from nnk_image import cli


def run(capsys, *arguments):
    """Run the command in this process; return exit status, standard output and error."""
    status = cli.main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def command(*arguments):
    """Return the command as a list for `subprocess`."""
    return [sys.executable, "-m", "nnk_image", *map(str, arguments)]


def process(*arguments, **options):
    """Run the command in a new process, and return the finished process."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, check=False, **options
    )
