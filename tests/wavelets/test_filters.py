"""Tests of filter banks and their polynomials, against PyGSP, the SGWT toolbox and numpy."""

import numpy as np
import pygsp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import chebyshev

from nnk_image.wavelets.filter_bank import (
    APPROXIMATIONS,
    DESIGNS,
    chebyshev_coefficients,
    design,
    inverse_coefficients,
)

PYGSP = {name: "".join(part.title() for part in name.split("_")) for name in DESIGNS}
SIZED = ("abspline", "half_cosine", "itersine", "mexican_hat", "meyer", "simple_tight")


def pygsp_filter(name, n_scales, lmax):
    """Return PyGSP's filters on one of its graphs, with its largest eigenvalue set to `lmax`."""
    graph = pygsp.graphs.Ring(8)
    graph._lmax = lmax
    options = {"Nf": n_scales + 1} if name in SIZED else {}
    return getattr(pygsp.filters, PYGSP[name])(graph, **options)


def as_bank(function):
    """Wrap one vectorized function as the `evaluate` of a bank with one band."""
    return lambda x: np.asarray(function(x), float)[None]


# --- designs -----------------------------------------------------------------------------


@pytest.mark.parametrize("n_scales", [1, 2, 6])
@pytest.mark.parametrize("name", DESIGNS)
def test_designs_match_pygsp(name, n_scales):
    lmax = 25.0
    if (name, n_scales) == ("half_cosine", 1):
        with pytest.raises(ValueError, match="'half_cosine' has at least 2"):
            design(name, n_scales, lmax)
        return
    bank, theirs = design(name, n_scales, lmax), pygsp_filter(name, n_scales, lmax)
    assert bank.n_bands == len(theirs)
    assert bank.n_bands == n_scales + 1 or name not in SIZED
    assert bank.name == name
    x = np.linspace(0, lmax, 101)
    np.testing.assert_array_equal(bank.evaluate(x), np.atleast_2d(theirs.evaluate(x)))
    above = bank.evaluate([lmax, 1.01 * lmax, 2 * lmax])  # where some of PyGSP's filters vanish
    np.testing.assert_array_equal(above, above[:, [0, 0, 0]])


# --- filters given as functions ----------------------------------------------------------


def test_functions_become_bands_in_order():
    functions = (np.sin, np.cos, lambda x: 2.5, lambda x: x > 1)
    x = np.linspace(0, 2, 9)
    expected = [np.sin(x), np.cos(x), np.full(9, 2.5), x > 1]
    for filters in (functions, list(functions)):
        bank = design(filters, 6, 2.0)
        assert (bank.n_bands, bank.name) == (4, "custom")
        np.testing.assert_array_equal(bank.evaluate(x), expected)
    assert design(np.sin, 6, 2.0).n_bands == 1


@pytest.mark.parametrize("name", ["abspline", "custom"])
def test_eigenvalues_may_have_any_shape(name):
    bank = design([np.exp, np.cos] if name == "custom" else name, 6, 4.0)
    x = np.arange(6.0) / 2
    expected = bank.evaluate(x)
    np.testing.assert_array_equal(bank.evaluate(0.5), expected[:, 1])
    np.testing.assert_array_equal(bank.evaluate(x.reshape(2, 3)), expected.reshape(-1, 2, 3))


def test_pygsp_filter_is_used_unchanged():
    theirs = pygsp_filter("mexican_hat", 4, 3.0)
    bank = design(theirs, 99, 1.0)
    x = np.linspace(0, 3, 11)
    assert (bank.n_bands, bank.name) == (5, "MexicanHat")
    np.testing.assert_array_equal(bank.evaluate(x), theirs.evaluate(x))


@pytest.mark.parametrize("bad", [None, 5, [], [1, 2], [np.sin, None], b"abspline", {np.sin}, {}])
def test_objects_that_are_not_filters_are_refused(bad):
    with pytest.raises(TypeError, match="design's name, a function"):
        design(bad, 6, 2.0)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        *(
            (lambda x, v=value: np.where(x == 1.5, v, x).astype(float), "at eigenvalue 1.5")
            for value in (np.nan, np.inf, -np.inf, None)
        ),
        (lambda x: x[:3], r"filter 1 returns an array of shape \(3,\) for 4 eigenvalues"),
        (lambda x: [x, x], r"shape \(2, 4\)"),
        (lambda x: np.exp(1j * x), "complex"),
    ],
)
def test_filters_with_bad_results_are_refused(function, says):
    with pytest.raises((TypeError, ValueError), match=says):
        design([np.sin, function], 0, 2.0).evaluate(np.array([0, 0.5, 1.5, 2]))


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize(("end", "says"), [(0.0, "eigenvalue 0;"), (1.5, "eigenvalue 1.5;")])
def test_a_pole_at_an_end_of_the_interval_is_refused(approximation, end, says):
    """No point of the interpolation meets it, so a polynomial would exist, but mean nothing."""
    bank = design(lambda x: 1 / (x - end), 0, 1.5)
    with np.errstate(divide="ignore"), pytest.raises(ValueError, match=f"gives inf at {says}"):
        chebyshev_coefficients(bank.evaluate, 30, 1.5, approximation)


