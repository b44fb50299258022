"""Arrays in files that are larger than memory: read in parts, written part by part.

What is written grows in a hidden file or folder beside the target, with a list of the parts that
are finished, and takes the target's place when all are.  After a crash it can be gone on with.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import numpy as np
import tifffile

from nnk_image.base.atomic import ImageFileError, check_output, reserve_room
from nnk_image.io.metadata import to_samples
from nnk_image.io.tiff import _complaints as quiet_tifffile

ARRAY_EXTENSIONS = (".npy", ".zarr", ".tif", ".tiff")
"""Extensions of the files that can be read and written in parts."""

_MOST_CHUNK = 1024  # pixels along a side of a chunk of a zarr array
_NEEDS_ZARR = "needs zarr: pip install 'nnk_image[zarr]'"


class SourceArray:
    """An array that is read in parts.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
        Of the parts.
    stored : numpy.dtype
        Of what they are read from.
    axes : str or None
        Letters of the axes, where the file tells them ('YX', 'YXS').
    fingerprint : list or None
        What changes with the file; None for arrays.
    """

    def __init__(self, array, axes=None, fingerprint=None, as_float32=False):
        self._array, self.axes, self.fingerprint = array, axes, fingerprint
        self.shape, self.stored = tuple(array.shape), np.dtype(array.dtype)
        small = self.stored.kind in "bui" and self.stored.itemsize <= 2
        self.dtype = np.dtype(np.float32) if as_float32 and small else self.stored

    def __getitem__(self, slices):
        part = self._array[slices]
        return part if self.dtype == self.stored else np.asarray(part).astype(self.dtype)

    def close(self):
        """Let go of the array: Windows replaces no file that is mapped into memory."""
        self._array = None


@contextmanager
def open_source(source, as_float32=False) -> Iterator[SourceArray]:
    """Open a file, or take an array, to be read in parts.

    `as_float32` integers of at most 16 bits are read as float32, which holds them exactly and needs
    half the memory of what they become otherwise.

    Raises
    ------
    ImageFileError
        The file cannot be read so.
    """
    if not isinstance(source, str | os.PathLike):
        yield source if isinstance(source, SourceArray) else SourceArray(source)
        return
    path = Path(source)
    read = _READS.get(path.suffix.lower())
    if read is None:
        raise ImageFileError(
            f"{path}: files of this kind cannot be read in parts; convert it to "
            f"{', '.join(ARRAY_EXTENSIONS)}"
        )
    with ExitStack() as stack:
        try:
            about = path.stat()
            array, axes = stack.enter_context(read(path))
        except ImageFileError:
            raise
        except OSError as error:
            raise ImageFileError(f"{path}: {error.strerror or error}") from error
        except (ValueError, LookupError, tifffile.TiffFileError) as error:
            raise ImageFileError(
                f"{path}: not a readable {path.suffix.lower()} file ({error})"
            ) from error
        fingerprint = [path.name, about.st_size, about.st_mtime_ns]
        opened = SourceArray(array, axes, fingerprint, as_float32)
        del array
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def _read_npy(path):
    yield np.lib.format.open_memmap(path, "r"), None


@contextmanager
def _read_zarr(path):
    yield _first_array(_zarr(path).open(str(path), mode="r"), path), None


@contextmanager
def _read_tiff(path):
    with quiet_tifffile(), tifffile.TiffFile(path) as file:
        level = file.series[0].levels[0]
        if level.dataoffset is not None and level.keyframe.is_memmappable:
            yield tifffile.memmap(path, mode="r", series=0, level=0), level.axes
            return
        zarr = _zarr(path)
        with closing(level.aszarr()) as store:
            yield _first_array(zarr.open(store, mode="r"), path), level.axes


_READS = {".npy": _read_npy, ".zarr": _read_zarr, ".tif": _read_tiff, ".tiff": _read_tiff}


def _first_array(found, path):
    """An array, or that of the first level of a pyramid."""
    if hasattr(found, "dtype"):
        return found
    if "0" in found:
        return _first_array(found["0"], path)
    raise ImageFileError(
        f"{path}: a zarr group without an array '0'; name the array in it, such as {path}/image"
    )


def _zarr(path):
    try:
        import zarr
    except ImportError:
        raise ImageFileError(f"{path}: {_NEEDS_ZARR}") from None
    return zarr


class TargetArray:
    """An array that is written in parts.

    Attributes
    ----------
    finished : set of int
        Numbers of the parts that are there already.
    """

    def __init__(self, array, path=None, journal=None, finished=()):
        self._array, self._path, self._journal = array, path, journal
        self.finished = set(finished)

    def write(self, number, slices, values):
        """Write a part, and note that it is finished."""
        try:
            self._array[slices] = to_samples(values, np.dtype(self._array.dtype))
            if self._journal is not None:
                self._note(number)
        except OSError as error:
            if self._journal is None:  # an array of the caller's, who knows what it is
                raise
            raise ImageFileError(
                f"{self._path}: part {number} could not be written ({error.strerror or error}); "
                "mend that and call again: the parts that are finished are kept"
            ) from error
        self.finished.add(number)

    def _note(self, number):
        if hasattr(self._array, "flush"):
            self._array.flush()
        self._journal.write(f"{number}\n")
        self._journal.flush()
        os.fsync(self._journal.fileno())

    def close(self):
        """Let go of the array: Windows replaces no file that is mapped into memory."""
        self._array = None


@contextmanager
def open_target(target, like, dtype, side, channel_axis, told, resume=True) -> Iterator:
    """Make a file, or take an array, to be written in parts; it is there when all are written.

    Parameters
    ----------
    target : path or array_like
    like : SourceArray
        Of the same shape.
    dtype : numpy.dtype
        Of a new file.
    side : tuple of int
        Sides of the parts, without channels.
    channel_axis : int or None
    told : dict
        What makes the result what it is, in JSON: only a call that is told the same can go on
        with the work of one that was interrupted.
    resume : bool
        False begins anew.

    Yields
    ------
    TargetArray

    Raises
    ------
    ImageFileError
        The file cannot be written, or another call with the same target was interrupted.
    """
    if not isinstance(target, str | os.PathLike):
        if tuple(target.shape) != like.shape:
            raise ValueError(f"target has shape {tuple(target.shape)}, the image {like.shape}")
        yield TargetArray(target)
        return
    path = _checked(target)
    draft = path.with_name(f".{path.name}.unfinished")
    journal = path.with_name(f"{draft.name}.tiles")
    header = json.dumps({**told, "dtype": str(np.dtype(dtype))})
    finished = _finished(path, draft, journal, header) if resume else None
    if finished is None:
        _remove(draft)
        journal.unlink(missing_ok=True)
    new, write = finished is None, _WRITES[path.suffix.lower()]
    chunks = _chunks(like.shape, side, channel_axis)
    try:
        array = write(draft, like.shape, dtype, chunks, channel_axis, new)
    except OSError as error:
        if new:
            _remove(draft)
        needed = math.prod(like.shape) * np.dtype(dtype).itemsize / 2**20
        raise ImageFileError(
            f"{target}: {needed:.0f} MiB could not be written ({error.strerror or error}); "
            "make room or choose another place"
        ) from error
    with open(journal, "a", encoding="utf-8") as lines:
        if new:
            lines.write(f"{header}\n")
        opened = TargetArray(array, target, lines, finished or ())
        del array
        try:
            yield opened
        finally:
            opened.close()
    _put_in_place(draft, path)
    journal.unlink()


def _checked(target):
    """The real path of a target, if it can be written."""
    suffix = Path(target).suffix.lower()
    if suffix not in _WRITES:
        raise ImageFileError(
            f"{target}: only {', '.join(ARRAY_EXTENSIONS)} can be written in parts; choose one"
        )
    if suffix != ".zarr":
        return check_output(target)
    path = Path(os.path.realpath(target))
    _zarr(path)
    if path.exists() and not any((path / name).exists() for name in ("zarr.json", ".zarray")):
        raise ImageFileError(f"{target}: is there and no zarr array; choose another name")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise ImageFileError(f"{target}: its folder does not exist or is not writable")
    return path


def _finished(path, draft, journal, header):
    """Numbers of the parts of an interrupted call that are finished; None without one."""
    if not (draft.exists() and journal.exists()):
        return None
    first, *lines = journal.read_text(encoding="utf-8").split("\n")
    if not lines:
        return None  # interrupted before it had begun
    if first != header:
        raise ImageFileError(
            f"{path}: an interrupted call with other arguments, or of another version of the "
            f"source, has left {draft.name} beside it; call it again as it was, or begin anew "
            "with resume=False (--anew)"
        )
    return {int(line) for line in lines[:-1]}  # after the last line end nothing was finished


def _chunks(shape, side, channel_axis):
    """Sides of the chunks of a zarr array: no two parts write into the same."""
    chunks = []
    for n in side:
        pieces = max(1, -(-n // _MOST_CHUNK))
        while n % pieces:
            pieces += 1
        chunks.append(n // pieces)
    if channel_axis is not None:
        axis = channel_axis % len(shape)
        chunks.insert(axis, shape[axis])
    return tuple(chunks)


def _write_npy(draft, shape, dtype, chunks, channel_axis, new):
    if not new:
        return np.load(draft, mmap_mode="r+")
    array = np.lib.format.open_memmap(draft, "w+", dtype, shape)
    reserve_room(draft)
    return array


def _write_zarr(draft, shape, dtype, chunks, channel_axis, new):
    zarr = _zarr(draft)
    if not new:
        return zarr.open_array(str(draft), mode="r+")
    return zarr.open_array(str(draft), mode="w", shape=shape, chunks=chunks, dtype=dtype)


def _write_tiff(draft, shape, dtype, chunks, channel_axis, new):
    if not new:
        return tifffile.memmap(draft, mode="r+")
    colours = channel_axis is not None and shape[channel_axis] in (3, 4)
    array = tifffile.memmap(
        draft,
        shape=shape,
        dtype=dtype,
        bigtiff=True,
        photometric="rgb" if colours else "minisblack",
        planarconfig="contig" if colours else None,
    )
    reserve_room(draft)
    return array


_WRITES = {".npy": _write_npy, ".zarr": _write_zarr, ".tif": _write_tiff, ".tiff": _write_tiff}


def _put_in_place(draft, path):
    """Let the draft take the place of what is at `path`."""
    if path.is_dir():
        old = path.with_name(f".{path.name}.old")
        _remove(old)
        os.replace(path, old)
        os.replace(draft, path)
        _remove(old)
    else:
        os.replace(draft, path)


def _remove(path):
    with suppress(FileNotFoundError):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
