"""Filter banks on [0, lmax] and their Chebyshev coefficients."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial, reduce

import numpy as np
from numpy.polynomial import chebyshev
from scipy.fft import dct

from nnk_image.base.checks import check_choice

APPROXIMATIONS = ("interpolation", "projection", "jackson")

_MIN_QUADRATURE_POINTS = 2000  # enough for the projection of every design to converge
_MAX_INVERSE_ORDER = 8192  # a polynomial inverse that needs a higher order is refused
_MIN_FRAME_RATIO = 1e-10  # frame bounds A / B; below it, the transform cannot be inverted
_MAX_ROUNDING_LOSS = 0.01  # fraction of the signal that rounding may change in the inverse

# Designs of PyGSP, whose classes are named like HalfCosine; only those in _ANY_SIZE take `Nf`.
_ANY_SIZE = ("abspline", "half_cosine", "itersine", "mexican_hat", "meyer", "simple_tight")
DESIGNS = (*_ANY_SIZE, "expwin", "heat", "held", "papadakis", "regular", "simoncelli")


@dataclass(frozen=True)
class FilterBank:
    """Functions of the eigenvalue, one per band; `name` is the design, or 'custom'."""

    functions: Callable[..., object] = field(repr=False)  # (n,) eigenvalues to (n_bands, n) values
    n_bands: int
    name: str

    def evaluate(self, eigenvalues):
        """Return checked values, (n_bands, n) at n eigenvalues or (n_bands,) at a single one."""
        shape = np.shape(eigenvalues)
        x = np.asarray(eigenvalues, float).ravel()
        values = np.asarray(self.functions(x), float)
        if not np.isfinite(values).all():
            band, at = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(
                f"filter {band} gives {values[band, at]} at eigenvalue {x[at]:g}; filters must be "
                "finite on the whole interval, with their limit where they are not defined"
            )
        return values.reshape(self.n_bands, *shape)


def design(filters, n_scales, lmax):
    """Return a filter bank for the spectrum [0, lmax], as for `SpectralGraphWavelets`."""
    if isinstance(filters, str):
        given = filters, n_scales, float(lmax)
        return FilterBank(partial(_designed, *given), len(_pygsp_design(*given)), filters)
    if hasattr(filters, "evaluate"):
        return FilterBank(filters.evaluate, len(filters), type(filters).__name__)
    if callable(filters):
        filters = [filters]
    if not isinstance(filters, Sequence) or not filters or not all(map(callable, filters)):
        raise TypeError(
            "filters must be a design's name, a function of the eigenvalue or a list of them, "
            f"not {filters!r}"
        )
    return FilterBank(partial(_custom, tuple(filters)), len(filters), "custom")


def _custom(functions, x):
    """Return the values of functions, one per band, at eigenvalues x."""
    found = [np.asarray(function(x)) for function in functions]
    for band, values in enumerate(found):
        if values.shape not in ((), (1,), x.shape):
            raise ValueError(
                f"filter {band} returns an array of shape {values.shape} for {x.size} eigenvalues; "
                "return one number for each, or a single one"
            )
    values = np.stack([np.broadcast_to(values, x.shape) for values in found])
    if np.iscomplexobj(values):
        raise TypeError("filters must return real numbers, not complex ones")
    return values


@lru_cache(maxsize=64)
def _pygsp_design(name, n_scales, lmax):
    check_choice("filters", name, DESIGNS)
    if name == "half_cosine" and n_scales < 2:
        raise ValueError(f"n_scales={n_scales} is too small: {name!r} has at least 2 wavelet bands")
    from pygsp import filters, graphs

    class Spectrum(graphs.Graph):
        """A graph with a given largest eigenvalue, which is all that a design reads of it."""

        lmax = property(lambda self: lmax)

    graph = Spectrum([[0.0, 1.0], [1.0, 0.0]])
    make = getattr(filters, name.title().replace("_", ""))
    return make(graph, Nf=n_scales + 1) if name in _ANY_SIZE else make(graph)


def _designed(name, n_scales, lmax, x):
    """Return the values of a design of PyGSP at eigenvalues x.

    Designs are not defined above lmax, and some vanish there, so that the bands would not determine
    the signal.  So values above lmax are those at lmax.
    """
    return _pygsp_design(name, n_scales, lmax).evaluate(np.minimum(x, lmax))


def chebyshev_coefficients(evaluate, order, lambda_max, approximation="interpolation"):
    """Compute Chebyshev coefficients (n_bands, order + 1) of functions on [0, lambda_max].

    ``evaluate`` maps eigenvalues (n,) to values (n_bands, n). The approximation is interpolation at
    ``order + 1`` points (the SGWT toolbox, PyGSP), the truncated Chebyshev series (converged
    quadrature), or that series with Jackson damping.
    """
    check_choice("approximation", approximation, APPROXIMATIONS)
    evaluate(np.array([0, lambda_max]))  # a pole at an end would be between the points below
    degree = order if approximation == "interpolation" else max(4 * order, _MIN_QUADRATURE_POINTS)
    points = (chebyshev.chebpts1(degree + 1) + 1) * (lambda_max / 2)
    coefficients = _interpolate(evaluate(points))[:, : order + 1]
    if approximation == "jackson":
        coefficients = coefficients * _jackson(order)
    return coefficients


def _interpolate(values):
    """Compute Chebyshev coefficients from values at `chebpts1`, along the last axis.

    Like numpy's chebinterpolate, but by a cosine transform instead of a product with a matrix.
    """
    coefficients = dct(values[..., ::-1], axis=-1) / values.shape[-1]
    coefficients[..., 0] /= 2
    return coefficients


def _jackson(order):
    """Return Jackson's damping factors for orders 0 to `order`; the first is 1."""
    k, n = np.arange(order + 1), order + 2
    angle = np.pi / n
    return ((n - k) * np.cos(k * angle) + np.sin(k * angle) / np.tan(angle)) / n


