"""Graph files: CSR arrays in an `.npz` file that is written in parts and mapped when loaded.

An `.npz` file that is not compressed holds its arrays as they are in memory.  Here each begins at
a multiple of 64 bytes, so that it can be mapped; `scipy.sparse.load_npz` reads the file too.
"""

import io
import os
import struct
import zipfile

import numpy as np
from numpy.lib import format as npy
from scipy.sparse import csr_array

from nnk_image.base import memory
from nnk_image.base.atomic import atomic_output

FORMAT = "nnk_image.nnk_graph 1"
"""The member `nnk_format` of a graph's file."""

_ALIGNMENT = 64
_ENTRIES_AT_A_TIME = 1 << 20
_MAPPED = ("indptr", "indices", "data", "error")
_LOCAL_HEADER = 30  # bytes of a zip file before a member's name
_SINGLE = {"sigma": np.nan, "recall": np.nan}  # numbers -> where they are missing


def write_graph(path, indices, indptr, weights, error, sigma, recall):
    """Write a graph to the file `path`, entirely or not at all; nothing large is copied.

    Parameters
    ----------
    path : str or path-like
    indices, weights : (nnz,) ndarray
        They may be mapped.
    indptr : (N + 1,) ndarray
    error : (N,) ndarray
    sigma, recall : float
    """
    n = len(indptr) - 1
    dtype = np.promote_types(indices.dtype, memory.index_dtype(len(indices)))
    with atomic_output(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, value in (
            ("nnk_format", np.array(FORMAT)),
            ("format", np.array(b"csr")),  # as scipy.sparse.save_npz has it, and the next two
            ("shape", np.array([n, n])),
            ("_is_array", np.array(True)),
            ("sigma", np.array(float(sigma) if np.ndim(sigma) == 0 else np.nan)),
            ("recall", np.array(float(recall))),
        ):
            _write(archive, file, name, value, value.dtype)
        _write(archive, file, "indptr", indptr, dtype)
        _write(archive, file, "indices", indices, dtype)
        _write(archive, file, "data", weights, np.dtype(np.float64))
        _write(archive, file, "error", error, np.dtype(np.float64))


def _write(archive, file, name, array, dtype):
    """Add an array, some entries at a time, so that it begins at a multiple of 64 bytes."""
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        member.write(_header(dtype, array.shape, file.tell()))
        flat = array.reshape(-1)
        for i in range(0, len(flat), _ENTRIES_AT_A_TIME):
            part = np.asarray(flat[i : i + _ENTRIES_AT_A_TIME], dtype)
            member.write(np.ascontiguousarray(part).view(np.uint8))


def _header(dtype, shape, position):
    """A header of the npy format after which, from `position`, the array is aligned."""
    text = repr({"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape})
    before = len(npy.MAGIC_PREFIX) + 4
    padding = -(position + before + len(text) + 1) % _ALIGNMENT
    text = text.encode("latin1") + b" " * padding + b"\n"
    return npy.magic(1, 0) + struct.pack("<H", len(text)) + text


def load_nnk_graph(path, *, mmap=True, return_error=False):
    """The graph in a file that ``nnk_graph(out=path)`` has written.

    Parameters
    ----------
    path : str or path-like
    mmap : bool
        Leave the arrays in the file, read-only, and read what is used; else read them all.
    return_error : bool
        Also return the error of each point.

    Returns
    -------
    graph : (N, N) scipy.sparse.csr_array
        With attributes `sigma`, the width of the kernel (NaN where it is local), and `recall`, as
        of `Neighborhoods`.
    error : (N,) float64 ndarray
        If `return_error`.

    Raises
    ------
    ValueError
        The file holds no graph, or is damaged. Row pointers and indices are checked, weights are
        not read.
    MemoryError
        Without `mmap`: the graph needs more memory than is free.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from nnk_image import nnk_graph
    >>> from nnk_image.neighbors import load_nnk_graph
    >>> points = np.random.default_rng(0).standard_normal((100, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     graph = nnk_graph(points, 8, out=Path(folder, "graph.npz"))
    ...     del graph  # it maps the file, which Windows would not delete
    ...     load_nnk_graph(Path(folder, "graph.npz"), mmap=False).shape
    (100, 100)
    """
    try:
        arrays = _arrays(path, mmap)
        graph = _graph_of(arrays)
    except (OSError, MemoryError):
        raise
    except (ValueError, TypeError, KeyError, EOFError, struct.error, zipfile.BadZipFile) as error:
        text = " ".join(str(error).split())
        raise ValueError(f"{path}: not a graph file of nnk_graph, or damaged ({text})") from error
    return (graph, arrays["error"]) if return_error else graph


def _arrays(path, mmap):
    with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if "nnk_format" not in members or str(_read(archive, members, "nnk_format")) != FORMAT:
            raise ValueError("it was not written by nnk_graph(out=)")
        arrays = {name: _read(archive, members, name) for name in ("shape", *_SINGLE)}
        if not mmap:
            n_bytes = sum(members[name].file_size for name in _MAPPED)
            memory.require(n_bytes, f"the graph in {path}", "leave mmap=True")
            return arrays | {name: _read(archive, members, name) for name in _MAPPED}
        size = os.fstat(file.fileno()).st_size
        return arrays | {name: _map(path, file, members[name], size) for name in _MAPPED}


def _read(archive, members, name):
    with archive.open(members[name]) as member:
        return npy.read_array(io.BufferedReader(member), allow_pickle=False)


def _map(path, file, member, size):
    """The array of a member that is not compressed, mapped."""
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{member.filename} is compressed, and cannot be mapped; use mmap=False")
    file.seek(member.header_offset + _LOCAL_HEADER - 4)
    file.seek(sum(struct.unpack("<HH", file.read(4))), os.SEEK_CUR)  # past name and extra field
    if npy.read_magic(file) != (1, 0):
        raise ValueError(f"{member.filename} has an unknown header")
    shape, _, dtype = npy.read_array_header_1_0(file)
    if len(shape) != 1 or dtype.kind not in "if" or file.tell() + shape[0] * dtype.itemsize > size:
        raise ValueError(f"{member.filename} is {dtype} of shape {shape}")
    if shape[0] == 0:
        return np.empty(0, dtype)
    return np.memmap(path, dtype, "r", file.tell(), shape)


def _graph_of(arrays):
    indptr, indices, data = (arrays[name] for name in ("indptr", "indices", "data"))
    n = len(indptr) - 1
    if tuple(arrays["shape"].tolist()) != (n, n) or len(arrays["error"]) != n:
        raise ValueError("its arrays do not fit its shape")
    if len(indices) != len(data) or data.dtype != np.float64 or indices.dtype != indptr.dtype:
        raise ValueError("indices and weights do not fit each other")
    if indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise ValueError("its row pointers do not ascend to the number of indices")
    for i in range(0, len(indices), _ENTRIES_AT_A_TIME):
        part = indices[i : i + _ENTRIES_AT_A_TIME]
        if part.min() < 0 or part.max() >= n:
            raise ValueError("an index lies outside the graph")
    graph = csr_array((data, indices, indptr), shape=(n, n), copy=False)
    graph.has_canonical_format = True
    graph.sigma, graph.recall = float(arrays["sigma"]), float(arrays["recall"])
    return graph
