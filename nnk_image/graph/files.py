"""Image graphs in `.npz` files.  What the C core relies on is checked when a file is read."""

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from nnk_image.base.atomic import atomic_output
from nnk_image.base.checks import check_choice, check_positive
from nnk_image.base.geometry import strides_of
from nnk_image.base.image import MOST_AXES, Array, check_spacing
from nnk_image.graph.window import check_window, sides_of

FORMAT = "nnk_image.ImageGraph 1"
"""Value of the entry `format` in a graph's file."""

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


def read_graph(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `write_graph` wrote, as arguments of `ImageGraph`; ValueError if it is damaged."""
    with open(os.fspath(path), "rb") as file:
        try:
            with np.lib.npyio.NpzFile(file) as arrays:
                return _parts_of(arrays)
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
    window, spacing = file["window"].tolist(), file.get("spacing")
    parts = {
        "edges": _matrix_of(file, math.prod(shape)),
        "shape": shape,
        "kind": check_choice("kind", str(file["kind"]), ("nnk", "bilateral")),
        "window": check_window(window, len(shape)),
        "sigma_d": check_positive("sigma_d", float(file["sigma_d"]), "width"),
        "sigma_f": check_positive("sigma_f", float(file["sigma_f"]), "width"),
        "directed": bool(file["directed"]),
        "valid": file.get("valid"),
        "spacing": check_spacing(spacing.tolist(), len(shape)) if spacing is not None else None,
    }
    _check_edges(parts["edges"], parts)
    return parts


def _matrix_of(file: Mapping[str, Array], n_nodes: int) -> csr_array:
    """Return the CSR arrays as a matrix of positive weights in canonical format."""
    indptr, indices, data = file["indptr"], file["indices"], file["data"]
    if indptr.dtype not in (np.int32, np.int64) or indices.dtype != indptr.dtype:
        raise ValueError(f"indptr is {indptr.dtype}, indices are {indices.dtype}")
    if data.dtype not in (np.float32, np.float64):
        raise ValueError(f"weights are {data.dtype}")
    matrix = csr_array((data, indices, indptr), shape=(n_nodes, n_nodes))
    matrix.check_format(full_check=True)
    if not matrix.has_canonical_format:
        raise ValueError("columns of a row are not ascending")
    if not (np.isfinite(data).all() and (data > 0).all()):
        raise ValueError("a weight is not a positive number")
    return matrix


def _check_edges(matrix: csr_array, parts: Mapping[str, Any]) -> None:
    """Raise ValueError if the edges contradict the other entries of the file."""
    shape, valid = parts["shape"], parts["valid"]
    sides, degree = sides_of(parts["window"], len(shape)), np.diff(matrix.indptr)
    rows = np.repeat(np.arange(len(degree), dtype=matrix.indices.dtype), degree)
    if (rows == matrix.indices).any():
        raise ValueError("a self loop")
    for side, stride, n in zip(sides, strides_of(shape), shape, strict=True):  # one axis at a time
        start, end = (i // stride % n for i in (rows, matrix.indices))
        if (abs(end - start) > side // 2).any():
            raise ValueError("an edge leaves the window")
    if not parts["directed"]:
        one, other = ((m.indptr, m.indices, m.data) for m in (matrix, csr_array(matrix.T)))
        if not all(map(np.array_equal, one, other)):
            raise ValueError("an undirected graph must be symmetric")
    if valid is not None and (valid.dtype != bool or valid.shape != shape):
        raise ValueError("the mask does not fit the shape")
    if valid is not None and degree[~valid.ravel()].any():
        raise ValueError("a pixel outside the mask has edges")
