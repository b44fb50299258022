"""Preconditioned conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nnk_image.solvers.problem import Array


def conjugate_gradients(
    residual: Callable[[Array], Array],
    step: Callable[[Array], tuple[Array, Array]],
    x: Array,
    weights: Array | float,
    size: float,
    tol: float,
    max_iterations: int,
) -> tuple[Array, int, float]:
    """Solve ``A x = b`` for an A that is symmetric and not negative.

    Parameters
    ----------
    residual : callable
        x -> b - A x, over `weights`.
    step : callable
        r -> z and A z over `weights`, with z the preconditioned residual.
    x : ndarray
        First guess; not changed.
    weights : ndarray or float
        Those of the inner product ``sum weights a b``.
    size : float
        Norm to which that of the residual is relative.
    tol : float
    max_iterations : int

    Returns
    -------
    x : ndarray
    iterations : int
    error : float
        Norm of the residual as computed from x, over `size`.

    Notes
    -----
    The product with the search direction is added up from those with its parts, so each step has
    one product, which a polynomial preconditioner computes along the way.  The residual is computed
    anew when it seems small enough; the steps begin again unless that is so, or rounding stops
    them.
    """

    def dot(a: Array, b: Array) -> float:
        return float((weights * a * b).sum(dtype=np.float64))

    def error_of(r: Array) -> float:
        return float(np.linalg.norm((weights * r).ravel())) / size

    kind, count = x.dtype.type, 0
    r = residual(x)
    error = error_of(r) if size else 0.0
    while error > tol and count < max_iterations:
        p = product = old = np.zeros_like(x)
        energy = 1.0
        while error_of(r) > tol and count < max_iterations:
            z, image = step(r)
            new = dot(r, z)
            beta = kind((new - dot(old, z)) / energy)  # the preconditioner is rounded
            p, product = z + beta * p, image + beta * product
            curvature, energy, old = dot(p, product), new, r
            if not (curvature > 0 and energy > 0):
                break
            length = kind(dot(r, p) / curvature)
            x, r = x + length * p, r - length * product
            count += 1
        before, r = error, residual(x)
        error = error_of(r)
        if error > before / 2:
            break
    return x, count, error
