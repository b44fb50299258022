"""NNK weights from kernel matrices, and a test of which candidates hide others."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nnk_image.base.checks import check_number, warn
from nnk_image.base.image import Array
from nnk_image.base.parallel import RowExecutor
from nnk_image.neighbors import _core
from nnk_image.neighbors.features import check_finite

_NOT_OPTIMAL = 1e-8
"""Weights that violate the conditions of a minimum by more, relative to the query's largest
similarity, are not optimal: K is not positive semi-definite."""

_NUMBERS_PER_CHUNK = 1 << 22  # of kernel matrices
ROUNDING = 1e-3  # relative to the largest similarity; less may be rounding errors, of float32 too


def nnk_weights(
    K: ArrayLike,
    b: ArrayLike,
    *,
    l1: float = 0.0,
    tol: float = 0.0,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Compute the weights of non-negative kernel regression (NNK) from kernel values.

    The weights theta are the exact minimum of ``1/2 theta' K theta - (b - l1)' theta``, none of
    them negative; many are 0. `nnk_neighbors` finds candidates and computes kernels of points.

    Parameters
    ----------
    K : (..., k, k) array_like
        Kernel between the k candidates: symmetric and positive semi-definite; it may be singular.
        Leading axes are for many independent queries.
    b : (..., k) array_like
        Kernel between the query and its candidates, with the same leading axes.
    l1, tol, n_jobs : optional
        As for `nnk_neighbors`, where `method_params` has the first two; but `tol` is 0 by default.

    Returns
    -------
    theta : (..., k) float64 ndarray
        Weights of the candidates; of equal ones, the first gets all the weight.

    Raises
    ------
    TypeError, ValueError
        If shapes do not match, numbers are not finite, or K is no kernel: not symmetric, or with a
        diagonal of zeros, as of distances.

    Warns
    -----
    UserWarning
        If K is not positive semi-definite, and the weights are not optimal for this reason.

    Notes
    -----
    The error of the regression is ``1/2 K_qq - b @ theta + 1/2 theta @ K @ theta``, where ``K_qq``
    is the kernel of the query with itself.

    References
    ----------
    S. Shekkizhar, A. Ortega, "Neighborhood and graph constructions using non-negative
    kernel regression", eq. 6 and 9; C. Lawson, R. Hanson, "Solving least squares
    problems", chapter 23.

    Examples
    --------
    The first candidate stands between the query and the second:

    >>> from nnk_image import nnk_weights
    >>> nnk_weights([[1.0, 0.9], [0.9, 1.0]], [0.8, 0.5])
    array([0.8, 0. ])
    """
    l1, tol = check_number("l1", l1, least=0.0), check_number("tol", tol, least=0.0)
    K, b = _check_problem(K, b)
    check_diagonal("K", K)
    stack, n = b.shape[:-1], b.shape[-1]
    n_problems = math.prod(stack)
    K, b = K.reshape(n_problems, n, n), b.reshape(n_problems, n)
    theta, residual = np.zeros(b.shape), np.zeros(n_problems)
    if b.size:
        solve = partial(_core.solve_given, K, b, l1, theta, residual)
        with RowExecutor(n_jobs) as executor:
            executor.run(solve, n_problems, rows_per_chunk=max(1, _NUMBERS_PER_CHUNK // n**2))
    warn_if_indefinite(residual)
    own = np.diagonal(K, axis1=-2, axis2=-1)
    unit = np.sqrt(np.where(own > 0, own, 1))
    theta[theta * unit < tol * (b / unit).max(axis=-1, initial=0, keepdims=True)] = 0
    return theta.reshape(*stack, n)


def kernel_ratio_test(K: ArrayLike, b: ArrayLike) -> NDArray[np.bool_]:
    """Test which candidates of a query hide others (kernel ratio interval).

    Candidate i is hidden behind j if `nnk_weights` of these two alone are 0 for i.

    Parameters
    ----------
    K, b : (..., k, k) and (..., k) array_like
        As for `nnk_weights`, but it is not checked that K is positive semi-definite.

    Returns
    -------
    hidden : (..., k, k) bool ndarray
        ``hidden[..., i, j]`` is True if candidate i is hidden behind j. Equal ones hide each other.

    Notes
    -----
    For a query q, i is not hidden behind j exactly if ``K_ij / K_jj < K_qi / K_qj``. The test is
    computed without divisions, so that similarities may be negative.

    References
    ----------
    S. Shekkizhar, PhD thesis, University of Southern California, 2023, Theorem 2.3.

    Examples
    --------
    With the linear kernel (products of vectors) the longer of two vectors of similar direction
    hides the other: here candidate 1 hides candidate 0.

    >>> import numpy as np
    >>> from nnk_image.neighbors import kernel_ratio_test
    >>> candidates = np.array([[1.0, 0.2], [4.0, 1.0], [0.0, 2.0]])
    >>> query = np.array([2.0, 1.0])
    >>> kernel_ratio_test(candidates @ candidates.T, candidates @ query)
    array([[False,  True, False],
           [False, False, False],
           [False, False, False]])
    """
    K, b = _check_problem(K, b)
    own = np.diagonal(K, axis1=-2, axis2=-1)[..., None, :]
    similarity, other = b[..., :, None], b[..., None, :]
    behind = similarity * own <= K * np.maximum(other, 0)
    hidden = np.where(own > 0, behind, similarity <= 0)  # a candidate with K_jj = 0 hides none
    n = b.shape[-1]
    hidden[..., np.arange(n), np.arange(n)] = False
    return hidden


def warn_if_indefinite(residual: NDArray[np.float64]) -> None:
    """Warn of weights that are not optimal, given how far those of each query are from it."""
    bad = residual > _NOT_OPTIMAL
    if bad.any():
        violation = float(f"{residual.max():.2g}")  # rounded: 1500, not 1483.7
        warn(
            f"the kernel matrix of {int(bad.sum())} of {bad.size} queries, the first "
            f"{int(bad.argmax())}, is not positive semi-definite: weights violate the conditions "
            f"of a minimum by up to {violation:g} times the query's largest similarity; use "
            "another kernel, or a matrix whose negative eigenvalues are set to 0"
        )


def _check_problem(K: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check a problem (K, b), and return it as contiguous float64 arrays."""
    kernel, to_query = check_finite("K", K), check_finite("b", b)
    if to_query.ndim < 1 or kernel.shape != (*to_query.shape, to_query.shape[-1]):
        raise ValueError(
            f"K of shape {kernel.shape} and b of shape {to_query.shape} do not fit; "
            "(..., k, k) and (..., k) are expected"
        )
    check_symmetric_kernel("K", kernel)
    return kernel, to_query


def check_symmetric_kernel(name: str, K: Array, rounding: float = 1e-8) -> None:
    """Raise ValueError unless kernel matrices (..., k, k) are symmetric up to rounding."""
    asymmetry = np.abs(K - K.swapaxes(-1, -2)).max(initial=0)
    if asymmetry > rounding * np.abs(K).max(initial=0):
        raise ValueError(
            f"{name} is not symmetric: |{name} - {name}'| is up to {asymmetry:g}; if this is "
            f"rounding, pass the mean of {name} and {name}'"
        )


def check_diagonal(name: str, K: Array) -> None:
    """Raise ValueError if points similar to others are not similar to themselves.

    No kernel is like that, by the Cauchy-Schwarz inequality; the points would get no weight.
    """
    own = np.diagonal(K, axis1=-2, axis2=-1)
    largest = max(K.max(initial=0), -K.min(initial=0))
    rows = np.abs(K[own <= ROUNDING**2 * largest])
    if rows.max(initial=0) > ROUNDING * largest:
        raise ValueError(
            f"{name} has {own.min():g} on its diagonal, but the similarity of a point with itself "
            "must be positive; turn distances D into similarities, for instance by "
            "np.exp(-(D**2) / (2 * sigma**2)), and do not set the diagonal of similarities to 0"
        )
