"""The command line, called here or in a process of its own."""

import subprocess
import sys

from nnk_image import cli


def run(capsys, *arguments):
    """Exit status, standard output and standard error of a call in this process."""
    status = cli.main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def command(*arguments):
    """The command as a list for subprocess."""
    return [sys.executable, "-m", "nnk_image", *map(str, arguments)]


def process(*arguments, **options):
    """The finished process of a call."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, check=False, **options
    )
