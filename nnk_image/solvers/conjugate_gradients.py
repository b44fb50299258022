"""Symmetric equations, by conjugate gradients."""

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from nnk_image.base.image import Array
from nnk_image.base.parallel import one_blas_thread


@one_blas_thread
@np.errstate(over="ignore", invalid="ignore")
def solve_symmetric(
    multiply: Callable[[Array], Array],
    diagonal: Array,
    right: Array,
    start: Array,
    tol: float,
    most: int,
    *,
    invert: Callable[[Array], Array] = lambda x: x,
    units: Array | None = None,
) -> tuple[Array, int, float]:
    """Solve ``A x = right`` for a symmetric positive semi-definite A, given as ``multiply(x)``.

    Where `diagonal`, that of A, is set to 0, x keeps the value of `start`. The preconditioner
    ``invert(x)`` approximates the inverse of A divided by its diagonal. Returns the solution, the
    number of iterations, at most `most`, and the norm of the residual divided by `units` (by
    default the diagonal), relative to that of a zero signal; infinite if squares overflow.
    """
    free, root = diagonal > 0, np.sqrt(diagonal)
    scale = np.divide(1, root, out=np.zeros_like(root), where=free)  # to a diagonal of 1
    per_unit = np.divide(root, diagonal if units is None else units, out=0 * root, where=free)

    def residual(x: Array) -> tuple[Array, float]:
        r = scale * (right - multiply(x))
        return r, float(np.linalg.norm(per_unit * r))

    r, norm = residual(start)
    size = residual(np.where(free, 0, start))[1] or norm or 1.0
    if not np.isfinite([norm, size, float(np.linalg.norm(diagonal))]).all():
        return start, 0, np.inf
    kind = {"shape": (len(start), len(start)), "dtype": start.dtype}
    operator = LinearOperator(matvec=lambda x: scale * multiply(scale * x), **kind)
    inverse = LinearOperator(matvec=lambda x: root * invert(scale * x), **kind)
    least = max(tol, float(np.finfo(start.dtype).eps))
    x, error, before = start, norm / size, np.inf
    steps: list[Array] = []
    while error > tol and error < before / 2 and len(steps) < most:
        # If both norms fall alike, the error is then `least`.
        stop = {"atol": np.linalg.norm(r) * least / error, "maxiter": most - len(steps)}
        change, _ = cg(operator, r, M=inverse, rtol=0, callback=steps.append, **stop)
        new = x + scale * change
        r, norm = residual(new)
        before = error
        if norm / size < error:  # else rounding prevails
            x, error = new, norm / size
    return x, len(steps), error
