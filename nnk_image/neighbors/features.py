"""Checks of points, and their conversion to rows of float32 or float64 for the C core."""

import math
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import sparray, spmatrix

from nnk_image.base import memory
from nnk_image.base.checks import plain_array, ready_for_c, working_dtype
from nnk_image.base.image import Array

_LARGEST = 1e150  # absolute value of a feature: squares of differences must not overflow
_LEAST = 1e-140  # of the largest absolute value of points that are not all 0: nor underflow


def check_features(
    name: str,
    points: ArrayLike | sparray | spmatrix,
    like: Array | None = None,
) -> Array:
    """Return points as contiguous float32 or float64 rows; copied only if necessary.

    They may come as an array, a sparse matrix or a table of pandas or polars; `name` is what
    messages call them. With `like`, the points X, they must have as many features, and the result
    is of the same dtype.
    """
    if isinstance(points, str | bytes | PathLike):
        raise TypeError(
            f"{name} must be an array of points, not the file name {points!r}; read the file first"
        )
    if isinstance(points, sparray | spmatrix):
        memory.require(
            math.prod(points.shape) * 8,
            f"{name} as a dense matrix",
            "reduce its features, by sklearn.decomposition.TruncatedSVD for instance",
        )
        points = points.toarray()
    array = _as_array(points)
    if array.dtype.kind not in "buif":
        text = f"{name} must hold real numbers, not {array.dtype}"
        if array.dtype.kind in "OSTU":  # objects and text
            text += f"; numbers stored as such are converted by {name}.astype(float)"
        raise TypeError(text)
    if array.ndim != 2:
        text = f"{name} must have shape (n, d), one row per point, not {array.shape}"
        if array.ndim == 1:
            text += (
                f"; {name}.reshape(-1, 1) has one feature, {name}.reshape(1, -1) is for one point"
            )
        raise ValueError(text)
    if 0 in array.shape:
        raise ValueError(
            f"{name} of shape {array.shape} is empty; give at least one point with one feature"
        )
    if like is not None and array.shape[1] != like.shape[1]:
        raise ValueError(f"{name} has {array.shape[1]} features, X has {like.shape[1]}")
    dtype = working_dtype(array.dtype) if like is None else like.dtype
    _check_magnitude(name, array, dtype)
    return ready_for_c(array, dtype)


def _as_array(points: Any) -> Array:
    """Convert points, which may be a pandas table with columns of several types, to an array."""
    array = plain_array(points)
    if array.dtype == object and array.ndim == 2 and hasattr(points, "dtypes"):
        kinds = {getattr(dtype, "kind", None) for dtype in points.dtypes}
        if kinds <= {*"buif"}:  # booleans and numbers, or nullable types
            return np.asarray(points.to_numpy(np.float64, na_value=np.nan))
    return array


def middle_of(points: Array) -> Array:
    """Return a median of each feature, to be subtracted before distances are computed.

    Distances computed from inner products lose digits far from the origin. Unlike the mean, the
    median stays near most points if some have huge values, such as those of missing data.
    """
    half = len(points) // 2
    return np.partition(points, half, axis=0)[half]


def check_finite(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return real and finite numbers as a contiguous float64 array."""
    array = plain_array(values)
    if array.dtype.kind not in "buif":
        raise TypeError(f"{name} must hold real numbers, not {array.dtype}")
    array = ready_for_c(array, np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds numbers that are not finite")
    return array


def check_not_tiny(name: str, points: Array) -> None:
    """Raise ValueError for points so close to 0 that squares of their distances underflow."""
    largest = max(-float(points.min()), float(points.max()))
    if 0 < largest < _LEAST:
        raise ValueError(
            f"the largest number of {name} is {largest:g}, so that squares underflow in float64 "
            f"arithmetic; scale it, for instance {name} / {largest:.3g}"
        )


def _check_magnitude(name: str, points: Array, dtype: np.dtype[Any]) -> None:
    """Raise ValueError for numbers that are not finite, or too large to compute with in `dtype`."""
    low, high = float(points.min()), float(points.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        bad = np.argwhere(~np.isfinite(points.astype(np.float64)))
        row, column = (int(i) for i in bad[0])
        raise ValueError(
            f"{len(bad)} of {points.size} numbers of {name} are not finite, the first at row "
            f"{row}, column {column} ({points[row, column]}); replace them or leave their rows out"
        )
    if max(-low, high) > min(_LARGEST, float(np.finfo(dtype).max)):
        raise ValueError(
            f"{name} has numbers as large as {max(-low, high):g}, which overflow in {dtype} "
            "arithmetic; scale it"
        )
