"""The NNK graph of many points, made in blocks of rows, with what is between kept on disk."""

import errno
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from traceback import clear_frames

import numpy as np

from nnk_image.base import memory
from nnk_image.base.atomic import ImageFileError, check_output, reserve_room
from nnk_image.base.checks import check_count
from nnk_image.neighbors.blocks import ROWS_OF_BLOCK
from nnk_image.neighbors.candidates import Candidates
from nnk_image.neighbors.graph_file import write_graph
from nnk_image.neighbors.result import Solved

_BYTES_PER_POINT = 56  # row pointers, errors, counts: the only arrays as long as X


def graph_to_disk(blocks, path, rule, block_rows=None):
    """Write the graph of all points to a file.

    Candidates, weights and their transpose lie in files of a hidden folder beside the
    target, which is gone at the end; there must be some 30 bytes of disk per candidate.
    The rows are the same bits as those of ``nnk_graph`` without a file.

    Parameters
    ----------
    blocks : NeighborhoodBlocks
    path : str or path-like
    rule : str or None
        As `symmetrize` of `nnk_graph`.
    block_rows : int, optional
        Rows searched and solved at a time.

    Raises
    ------
    ImageFileError
        The target cannot be written, or the disk is full.
    """
    n = blocks.n_points
    rows = ROWS_OF_BLOCK if block_rows is None else check_count("block_rows", block_rows)
    advice = "use more memory: so much is needed besides the blocks"
    memory.require(n * _BYTES_PER_POINT, f"a graph of {n} points on disk", advice)
    target = check_output(path)
    chunks = [(i, min(i + rows, n)) for i in range(0, n, rows)]
    try:
        with _Scratch(target.parent) as scratch:
            _write(path, blocks, chunks, rule, scratch)  # its arrays are gone when it returns
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise ImageFileError(
            f"{path}: files needed meanwhile could not be written beside it ({error.strerror}); "
            "make room for some 30 bytes per candidate or choose another place"
        ) from error


def _write(path, blocks, chunks, rule, scratch):
    lists = _search(blocks, chunks, scratch)
    solved, options = _solve(blocks, chunks, lists, scratch), blocks.model.options
    if options.tol > 0 and solved.is_empty():
        blocks.model.check_rows_not_dropped(*chunks[0], lists.read(*chunks[0]))
    if rule is None:
        arrays = solved.directed_rows(options.n_jobs, scratch.empty)
    else:
        arrays = solved.undirected_rows(rule, options.n_jobs, scratch.empty)
    write_graph(path, *arrays, solved.error, solved.sigma, blocks.recall)


class _Scratch:
    """Arrays in files of a hidden folder, which is deleted at the end; a context manager."""

    def __init__(self, beside):
        self._open, self._n = ExitStack(), 0
        folder = tempfile.TemporaryDirectory(prefix=".nnk-image-", dir=beside)
        self._folder = Path(self._open.enter_context(folder))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if os.name == "nt":  # no file is deleted that an array of an interrupted call maps
            clear_frames(traceback)
        return self._open.__exit__(kind, error, traceback)

    def _path(self):
        self._n += 1
        return self._folder / f"{self._n}.raw"

    def empty(self, n, dtype):
        """An array of `n` entries in a file of its own, mapped for writing."""
        if n == 0:
            return np.empty(0, dtype)
        path = self._path()
        array = np.memmap(path, dtype, "w+", shape=(n,))
        reserve_room(path)
        return array

    def stream(self):
        """A file that grows."""
        return self._open.enter_context(open(self._path(), "w+b"))


class _Lists:
    """Candidates of all points in a file, a block after the other."""

    def __init__(self, file, n_points):
        self._file = file
        self._dtype = memory.index_dtype(n_points)
        self._indptr = np.zeros(n_points + 1, np.int64)

    def append(self, start, found):
        """Add the candidates of the points from `start` on."""
        last = self._indptr[start]
        self._indptr[start : start + len(found.indptr)] = last + found.indptr
        self._file.write(found.indices.astype(self._dtype, copy=False))

    def read(self, start, stop):
        """The candidates of points `start` to `stop`."""
        indptr = self._indptr[start : stop + 1]
        first, n = int(indptr[0]), int(indptr[-1] - indptr[0])
        self._file.seek(first * self._dtype.itemsize)
        indices = np.frombuffer(self._file.read(n * self._dtype.itemsize), self._dtype)
        return Candidates(indptr - first, indices)


def _search(blocks, chunks, scratch):
    """Candidates of all points as `_Lists`; sets the width of the kernel."""
    lists, farthest = _Lists(scratch.stream(), blocks.n_points), np.empty(blocks.n_points)
    for start, stop in chunks:
        found = blocks.candidates(start, stop)
        farthest[start:stop] = blocks.farthest(start, stop, found)
        lists.append(start, found)
    blocks.set_farthest(farthest)
    return lists


def _solve(blocks, chunks, lists, scratch):
    """All points' candidates with their weights as a `Solved` whose arrays are in files."""
    model, n = blocks.model, blocks.n_points
    count, error = np.empty(n, np.int32), np.empty(n)
    index, weight = scratch.stream(), scratch.stream()
    sigma = np.nan
    for start, stop in chunks:
        part = blocks.solve(start, stop, lists.read(start, stop))
        kept = _places(part)
        index.write(part.index[kept])
        weight.write(part.weight[kept])
        count[start:stop], error[start:stop] = part.count, part.error
        sigma = part.sigma
    begin = np.zeros(n + 1, np.int64)
    np.cumsum(count, out=begin[1:])
    dtype = memory.index_dtype(len(model.points))
    solved = Solved(begin, dtype, n, _opened(index, weight))
    solved.count[:], solved.error[:], solved.sigma = count, error, sigma
    return solved


def _opened(*files):
    """A function that, as `Solved` asks for its arrays in this order, maps the files."""
    files = iter(files)

    def empty(n, dtype):
        file = next(files)
        file.flush()
        return np.memmap(file, dtype, "r+", shape=(n,)) if n else np.empty(0, dtype)

    return empty


def _places(solved):
    """Which entries of a `Solved` are candidates: rows have room for more than they hold."""
    room = np.diff(solved.start)
    within = np.arange(int(solved.start[-1])) - np.repeat(solved.start[:-1], room)
    return within < np.repeat(solved.count, room)
