"""Readers of golden neighborhoods: exact NNK weights of data sets (golden/README.md)."""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

FOLDER = Path(__file__).parents[1] / "golden"
RESTRICTED = Path(__file__).parents[3] / "shared" / "golden" / "restricted"
"""Data that may not be redistributed; if available, it is next to the repository."""

DATA = ("digits500", "swiss_roll")
RESTRICTED_DATA = ("two_moons", "usps1")


def points(name):
    """Return the (N, d) points of a data set."""
    if name in DATA:
        with np.load(FOLDER / "general.npz") as file:
            return file[name].astype(float)
    with np.load(RESTRICTED / "general_data.npz") as file:
        return file[name].astype(float)


def solution(name, k):
    """Return sigma, twice the errors, directed weights and undirected weights."""
    if name in DATA:
        with np.load(FOLDER / "general.npz") as file:
            parts = {key: file[f"{name}_k{k}_{key}"] for key in _KEYS}
    else:
        with np.load(RESTRICTED / f"general_{name}_k{k}.npz") as file:
            parts = {key: file[key] for key in _KEYS}
    return (
        float(parts["sigma"]),
        parts["err_exact"],
        _matrix(parts, "dir_exact"),
        _matrix(parts, "sym_exact"),
    )


_KEYS = ["sigma", "err_exact"] + [
    f"{kind}_exact_{part}" for kind in ("dir", "sym") for part in ("data", "indices", "indptr")
]


def _matrix(parts, kind):
    data, indices, indptr = (parts[f"{kind}_{part}"] for part in ("data", "indices", "indptr"))
    n = len(indptr) - 1
    return csr_array((data, indices.astype(np.int32), indptr), shape=(n, n))
