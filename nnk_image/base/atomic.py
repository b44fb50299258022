"""Write files entirely or not at all.

The new content grows in a hidden file beside the target and replaces it in one step; after an
error, Ctrl-C, a full disk or a power cut the old file is unchanged.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


class ImageFileError(ValueError):
    """Raised if a file cannot be read or written; the message names it and says what to do."""


def check_output(path: str | os.PathLike[str]) -> Path:
    """Return the real path behind `path`, symbolic links followed, if it can be written."""
    target = Path(os.path.realpath(path))
    folder, exists = target.parent, os.path.exists(target)
    if os.path.isdir(target):
        problem = "is a folder; add a file name to it"
    elif exists and not os.path.isfile(target):
        problem = "is not an ordinary file and will not be replaced; choose another name"
    elif not os.path.isdir(folder):
        problem = f"its folder {folder} does not exist; create it first"
    elif not os.access(folder, os.W_OK | os.X_OK):
        problem = f"its folder {folder} is not writable; choose another one"
    elif exists and not os.access(target, os.W_OK):
        problem = "is write-protected; make it writable or choose another name"
    else:
        return target
    raise ImageFileError(f"{path}: {problem}")


@contextmanager
def atomic_output(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for bytes that replaces `path` if the whole block succeeds.

    Permissions of an old file are kept, and symbolic links are followed. `ImageFileError` is
    raised if the file cannot be written; `path` is then untouched.
    """
    target = check_output(path)
    draft = target.with_name(f".nnk-image-{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):  # a new file
            os.chmod(draft, stat.S_IMODE(target.stat().st_mode))
        os.replace(draft, target)
    except BaseException as error:  # Ctrl-C must not leave a draft behind either
        with suppress(OSError):
            draft.unlink()
        # Errors of other files are the caller's.
        if isinstance(error, OSError) and error.filename in (None, str(draft), str(target)):
            reason, cure = error.strerror or error, "make room"
            if isinstance(error, PermissionError):  # on Windows also if a program has the file open
                cure = "see that nothing has it open and that you may write there,"
            raise ImageFileError(
                f"{path}: could not be written ({reason}) and was left as it was; "
                f"{cure} or choose another place"
            ) from error
        raise
