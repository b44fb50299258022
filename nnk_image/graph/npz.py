"""Reading graph files: nothing in them is trusted, every array is checked before use."""

import math

import numpy as np
from scipy.sparse import csr_array

from nnk_image.base import memory
from nnk_image.base.checks import check_positive
from nnk_image.base.geometry import PixelGrid
from nnk_image.base.image import MOST_AXES, check_spacing
from nnk_image.graph.archive import ArrayArchive, DamagedFile
from nnk_image.graph.window import check_window, n_offsets

FORMAT = "nnk_image.ImageGraph 1"
"""The member `format` of a graph's file."""

KINDS = ("nnk", "bilateral")

_SMALL = {
    "format": "U",
    "shape": "iu",
    "kind": "U",
    "window": "iu",
    "sigma_d": "iuf",
    "sigma_f": "iuf",
    "directed": "b",
    "n_underflow": "iu",
    "spacing": "iuf",
}
"""Members that are read at once -> kinds of numpy dtypes that they may have."""

_LARGE = ("indptr", "indices", "data", "valid")

_MOST_SMALL = 1 << 12  # bytes of a small member


def load_graph(cls, path):
    """Read a graph, as `ImageGraph.load` does; `cls` is `ImageGraph`."""
    try:
        with open(path, "rb") as file:
            archive = ArrayArchive(file, (*_SMALL, *_LARGE))
            return _graph_of(cls, archive)
    except (FileNotFoundError, IsADirectoryError, PermissionError, MemoryError):
        raise
    except (DamagedFile, TypeError, ValueError, KeyError, OverflowError) as error:
        raise ValueError(f"{path}: not a valid graph file: {_one_line(error)}") from error
    except Exception as error:  # zipfile and zlib raise a dozen kinds
        raise ValueError(f"{path}: not a graph file, or damaged ({_one_line(error)})") from error


def _one_line(error):
    return " ".join(str(error).split())


def _graph_of(cls, archive):
    if str(_small(archive, "format")) != FORMAT:
        raise DamagedFile(f"format {str(_small(archive, 'format'))!r}, not {FORMAT!r}")
    shape = tuple(int(n) for n in _small(archive, "shape"))
    if not 2 <= len(shape) <= MOST_AXES or min(shape) < 1:
        raise DamagedFile(f"shape {'x'.join(map(str, shape))}")
    kind = str(_small(archive, "kind"))
    if kind not in KINDS:
        raise DamagedFile(f"kind {kind!r}")
    window = check_window(_small(archive, "window").tolist(), len(shape))
    spacing = None
    if "spacing" in archive.headers:
        spacing = check_spacing(_small(archive, "spacing").tolist(), len(shape))
    sigmas = [
        check_positive(name, float(_small(archive, name)), "width")
        for name in ("sigma_d", "sigma_f")
    ]
    directed, underflow = bool(_small(archive, "directed")), int(_small(archive, "n_underflow"))
    if underflow < 0:
        raise DamagedFile(f"n_underflow={underflow}")
    _check_headers(archive.headers, shape, n_offsets(window, len(shape)))
    valid = archive.read("valid") if "valid" in archive.headers else None
    adjacency = _adjacency_of(archive, math.prod(shape))
    _check_offsets(adjacency, PixelGrid(shape), np.array(window) // 2)
    if not directed and (adjacency - adjacency.T).nnz:
        raise DamagedFile("an undirected graph must be symmetric")
    if valid is not None and np.diff(adjacency.indptr)[~valid.ravel()].any():
        raise DamagedFile("a pixel outside the mask has edges")
    return cls(adjacency, shape, kind, window, *sigmas, directed, valid, underflow, spacing)


def _small(archive, name):
    """One of the short arrays, if its header promises one of the kind that belongs there."""
    header = archive.headers.get(name)
    if header is not None and (
        header.dtype.kind not in _SMALL[name] or max(header.nbytes, *header.shape, 0) > _MOST_SMALL
    ):
        raise DamagedFile(f"{name} is {header.dtype} of shape {header.shape}")
    return archive.read(name)


def _check_headers(headers, shape, most_neighbors):
    """Check, by their headers, that the large arrays are those of a graph that fits in memory."""
    n_nodes = math.prod(shape)
    for name in ("indptr", "indices", "data"):
        if name not in headers:
            raise DamagedFile(f"{name} is missing")
    indptr, indices, data = (headers[name] for name in ("indptr", "indices", "data"))
    for name, header in (("indptr", indptr), ("indices", indices)):
        if header.ndim != 1 or header.dtype not in (np.int32, np.int64):
            raise DamagedFile(f"{name} is {header.dtype} with {header.ndim} axes")
    if indptr.dtype != indices.dtype:
        raise DamagedFile("indptr and indices differ in type")
    if data.ndim != 1 or data.dtype not in (np.float32, np.float64):
        raise DamagedFile(f"data is {data.dtype} with {data.ndim} axes")
    if len(indptr) != n_nodes + 1 or len(indices) > n_nodes * most_neighbors:
        raise DamagedFile("indptr does not fit the shape and the indices")
    if len(indices) != len(data):
        raise DamagedFile("data and indices differ in length")
    if "valid" in headers and (headers["valid"].dtype != bool or headers["valid"].shape != shape):
        raise DamagedFile("the mask does not fit the shape")
    memory.require(
        sum(header.nbytes for header in headers.values()),
        f"the graph of {'x'.join(map(str, shape))} pixels",
        "load it where more memory is free",
    )


def _adjacency_of(archive, n_nodes):
    """The CSR arrays as a matrix, after every check the C core relies on."""
    indptr, indices, data = (archive.read(name) for name in ("indptr", "indices", "data"))
    if indptr[0] != 0 or indptr[-1] != len(indices):
        raise DamagedFile("indptr does not fit the shape and the indices")
    if (np.diff(indptr) < 0).any():
        raise DamagedFile("indptr is not ascending")
    if len(indices) and (indices.min() < 0 or indices.max() >= n_nodes):
        raise DamagedFile("an index lies outside the graph")
    if len(data) and not (np.isfinite(data).all() and data.min() > 0):
        raise DamagedFile("a weight is not a positive number")
    rows = np.repeat(np.arange(n_nodes), np.diff(indptr))
    same_row = rows[1:] == rows[:-1]
    if (same_row & (np.diff(indices) <= 0)).any():
        raise DamagedFile("columns of a row are not ascending")
    if (rows == indices).any():
        raise DamagedFile("a self loop")
    adjacency = csr_array((data, indices, indptr), shape=(n_nodes, n_nodes))
    adjacency.has_canonical_format = True
    return adjacency


def _check_offsets(adjacency, grid, radii):
    rows = np.repeat(np.arange(grid.size), np.diff(adjacency.indptr))
    if (abs(grid.displacements(rows, adjacency.indices)) > radii).any():
        raise DamagedFile("an edge leaves the window")
