"""Kernels by name, and the rules that choose their width sigma."""

import numbers
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nnk_image.base.checks import check_count, check_number

DISTANCE = ("gaussian", "laplacian", "lle", "angular")
"""Kernels that fall with the distance: the most similar points are the nearest ones."""

WITH_SIGMA = ("gaussian", "laplacian")
"""Kernels that have a width sigma."""

NAMES = (*DISTANCE, "cosine", "shifted_cosine", "linear", "polynomial", "precomputed")

SIGMA_RULES = ("kth", "local", "median")

_SMALLEST_SIGMA, _LARGEST_SIGMA = 1e-140, 1e140  # their squares are normal numbers
_LARGEST_SIMILARITY = 1e150  # of which the solver needs products


@dataclass(frozen=True)
class Kernel:
    """A kernel whose name and parameters have been checked.

    Attributes
    ----------
    name : str
        One of `NAMES`, or 'callable'.
    degree, gamma, coef0
        Of the polynomial kernel ``(gamma x.y + coef0)^degree``; linear is degree 1.
    function : callable or None
        ``function(A, B)`` of a 'callable' kernel.
    """

    name: str
    degree: int = 1
    gamma: float = 1.0
    coef0: float = 0.0
    function: Callable | None = None

    @property
    def by_distance(self):
        """Whether the most similar points are the nearest ones."""
        return self.name in DISTANCE

    @property
    def has_sigma(self):
        """Whether the kernel has a width."""
        return self.name in WITH_SIGMA


def similarities(kernel, scaled):
    """Similarities by a `Kernel` that has a width, of distances in units of it, in place."""
    if kernel.name == "gaussian":
        scaled *= scaled
        scaled *= -0.5
    elif kernel.name == "laplacian":
        np.negative(scaled, out=scaled)
    else:
        raise NotImplementedError(f"kernel {kernel.name!r} has no formula here: add it")
    return np.exp(scaled, out=scaled)


def check_kernel(kernel, params, n_features):
    """`kernel` and `kernel_params` of the public functions as a `Kernel`."""
    params = dict(params or {})
    if callable(kernel):
        return Kernel("callable", function=lambda a, b: kernel(a, b, **params))
    if kernel not in NAMES:
        names = ", ".join(map(repr, NAMES))
        raise ValueError(f"kernel={kernel!r} is unknown; choose one of {names}, or a function")
    known = {"degree": 3, "gamma": None, "coef0": 1.0} if kernel == "polynomial" else {}
    if unknown := set(params) - set(known):
        raise ValueError(
            f"kernel={kernel!r} has no parameter {sorted(unknown)[0]!r}; "
            f"kernel_params takes {', '.join(known) or 'nothing here'}"
        )
    if kernel == "linear":
        return Kernel("polynomial")
    if kernel != "polynomial":
        return Kernel(kernel)
    known |= params
    gamma = 1 / n_features if known["gamma"] is None else check_number("gamma", known["gamma"])
    degree, coef0 = check_count("degree", known["degree"]), check_number("coef0", known["coef0"])
    return Kernel("polynomial", degree, gamma, coef0)


def check_largest(kernel, points, queries):
    """Raise ValueError if a polynomial kernel of some points may be too large to compute with.

    By the Cauchy-Schwarz inequality no similarity exceeds that of the longest two points.
    """
    if kernel.name != "polynomial":
        return
    lengths = [np.sqrt(np.square(x, dtype=np.float64).sum(axis=1).max()) for x in (points, queries)]
    with np.errstate(over="ignore"):
        largest = (kernel.gamma * lengths[0] * lengths[1] + kernel.coef0) ** kernel.degree
    limit = min(_LARGEST_SIMILARITY, float(np.finfo(points.dtype).max))
    if not largest <= limit:
        raise ValueError(
            f"similarities of this kernel (degree {kernel.degree}) may reach {largest:.2g}, more "
            f"than the {limit:.2g} that {points.dtype} arithmetic allows; scale the features, for "
            f"instance X / {np.abs(points).max():.3g}"
        )


def check_sigma(sigma):
    """`sigma` of the public functions: a rule's name or a number."""
    if isinstance(sigma, str):
        if sigma not in SIGMA_RULES:
            rules = ", ".join(map(repr, SIGMA_RULES))
            raise ValueError(f"sigma={sigma!r} is no rule; choose one of {rules}, or a number")
        return sigma
    if not isinstance(sigma, numbers.Real) or isinstance(sigma, bool):
        raise TypeError(f"sigma must be a number or the name of a rule, not {sigma!r}")
    if not (sigma == 0 or _SMALLEST_SIGMA <= sigma <= _LARGEST_SIGMA):
        raise ValueError(
            f"sigma={sigma} must be positive, from {_SMALLEST_SIGMA} to {_LARGEST_SIGMA}"
        )
    return float(sigma)


def sigma_of(rule, distances, starts):
    """The width of a kernel, by a rule from the distances to candidates, or as given.

    Parameters
    ----------
    rule : {'kth', 'local', 'median'} or float
    distances : (n_candidates,) ndarray
        Of the candidates of all queries, NaN for missing ones.
    starts : (n + 1,) ndarray
        Query i has ``distances[starts[i]:starts[i + 1]]``.

    Returns
    -------
    float, or (n,) ndarray for 'local'
    """
    if not isinstance(rule, str):
        sigma = rule
    elif rule == "median":
        sigma = float(np.nanmedian(distances)) if np.isfinite(distances).any() else 0.0
    else:
        reach = farthest(distances, starts)
        known = np.isfinite(reach)
        sigma = np.where(known, reach, 0) / 3
        if rule == "kth":
            sigma = float(sigma[known].mean()) if known.any() else 0.0
    return _not_zero(sigma, rule)


def farthest(distances, starts):
    """Largest distance of each query, NaN where it has no candidates."""
    result = np.full(len(starts) - 1, np.nan)
    some = np.flatnonzero(np.diff(starts))
    if len(some):
        result[some] = np.fmax.reduceat(distances, starts[:-1][some])
    return result


def _not_zero(sigma, rule):
    """Widths with 1, and a warning, in place of those too small to divide by."""
    zero = np.asarray(sigma) < _SMALLEST_SIGMA
    if not zero.any():
        return sigma
    why = "of equal points, " if isinstance(rule, str) else ""
    warnings.warn(f"sigma is 0, {why}where no kernel is defined; 1 is used", stacklevel=2)
    return np.where(zero, 1.0, sigma) if np.ndim(sigma) else 1.0
