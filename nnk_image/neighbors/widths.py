"""The width sigma of a kernel: as given, or by a rule from the distances to candidates."""

import numpy as np
from numpy.typing import NDArray

from nnk_image.base.checks import check_choice, check_number, warn
from nnk_image.base.image import Array

RULES = ("kth", "local", "median")

_SMALLEST, _LARGEST = 1e-140, 1e140  # limits of sigma: squares neither underflow nor overflow


def check_sigma(sigma: object) -> float | str:
    """Check `sigma` of the public functions: the name of a rule, or a number."""
    if isinstance(sigma, str):
        return check_choice("sigma", sigma, RULES)
    width = check_number("sigma", sigma, least=-np.inf)
    if not _SMALLEST <= width <= _LARGEST:
        raise ValueError(f"sigma={sigma} must be positive, from {_SMALLEST} to {_LARGEST}")
    return width


def sigma_of(rule: str, distances: Array, starts: Array) -> float | NDArray[np.float64]:
    """Return the width of a kernel by a rule, one per query for 'local'.

    `distances` are those from all queries to their candidates, NaN for missing ones; query i has
    ``distances[starts[i]:starts[i + 1]]``.
    """
    values = distances if rule == "median" else _farthest(distances, starts) / 3
    known = np.isfinite(values)
    if rule == "local":
        return _not_zero(np.where(known, values, 0))
    average = np.median if rule == "median" else np.mean
    return _not_zero(float(average(values[known])) if known.any() else 0.0)


def _farthest(distances: Array, starts: Array) -> NDArray[np.float64]:
    """Return the largest distance of each query, NaN where it has no candidates."""
    result = np.full(len(starts) - 1, np.nan)
    some = np.flatnonzero(np.diff(starts))
    if len(some):
        result[some] = np.fmax.reduceat(distances, starts[:-1][some])
    return result


def _not_zero(sigma: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
    """Replace widths too small to divide by with 1, and warn."""
    zero = np.asarray(sigma) < _SMALLEST
    if not zero.any():
        return sigma
    warn(
        "sigma is 0 (there are no candidates, or all are equal to the query, or distances are too "
        "small for float64: scale X), for which no kernel is defined; using 1. Give a positive "
        "sigma to avoid this warning"
    )
    return np.where(zero, 1.0, sigma) if np.ndim(sigma) else 1.0
