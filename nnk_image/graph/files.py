"""Image graphs in `.npz` files, and the checks of edges that the C core relies on."""

import copy
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from nnk_image.base.atomic import atomic_output
from nnk_image.base.checks import check_choice, check_number
from nnk_image.base.geometry import strides_of
from nnk_image.base.image import MOST_AXES, Array, check_spacing
from nnk_image.graph.window import check_window, sides_of

FORMAT = "nnk_image.ImageGraph 1"  # the entry `format` in a graph's file

_PARTS = ("shape", "kind", "window", "sigma_d", "sigma_f", "directed", "valid", "spacing")


def write_graph(graph: Any, path: str | os.PathLike[str]) -> None:
    """Write an `ImageGraph` as arrays that numpy.load reads, atomically."""
    matrix, suffix = graph.adjacency, os.path.splitext(path)[1]
    if suffix == ".mat":
        raise ValueError(
            f"{str(path)!r}: graphs are saved as .npz; for MATLAB write "
            f"scipy.io.savemat({str(path)!r}, {{'W': graph.adjacency}})"
        )
    parts = {
        "format": FORMAT,
        "indptr": matrix.indptr,
        "indices": matrix.indices,
        "data": matrix.data,
        **{name: getattr(graph, name) for name in _PARTS},
    }
    with atomic_output(path) as file:
        np.savez(file, **{name: part for name, part in parts.items() if part is not None})


def read_graph(path: str | os.PathLike[str], make: Callable[..., Any]) -> Any:
    """Read what `write_graph` wrote and call `make`, `ImageGraph`; ValueError if it is damaged."""
    with open(os.fspath(path), "rb") as file:
        try:
            with np.lib.npyio.NpzFile(file) as arrays:
                return make(**_parts_of(arrays))
        except MemoryError:
            raise
        except Exception as error:  # zipfile and zlib raise many types of exceptions
            reason = " ".join(str(error).split())
            raise ValueError(
                f"{path}: not a graph file written by ImageGraph.save, or damaged ({reason}); "
                "pictures are read with nnk_image.io.read"
            ) from error


def _parts_of(file: Mapping[str, Array]) -> dict[str, Any]:
    unknown = set(file) - {"format", "indptr", "indices", "data", *_PARTS}
    if unknown:
        raise ValueError(f"it holds {min(unknown)[:80]!r}, which no graph file has")
    found = str(file["format"])
    if found != FORMAT:
        raise ValueError(f"format {found!r}, not {FORMAT!r}")
    shape = tuple(int(n) for n in file["shape"])
    if not 2 <= len(shape) <= MOST_AXES or min(shape) < 1:
        raise ValueError(f"shape {shape}")
    indptr, indices, data = file["indptr"], file["indices"], file["data"]
    if indptr.dtype not in (np.int32, np.int64) or indices.dtype != indptr.dtype:
        raise ValueError(f"indptr is {indptr.dtype}, indices are {indices.dtype}")
    window, spacing = file["window"].tolist(), file.get("spacing")
    return {
        "edges": csr_array((data, indices, indptr), 2 * (math.prod(shape),)),
        "shape": shape,
        "kind": check_choice("kind", str(file["kind"]), ("nnk", "bilateral")),
        "window": check_window(window, len(shape)),
        "sigma_d": check_number("sigma_d", float(file["sigma_d"]), "width"),
        "sigma_f": check_number("sigma_f", float(file["sigma_f"]), "width"),
        "directed": bool(file["directed"]),
        "valid": file.get("valid"),
        "spacing": check_spacing(spacing.tolist(), len(shape)) if spacing is not None else None,
    }


def check_edges(graph: Any) -> None:
    """Raise ValueError if the edges of an `ImageGraph`, a CSR matrix, contradict its other parts.

    The matrix must be in canonical format, with weights that are not negative.
    """
    matrix, shape, valid = graph.edges, graph.shape, graph.valid
    copy.copy(matrix).check_format()  # which converts indices in place
    if matrix.shape != (graph.n_nodes, graph.n_nodes):
        raise ValueError(f"edges are a matrix of {matrix.shape} for an image of shape {shape}")
    if not matrix.has_canonical_format:
        raise ValueError("columns of a row are not ascending")
    if matrix.dtype not in (np.float32, np.float64):
        raise ValueError(f"weights are {matrix.dtype}, not float32 or float64")
    if not (np.isfinite(matrix.data).all() and (matrix.data >= 0).all()):
        raise ValueError("a weight is negative or not finite")
    sides, degree = sides_of(graph.window, len(shape)), np.diff(matrix.indptr)
    rows = np.repeat(np.arange(len(degree), dtype=matrix.indices.dtype), degree)
    if (rows == matrix.indices).any():
        raise ValueError("an edge links a pixel to itself (a self loop)")
    for side, stride, n in zip(sides, strides_of(shape), shape, strict=True):  # one axis at a time
        start, end = (i // stride % n for i in (rows, matrix.indices))
        if (abs(end - start) > side // 2).any():
            raise ValueError(f"an edge leaves the window, {graph.window}")
    if not graph.directed:
        one, other = ((m.indptr, m.indices, m.data) for m in (matrix, csr_array(matrix.T)))
        if not all(map(np.array_equal, one, other)):
            raise ValueError("an undirected graph must be symmetric")
    if valid is not None and (valid.dtype != bool or valid.shape != shape):
        raise ValueError("the mask does not fit the shape")
    if valid is not None and degree[~valid.ravel()].any():
        raise ValueError("a pixel outside the mask has edges")
