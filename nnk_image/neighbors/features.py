"""Checks points and brings them into the form the C core reads: rows of float32 or float64."""

import numpy as np
from scipy.sparse import issparse

from nnk_image.base.checks import ready_for_c

LARGEST = 1e150
"""Largest absolute value of a feature: squares of differences must not overflow."""


def check_features(name, points, n_features=None, single=None):
    """An array of points as contiguous float32 or float64 rows; copied only if necessary.

    Parameters
    ----------
    name : str
        What error messages call the points.
    points : (n, d) array_like of real numbers, or a table of pandas or polars
    n_features : int, optional
        Number of features d that the points must have.
    single : bool, optional
        Whether the result is float32; by default it is if the points are.

    Raises
    ------
    TypeError, ValueError
    """
    if issparse(points):
        raise TypeError(
            f"{name} is a sparse matrix, whose rows are not supported; pass {name}.toarray(), or "
            "its Gram matrix with kernel='precomputed'"
        )
    points = _as_array(points)
    if points.dtype.kind not in "buif":
        raise TypeError(f"{name} must hold real numbers, not {points.dtype}")
    if points.ndim != 2:
        hint = f"; one feature per point is {name}.reshape(-1, 1)" if points.ndim == 1 else ""
        raise ValueError(f"{name} must have shape (n, d), not {points.shape}{hint}")
    if 0 in points.shape:
        raise ValueError(f"{name} of shape {points.shape} holds nothing")
    if n_features is not None and points.shape[1] != n_features:
        raise ValueError(f"{name} has {points.shape[1]} features, the data {n_features}")
    if single is None:
        single = points.dtype.kind == "f" and points.dtype.itemsize <= 4
    points = ready_for_c(points, np.float32 if single else np.float64)
    _check_finite(name, points)
    return points


def _as_array(points):
    """An array of what may be a table of pandas, whose columns may differ in type."""
    array = np.asarray(points)
    if array.dtype == object and array.ndim == 2 and hasattr(points, "dtypes"):
        kinds = {getattr(dtype, "kind", None) for dtype in points.dtypes}
        if kinds <= {*"buif"}:  # booleans beside numbers, or types that know absent values
            return points.to_numpy(np.float64, na_value=np.nan)
    return array


def _check_finite(name, points):
    low, high = float(points.min()), float(points.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        bad = np.argwhere(~np.isfinite(points))
        row, column = (int(i) for i in bad[0])
        raise ValueError(
            f"{len(bad)} of {points.size} numbers of {name} are not finite, the first at row "
            f"{row}, column {column} ({points[row, column]}); replace them or leave their rows out"
        )
    if max(-low, high) > LARGEST:
        raise ValueError(
            f"{name} has numbers as large as {max(-low, high):g}, whose squares overflow; scale it"
        )
