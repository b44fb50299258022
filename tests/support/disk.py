"""Simulation of a full disk."""

import errno
import os


def no_space(*_):
    """Raise the error of a system call on a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
