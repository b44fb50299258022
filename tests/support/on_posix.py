"""What only POSIX systems do to a process.  Tests that need it are left out on other systems."""

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
    """Jobs that a shell runs in the background ignore SIGINT, and so would all they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def limit_files_to(n_bytes):
    """For `preexec_fn`: no file that the child writes can grow beyond `n_bytes`."""
    import resource

    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def on_a_terminal(command):
    """The finished process of a command, and what it showed on a terminal of 80 columns."""
    import pty
    import termios

    ours, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, check=False)
    shown = os.read(ours, 100_000) if select.select([ours], [], [], 0)[0] else b""
    os.close(terminal)
    os.close(ours)
    return done, shown
