"""Calls of the command line, in this process or in a new one."""

import subprocess
import sys

from nnk_image import cli


class Command:
    """The command line in this process."""

    def __init__(self, capsys):
        self._capsys = capsys

    def __call__(self, *arguments):
        """Run the command; return exit status, standard output and standard error."""
        status = cli.main([str(a) for a in arguments])
        return status, *self._capsys.readouterr()

    def prints(self, *arguments):
        """Run a command that succeeds without a warning; return its standard output."""
        status, text, err = self(*arguments)
        assert (status, err) == (0, ""), err
        return text

    def refuses(self, *arguments):
        """Run a command that prints nothing but an error of one line, and return the error."""
        status, text, err = self(*arguments)
        assert (status, text, err.count("\n")) == (1, "", 1), (status, text, err)
        assert err.startswith("nnk-image: ")
        return err


def command(*arguments):
    """Return the command as a list for `subprocess`."""
    return [sys.executable, "-m", "nnk_image", *map(str, arguments)]


def process(*arguments, **options):
    """Run the command in a new process, and return the finished process."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, check=False, **options
    )
