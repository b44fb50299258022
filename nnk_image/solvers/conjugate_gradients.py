"""Preconditioned conjugate gradients."""

from collections.abc import Callable

import numpy as np

from nnk_image.base.image import Array


def conjugate_gradients(
    residual: Callable[[Array], Array],
    step: Callable[[Array], tuple[Array, Array]],
    start: Array,
    reference: Array,
    weights: Array | float,
    tol: float,
    max_iterations: int,
) -> tuple[Array, int, float]:
    """Solve ``A x = b`` for a symmetric positive semi-definite A.

    ``residual(x)`` returns ``(b - A x) / weights``; the inner product is ``sum(weights * a * b)``.
    ``step(r)`` returns the preconditioned residual z, and ``A z / weights``. The first guess
    `start` is not changed. Returns the solution, the number of iterations, and the norm of the
    residual as computed from the solution, relative to that of `reference`, or of `start` if
    `reference` solves the equations; infinite if numbers are so large that their squares overflow.

    Each step needs only A z, which a polynomial preconditioner computes along the way. When the
    residual is small enough, it is computed anew from x; if it is not after all, the steps begin
    again, unless rounding has stopped them.
    """

    def total(a: Array) -> float:
        return float(a.sum(dtype=np.float64))

    def norm(a: Array) -> float:
        return float(np.linalg.norm(a.ravel()))

    kind, count = start.dtype.type, 0
    attainable = max(tol, float(np.finfo(kind).eps))
    with np.errstate(over="ignore", invalid="ignore"):
        x, r, of_reference = start.copy(), residual(start), residual(reference)
        if not np.isfinite([norm(weights * r), norm(weights * of_reference)]).all():
            return x, 0, np.inf
    size = norm(of_reference) or norm(r) or 1.0
    error = norm(r) / size
    while error > tol and count < max_iterations:
        p, product, previous = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
        energy, weighted = 1.0, weights * r
        while norm(r) / size > attainable and count < max_iterations:
            z, product_of_z = step(r)
            new = total(weighted * z)
            beta = kind((new - total(previous * z)) / energy)  # Polak-Ribiere, for rounding in z
            for array, addend in ((p, z), (product, product_of_z)):
                array *= beta
                array += addend
            curvature, energy = total(weights * p * product), new
            if not (curvature > 0 and energy > 0):
                break
            length = kind(energy / curvature)
            x += length * p
            r -= length * product
            previous, weighted = weighted, weights * r
            count += 1
        before, r = error, residual(x)
        error = norm(r) / size
        if not error < before / 2:
            break
    return x, count, error
