"""Disks that are full."""

import errno
import os


def no_space(*_):
    """Stands for a call of the system that finds the disk full."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
