"""The kernels known by name, which `nnk_neighbors` lists, and rules for their widths.

The C core computes them (``src_c/neighbors/kernels.h``), and `gram.py` by numpy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nnk_image.base.checks import check_choice, check_count, check_number, ready_for_c, warn
from nnk_image.base.image import Array
from nnk_image.neighbors.features import check_finite

_LARGEST_SIMILARITY = 1e150  # products of two similarities must not overflow
_LEAST_WIDTH, _LARGEST_WIDTH = 1e-140, 1e140  # of sigma, so that squares are normal numbers

_ALIASES = {
    "rbf": "write kernel='gaussian' with sigma=1 / np.sqrt(2 * gamma)",
    "poly": "write kernel='polynomial'",
    "euclidean": "the Gaussian kernel of Euclidean distances is the default",
}  # what to write instead of kernel names of other libraries

KernelFunction = Callable[..., Any]


@dataclass(frozen=True)
class Kernel:
    """A kernel: an entry of `KERNELS`, for 'polynomial' with its parameters, or a function.

    If `by_distance`, similarity falls with the distance. Otherwise it depends on the inner products
    of points, which are first scaled to length 1 if `unit`. If `has_sigma`, it has a width.

    The polynomial kernel is ``(gamma x.y + coef0)^degree``; linear is degree 1.
    """

    name: str
    by_distance: bool = False
    has_sigma: bool = False
    unit: bool = False
    degree: int = 1
    gamma: float = 1.0
    coef0: float = 0.0
    function: KernelFunction | None = None


KERNELS = {
    "gaussian": Kernel("gaussian", by_distance=True, has_sigma=True),
    "laplacian": Kernel("laplacian", by_distance=True, has_sigma=True),
    "lle": Kernel("lle", by_distance=True),
    "angular": Kernel("angular", by_distance=True),
    "cosine": Kernel("cosine", unit=True),
    "shifted_cosine": Kernel("shifted_cosine", unit=True),
    "linear": Kernel("polynomial"),
    "polynomial": Kernel("polynomial"),  # `check_kernel` sets its parameters
    "precomputed": Kernel("precomputed"),
}


def evaluate(function: KernelFunction, a: Array, b: Array) -> NDArray[np.float64]:
    """Evaluate a kernel function for all pairs of points of `a` and `b`, and check the values."""
    values = check_finite("the result of the kernel function", function(a, b))
    if values.shape != (len(a), len(b)):
        raise ValueError(
            f"the kernel function returned shape {values.shape} for {len(a)} and {len(b)} points; "
            f"kernel(A, B) must return ({len(a)}, {len(b)})"
        )
    return values


def given_diagonal(diagonal: Any, n: int) -> NDArray[np.float64]:
    """Return `diagonal` of `kernel_params`, the kernel of n queries with themselves, as (n,)."""
    values = check_finite("diagonal of kernel_params", 1.0 if diagonal is None else diagonal)
    if values.shape not in ((), (1,), (n,)):
        raise ValueError(
            f"diagonal of kernel_params must be a number, or one for each of the {n} queries, got "
            f"an array of shape {values.shape}"
        )
    return ready_for_c(np.broadcast_to(values, n))


def unit_rows(points: Array) -> Array:
    """Scale points to length 1; points at the origin stay there."""
    _, exponents = np.frexp(np.abs(points).max(axis=1, keepdims=True))
    points = np.ldexp(points, -exponents)  # exact; squares then neither overflow nor underflow
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(norms > 0, norms, 1)


def check_kernel(
    kernel: str | KernelFunction, params: Mapping[str, Any], n_features: int
) -> Kernel:
    """Return `kernel` and `kernel_params` of the public functions as a `Kernel`."""
    if callable(kernel):
        return Kernel("callable", function=partial(kernel, **params))
    if not isinstance(kernel, str):
        raise TypeError(f"kernel must be the name of a kernel or a function, not {kernel!r}")
    if kernel in _ALIASES:
        raise ValueError(f"kernel={kernel!r} is unknown; {_ALIASES[kernel]}")
    check_choice("kernel", kernel, KERNELS)
    known = {"degree": 3, "gamma": None, "coef0": 1.0} if kernel == "polynomial" else {}
    if unknown := set(params) - set(known):
        width = "; the width of the kernel is sigma" if KERNELS[kernel].has_sigma else ""
        raise ValueError(
            f"kernel={kernel!r} has no parameter {sorted(unknown)[0]!r}; "
            f"kernel_params takes {', '.join(known) or 'nothing here'}{width}"
        )
    if kernel != "polynomial":
        return KERNELS[kernel]
    known |= params
    if known["gamma"] is None:
        known["gamma"] = 1 / n_features
    degree = check_count("degree", known["degree"])
    gamma, coef0 = (check_number(name, known[name], least=0.0) for name in ("gamma", "coef0"))
    return replace(KERNELS["polynomial"], degree=degree, gamma=gamma, coef0=coef0)


def check_largest(kernel: Kernel, points: Array, queries: Array) -> None:
    """Raise ValueError if a polynomial kernel of some points is too large or small to compute with.

    By the Cauchy-Schwarz inequality no similarity exceeds that of the longest two points.
    """
    if kernel.name != "polynomial":
        return
    lengths = [np.sqrt(np.square(x, dtype=np.float64).sum(axis=1).max()) for x in (points, queries)]
    with np.errstate(over="ignore"):
        largest = (kernel.gamma * lengths[0] * lengths[1] + kernel.coef0) ** kernel.degree
    numbers = np.finfo(points.dtype)
    least, limit = float(numbers.tiny / numbers.eps), min(_LARGEST_SIMILARITY, float(numbers.max))
    if not (least <= largest <= limit or 0 in lengths):
        raise ValueError(
            f"similarities of this kernel (degree {kernel.degree}) may reach {largest:.2g}, but "
            f"{points.dtype} arithmetic needs from {least:.2g} to {limit:.2g}; scale the features, "
            f"for instance X / {np.abs(points).max():.3g}"
        )


def check_sigma(sigma: object) -> float | str:
    """Check `sigma` of the public functions: the name of a rule, or a number."""
    if isinstance(sigma, str):
        return check_choice("sigma", sigma, ("kth", "local", "median"))
    width = check_number("sigma", sigma, least=-np.inf)
    if not _LEAST_WIDTH <= width <= _LARGEST_WIDTH:
        raise ValueError(f"sigma={sigma} must be positive, from {_LEAST_WIDTH} to {_LARGEST_WIDTH}")
    return width


def sigma_of(rule: str, distances: Array, indptr: Array) -> float | NDArray[np.float64]:
    """Return the width of a kernel by a rule, one per query for 'local'.

    `distances` are those from all queries to their candidates, NaN for missing ones; query i has
    ``distances[indptr[i]:indptr[i + 1]]``.
    """
    values = distances if rule == "median" else _farthest(distances, indptr) / 3
    known = np.isfinite(values)
    if rule == "local":
        return _not_zero(np.where(known, values, 0))
    average = np.median if rule == "median" else np.mean
    return _not_zero(float(average(values[known])) if known.any() else 0.0)


def _farthest(distances: Array, indptr: Array) -> NDArray[np.float64]:
    """Return the largest distance of each query, NaN where it has no candidates."""
    result = np.full(len(indptr) - 1, np.nan)
    some = np.flatnonzero(np.diff(indptr))
    result[some] = np.fmax.reduceat(distances, indptr[some])
    return result


def _not_zero(sigma: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
    """Replace widths too small to divide by with 1, and warn."""
    zero = np.asarray(sigma) < _LEAST_WIDTH
    if not zero.any():
        return sigma
    warn(
        "sigma is 0 (there are no candidates, or all are equal to the query), for which no kernel "
        "is defined; using 1. Give a positive sigma to avoid this warning"
    )
    return np.where(zero, 1.0, sigma) if np.ndim(sigma) else 1.0