def inverse_coefficients(coefficients, dtype=np.float64):
    """Compute the Chebyshev series of ``1 / sum_s p_s^2``, which inverts a frame of polynomials.

    It ends where coefficients fall below rounding errors. `dtype` is that of the arithmetic in
    which it will be applied. ValueError if the sum of squares is nearly 0 somewhere, so that the
    bands do not determine the signal: with A and B its smallest and largest value, rounding may
    change the signal by about ``eps B / A``, which must be less than `_MAX_ROUNDING_LOSS`.
    """
    power = reduce(chebyshev.chebadd, (chebyshev.chebmul(c, c) for c in coefficients))
    least_ratio = max(_MIN_FRAME_RATIO, np.finfo(dtype).eps / _MAX_ROUNDING_LOSS)
    order = 64
    while order <= _MAX_INVERSE_ORDER:
        values = chebyshev.chebval(chebyshev.chebpts1(order + 1), power)
        if values.min() <= least_ratio * values.max():
            break
        series = _interpolate(1 / values)
        rounding = 1e-15 * np.sqrt(values.max() / values.min()) / values.min()
        meaningful = np.flatnonzero(abs(series) > rounding).max(initial=0)
        if meaningful < 0.8 * order:
            return series[: meaningful + 1]
        order *= 2
    raise ValueError(
        "these filters leave some frequencies (nearly) out, so their coefficients do not "
        f"determine the signal in {np.dtype(dtype)}; use a frame such as 'abspline' with more "
        "scales, or a higher order"
    )


def frame_bounds(evaluate, bound):
    """Return the smallest and the largest ``sum_s g_s(x)^2`` on a fine grid in [0, bound]."""
    points = np.concatenate([np.linspace(0, bound, 4001), np.geomspace(bound * 1e-6, bound, 2001)])
    power = (np.asarray(evaluate(points)) ** 2).sum(axis=0)
    return float(power.min()), float(power.max())
