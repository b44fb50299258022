"""Reading graph files: nothing in them is trusted, every array is checked before use."""

import math

import numpy as np
from scipy.sparse import csr_array

from nnk_image.base.checks import check_positive
from nnk_image.base.geometry import PixelGrid
from nnk_image.base.image import MOST_AXES
from nnk_image.graph.window import check_spacing, check_window

FORMAT = "nnk_image.ImageGraph 1"
"""The member `format` of a graph's file."""

KINDS = ("nnk", "bilateral")


class _Damaged(ValueError):
    """The file is no graph; the message says why."""


def load_graph(cls, path):
    """Read a graph, as `ImageGraph.load` does; `cls` is `ImageGraph`."""
    try:
        with open(path, "rb") as file:
            parts = dict(np.load(file, allow_pickle=False))
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:  # zipfile, zlib and numpy raise a dozen kinds
        raise ValueError(f"{path}: not a graph file, or damaged ({error})") from error
    try:
        return _graph_of(cls, parts)
    except (_Damaged, TypeError, ValueError, KeyError, OverflowError) as error:
        raise ValueError(f"{path}: not a valid graph file: {error}") from error


def _graph_of(cls, parts):
    if not all(isinstance(array, np.ndarray) for array in parts.values()):
        raise _Damaged("a member is no array")
    if str(parts.get("format", "")) != FORMAT:
        raise _Damaged(f"format {str(parts.get('format', 'missing'))!r}, not {FORMAT!r}")
    shape = tuple(int(n) for n in parts["shape"])
    if not 2 <= len(shape) <= MOST_AXES or min(shape) < 1:
        raise _Damaged(f"shape {'x'.join(map(str, shape))}")
    kind = str(parts["kind"])
    if kind not in KINDS:
        raise _Damaged(f"kind {kind!r}")
    sides = parts["window"]
    window = check_window(sides.tolist(), len(shape))
    spacing = parts.get("spacing")
    if spacing is not None:
        spacing = check_spacing(spacing.tolist(), len(shape))
    sigmas = [check_positive(name, float(parts[name]), "width") for name in ("sigma_d", "sigma_f")]
    directed = bool(parts["directed"])
    valid = parts.get("valid")
    if valid is not None and (valid.dtype != bool or valid.shape != shape):
        raise _Damaged("the mask does not fit the shape")
    adjacency = _adjacency_of(parts, math.prod(shape))
    _check_offsets(adjacency, PixelGrid(shape), np.array(window) // 2)
    if not directed and (adjacency - adjacency.T).nnz:
        raise _Damaged("an undirected graph must be symmetric")
    underflow = int(parts["n_underflow"])
    if underflow < 0:
        raise _Damaged(f"n_underflow={underflow}")
    if valid is not None and np.diff(adjacency.indptr)[~valid.ravel()].any():
        raise _Damaged("a pixel outside the mask has edges")
    return cls(adjacency, shape, kind, window, *sigmas, directed, valid, underflow, spacing)


def _adjacency_of(parts, n_nodes):
    """The CSR arrays as a matrix, after every check the C core relies on."""
    indptr, indices, data = parts["indptr"], parts["indices"], parts["data"]
    for name, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype not in (np.int32, np.int64):
            raise _Damaged(f"{name} is {array.dtype} with {array.ndim} axes")
    if indptr.dtype != indices.dtype:
        raise _Damaged("indptr and indices differ in type")
    if data.ndim != 1 or data.dtype not in (np.float32, np.float64):
        raise _Damaged(f"data is {data.dtype} with {data.ndim} axes")
    if len(indptr) != n_nodes + 1 or indptr[0] != 0 or indptr[-1] != len(indices):
        raise _Damaged("indptr does not fit the shape and the indices")
    if len(indices) != len(data) or (np.diff(indptr) < 0).any():
        raise _Damaged("indptr is not ascending, or data and indices differ in length")
    if len(indices) and (indices.min() < 0 or indices.max() >= n_nodes):
        raise _Damaged("an index lies outside the graph")
    if len(data) and not (np.isfinite(data).all() and data.min() > 0):
        raise _Damaged("a weight is not a positive number")
    rows = np.repeat(np.arange(n_nodes), np.diff(indptr))
    same_row = rows[1:] == rows[:-1]
    if (same_row & (np.diff(indices) <= 0)).any():
        raise _Damaged("columns of a row are not ascending")
    if (rows == indices).any():
        raise _Damaged("a self loop")
    adjacency = csr_array((data, indices, indptr), shape=(n_nodes, n_nodes))
    adjacency.has_canonical_format = True
    return adjacency


def _check_offsets(adjacency, grid, radii):
    rows = np.repeat(np.arange(grid.size), np.diff(adjacency.indptr))
    if (abs(grid.displacements(rows, adjacency.indices)) > radii).any():
        raise _Damaged("an edge leaves the window")