# --- Chebyshev coefficients --------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 8, 30])
@pytest.mark.parametrize("name", ["abspline", "held"])  # smooth, and with kinks
def test_projection_is_the_converged_chebyshev_series(name, order):
    """The reference is a quadrature with other points and without a cosine transform."""
    top, bank = 3.0, design(name, 5, 3.0)
    angle = (np.arange(200_000) + 0.5) * np.pi / 200_000
    values = bank.evaluate((np.cos(angle) + 1) * top / 2)
    expected = np.stack(
        [2 * (values * np.cos(k * angle)).mean(axis=1) for k in range(order + 1)], 1
    )
    expected[:, 0] /= 2
    ours = chebyshev_coefficients(bank.evaluate, order, top, "projection")
    np.testing.assert_allclose(ours, expected, rtol=0, atol=2e-6)


@given(st.integers(0, 40), st.lists(st.floats(-10, 10), min_size=1, max_size=30))
def test_polynomials_are_reproduced(order, series):
    """Interpolation and projection reproduce polynomials up to the order; Jackson damps them."""
    series = np.array(series[: order + 1])
    bank = as_bank(lambda x: chebyshev.chebval(x - 1, series))
    padded = np.zeros(order + 1)
    padded[: len(series)] = series
    for approximation in ("interpolation", "projection"):
        ours = chebyshev_coefficients(bank, order, 2.0, approximation)[0]
        np.testing.assert_allclose(ours, padded, rtol=0, atol=1e-11)
    damped = chebyshev_coefficients(bank, order, 2.0, "jackson")[0]
    assert damped[0] == pytest.approx(padded[0], abs=1e-11)
    assert (abs(damped) <= abs(padded) + 1e-11).all()


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_error_decreases_with_the_order(approximation):
    """The error of a smooth function falls to rounding; with damping, it falls more slowly."""
    bank, x = as_bank(lambda x: np.exp(-x)), np.linspace(0, 4, 301)
    errors = []
    for order in (4, 8, 16, 32):
        c = chebyshev_coefficients(bank, order, 4.0, approximation)[0]
        errors.append(abs(chebyshev.chebval(x / 2 - 1, c) - np.exp(-x)).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[-1] < (0.02 if approximation == "jackson" else 1e-14)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=20), st.integers(0, 60))
def test_jackson_stays_in_the_range_of_the_function(levels, order):
    levels = np.array(levels)
    bank = as_bank(lambda x: levels[np.minimum((x * len(levels) / 2).astype(int), len(levels) - 1)])
    c = chebyshev_coefficients(bank, order, 2.0, "jackson")[0]
    values = chebyshev.chebval(np.linspace(-1, 1, 2001), c)
    assert values.min() >= levels.min() - 1e-10
    assert values.max() <= levels.max() + 1e-10


# --- the inverse of a frame --------------------------------------------------------------


def assert_inverse(coefficients, tolerance):
    x = np.linspace(-1, 1, 5001)
    power = (chebyshev.chebval(x, coefficients.T) ** 2).sum(axis=0)
    inverse = chebyshev.chebval(x, inverse_coefficients(coefficients))
    np.testing.assert_allclose(inverse * power, 1, rtol=0, atol=tolerance)


@pytest.mark.parametrize("scale", [0.01, 1, 100])
@pytest.mark.parametrize("dip", [0.5, 0.1, 0.03, 0.01])
def test_inverse_of_a_loose_frame(dip, scale):
    """The sum of the squared filters varies from dip^2 to 4, times the squared scale."""
    assert_inverse(scale * np.array([[1.0, 1 - dip]]), 1e-8)


MANY_DIPS = [1.0, *[0.0] * 9, 1 - 1e-4]


@pytest.mark.parametrize(
    "coefficients",
    [[[0.0]], [[0.0, 1.0]], [[0.5, 0.5]], [[1.0, 1.0], [2.0, 2.0]], [[1e-8, 1.0]], [MANY_DIPS]],
    ids=["zero", "zero inside", "zero at the end", "a common zero", "nearly zero", "many dips"],
)
def test_banks_that_are_not_frames_have_no_inverse(coefficients):
    for dtype in (np.float64, np.float32):
        says = f"not determine the signal in {np.dtype(dtype)}; use a frame"
        with pytest.raises(ValueError, match=says):
            inverse_coefficients(np.array(coefficients), dtype)
