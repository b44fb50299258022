"""Disks that are full, and files that are mapped into memory."""

import errno
import os
from pathlib import Path


def no_space(*_):
    """Stands for a call of the system that finds the disk full."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def mapped_files():
    """What this process maps into memory: files that Windows neither replaces nor deletes."""
    return Path("/proc/self/maps").read_text()
