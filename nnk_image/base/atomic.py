"""Writing files so that nothing is ever half written.

The new content grows in a hidden file beside the target and takes its place in one
step. Whatever happens before that step - an error, Ctrl-C, a full disk, a power
cut - the old file is still there, whole.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


class ImageFileError(ValueError):
    """A file cannot be read or written; the one-line message names it and the cure."""


def check_output(path: str | os.PathLike) -> Path:
    """Return the real path behind `path`, symbolic links followed, if it can be written.

    Raises
    ------
    ImageFileError
        If the folder is missing or not writable, or if something stands at `path`
        that must not be replaced: a folder, a device, a write-protected file.
    """
    target = Path(os.path.realpath(path))
    folder = target.parent
    try:
        mode = target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except OSError as error:
        raise ImageFileError(f"{path}: {error.strerror}; choose another place") from error

    if mode is not None and stat.S_ISDIR(mode):
        problem = "is a folder; add a file name to it"
    elif mode is not None and not stat.S_ISREG(mode):
        problem = "is not an ordinary file and will not be replaced; choose another name"
    elif not folder.is_dir():
        problem = f"its folder {folder} does not exist; create it first"
    elif not os.access(folder, os.W_OK | os.X_OK):
        problem = f"its folder {folder} is not writable; choose another one"
    elif mode is not None and not os.access(target, os.W_OK):
        problem = "is write-protected; make it writable or choose another name"
    else:
        return target
    raise ImageFileError(f"{path}: {problem}")


@contextmanager
def atomic_output(path: str | os.PathLike, *, text: bool = False) -> Iterator[IO]:
    """Open a file for writing that replaces `path` only if the whole block succeeds.

    Replacing keeps the permissions of the old file; a new file gets those the umask
    allows. A symbolic link stays a link: the file it points to gets the new content.

    Parameters
    ----------
    path : str or path-like
        The file to create or replace. Its folder must exist.
    text : bool
        Open for UTF-8 text, line ends as given, instead of bytes.

    Yields
    ------
    file object
        Open for writing; `atomic_output` closes it.

    Raises
    ------
    ImageFileError
        If the file cannot be written; `path` is then untouched.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = Path(folder, "report.json")
    ...     with atomic_output(report, text=True) as file:
    ...         _ = file.write("{}")
    ...     report.read_text()
    '{}'
    """
    target = check_output(path)
    draft = target.with_name(f".nnk-image-{secrets.token_hex(8)}.tmp")
    try:
        options = {"encoding": "utf-8", "newline": ""} if text else {}
        with open(draft, "x" if text else "xb", **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):  # nothing to inherit from: the umask has decided
            os.chmod(draft, stat.S_IMODE(target.stat().st_mode))
        os.replace(draft, target)
    except BaseException as error:  # Ctrl-C must not leave a draft behind either
        with suppress(OSError):
            draft.unlink()
        # An error that names some other file is the caller's own business.
        if isinstance(error, OSError) and error.filename in (None, str(draft)):
            reason, cure = error.strerror or error, "make room"
            if isinstance(error, PermissionError):  # so says Windows of files that are open
                cure = "see that nothing has it open and that you may write there,"
            raise ImageFileError(
                f"{path}: could not be written ({reason}) and was left as it was; "
                f"{cure} or choose another place"
            ) from error
        raise


def reserve_room(path: str | os.PathLike) -> None:
    """Take the disk space of a new file at once, before it is mapped into memory.

    A disk that is found full only when a mapped array is written ends the process.

    Raises
    ------
    OSError
        There is too little.
    """
    with open(path, "r+b") as file:
        size = os.fstat(file.fileno()).st_size
        if hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # file systems without it
                    raise
        elif os.name == "posix" and shutil.disk_usage(path).free < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def write_bytes_atomically(path: str | os.PathLike, data: bytes) -> None:
    """Make `data` the content of the file `path`, entirely or not at all.

    Raises
    ------
    ImageFileError
        If the file cannot be written; it is then untouched. See `atomic_output`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes_atomically(Path(folder, "note"), b"kept")
    ...     Path(folder, "note").read_bytes()
    b'kept'
    """
    with atomic_output(path) as file:
        file.write(data)
