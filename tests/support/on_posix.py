"""Signals and terminals of POSIX systems; tests that need them skip elsewhere."""

import os
import select
import signal
import subprocess

import pytest

only_on_posix = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX system")
not_as_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="root may read and write everything"
)


def heed_interrupts():
    """Handle SIGINT: background jobs of a shell, and thus their child processes, ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def on_a_terminal(command):
    """Run a command; return the finished process and what an 80-column terminal showed."""
    import pty
    import termios

    ours, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, check=False)
    shown = b""
    while select.select([ours], [], [], 0)[0]:
        shown += os.read(ours, 100_000)
    os.close(terminal)
    os.close(ours)
    return done, shown
