"""Exact weights: optimality conditions, scipy's NNLS, counterexamples and invariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nnk_problems import SUPPORT, random_problem
from scipy.optimize import nnls
from scipy.spatial.distance import cdist

from nnk_image import nnk_neighbors, nnk_weights
from nnk_image._core import simd_variant, simd_variants
from nnk_image.neighbors import _core


def check_exact(problem):
    """Check the weights; return whether scipy found a solution, as scipy 1.12 sometimes fails."""
    theta = nnk_weights(problem.K, problem.b)
    assert (theta >= 0).all()
    assert (theta <= problem.b * (1 + 1e-9) + 1e-15).all()  # K_jj = 1, a non-negative kernel
    condition = problem.condition
    assert problem.residual(theta) <= (1e-10 if condition < 1e12 else 1e-9)
    try:
        by_scipy = problem.by_scipy()
    except RuntimeError:
        return False
    assert problem.objective(theta) <= problem.objective(by_scipy) + 1e-12
    if condition < 1e10 and not problem.duplicates:
        least = SUPPORT * problem.b.max()
        np.testing.assert_array_equal(theta > least, by_scipy > least)
    return True


def test_weights_of_a_thousand_random_problems_are_exact():
    rng = np.random.default_rng(0)
    assert sum(check_exact(random_problem(rng)) for _ in range(1000)) > 990


def gaussian(a, b):
    return np.exp(-cdist(a, b, "sqeuclidean") / 2)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        # Dropping all negative weights at once leaves the third candidate.
        ([(0.5, -0.8), (1.2, -0.8), (0.7, -0.7)], (0.641, 0, 0)),
        # In a test of pairs, the first candidate hides the second.
        ([(-0.5, -0.1), (-0.6, 0.2), (0.3, -0.6)], (0.089, 0.490, 0.504)),
    ],
)
def test_counterexamples_to_inexact_solvers(points, expected):
    points, query = np.array(points), np.zeros((1, 2))
    theta = nnk_weights(gaussian(points, points), gaussian(query, points)[0])
    np.testing.assert_allclose(theta, expected, atol=5e-4)
    found = nnk_neighbors(points, 3, queries=query, sigma=1.0)
    np.testing.assert_allclose(found.to_csr().toarray()[0], theta, rtol=1e-12)


@settings(max_examples=50)
@given(st.integers(0, 2**32))
def test_weights_for_inner_products_equal_those_of_scipy_nnls(seed):
    """The vectors have lengths of several orders of magnitude, and come in any order."""
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((int(rng.integers(2, 30)), 40))
    query = 7.3 * (rng.standard_normal(40) + atoms.mean(axis=0))
    scale = np.exp(rng.standard_normal(len(atoms)))
    expected, _ = nnls(atoms.T, query)
    atoms *= scale[:, None]
    theta = nnk_weights(atoms @ atoms.T, atoms @ query)
    np.testing.assert_allclose(scale * theta, expected, rtol=1e-8, atol=1e-9)


def test_stacked_problems_equal_single_problems():
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((2, 5, 7, 9))
    query = rng.standard_normal((2, 5, 9))
    K, b = atoms @ atoms.swapaxes(-1, -2), np.einsum("...ij,...j->...i", atoms, query)
    theta = nnk_weights(K, b)
    assert theta.shape == (2, 5, 7)
    for i in np.ndindex(2, 5):
        np.testing.assert_array_equal(nnk_weights(K[i], b[i]), theta[i])
        np.testing.assert_array_equal(nnk_weights(K, b, n_jobs=2)[i], theta[i])


def test_l1_shifts_b_and_drops_dissimilar_candidates():
    problem = random_problem(np.random.default_rng(5))
    eta = np.median(problem.b)
    theta = nnk_weights(problem.K, problem.b, l1=eta)
    np.testing.assert_allclose(theta, nnk_weights(problem.K, problem.b - eta), atol=1e-15)
    assert (theta[problem.b < eta] == 0).all()
    assert (nnk_weights(problem.K, problem.b, l1=1.1 * problem.b.max()) == 0).all()


def test_degenerate_problems():
    assert (nnk_weights(np.eye(3), np.zeros(3)) == 0).all()
    assert (nnk_weights(np.eye(3), [-1.0, -2, 0]) == 0).all()
    assert (nnk_weights(np.zeros((2, 2)), [0.5, 0.4]) == 0).all()  # zero atoms
    np.testing.assert_array_equal(nnk_weights(np.ones((4, 4)), np.ones(4)), [1, 0, 0, 0])
    np.testing.assert_allclose(nnk_weights(np.eye(2), [1e-300, 1e-310]), [1e-300, 1e-310])
    assert nnk_weights(np.empty((0, 0)), np.empty(0)).shape == (0,)
    assert nnk_weights(np.empty((0, 3, 3)), np.empty((0, 3))).shape == (0, 3)
    np.testing.assert_array_equal(nnk_weights(np.eye(2), [1, 1e-9], tol=1e-8), [1, 0])


@pytest.mark.parametrize("own", [0.0, -1.0, 1e-16])
def test_candidates_without_similarity_to_themselves_are_refused(own):
    with pytest.raises(ValueError, match=rf"K has {own:g} on its diagonal.*distances D"):
        nnk_weights([[own, 1], [1, own]], [1.0, 1.0])
    with pytest.raises(ValueError, match="on its diagonal"):
        nnk_weights([np.eye(2), [[1, 0.5], [0.5, own]]], np.ones((2, 2)))
    rounded = [[1, 1e-9], [1e-9, -1e-17]]  # a centered Gram matrix, and a point at the mean
    np.testing.assert_array_equal(nnk_weights(rounded, [1.0, 0.0]), [1, 0])


def test_an_indefinite_matrix_warns():
    K = np.random.default_rng(0).standard_normal((12, 12))
    K, b = K + K.T, np.arange(12.0, 0, -1) / 12
    np.fill_diagonal(K, 1)
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        nnk_weights(K, b)


@pytest.mark.parametrize(
    ("K", "b", "error", "text"),
    [
        (np.eye(3), np.ones(2), ValueError, "do not fit"),
        (np.eye(3)[:2], np.ones(2), ValueError, "do not fit"),
        ([[1, 0.5], [0.4, 1]], np.ones(2), ValueError, "not symmetric"),
        (np.eye(2), [1, np.nan], ValueError, "b holds numbers that are not finite"),
        (np.full((2, 2), np.inf), [1, 1], ValueError, "K holds"),
        (np.eye(2) * 1j, [1, 1], TypeError, "real numbers"),
        (np.eye(2), np.ma.masked_equal([1, 2], 1), ValueError, "b holds"),
    ],
)
def test_invalid_problems_are_refused(K, b, error, text):
    with pytest.raises(error, match=text):
        nnk_weights(K, b)


@pytest.fixture(params=simd_variants())
def variant(request):
    yield request.param
    _core.use_simd(simd_variant())


def test_every_simd_variant_gives_the_same_bits(variant):
    rng = np.random.default_rng(3)
    for d in (1, 3, 8, 70, 300, 784):
        points = rng.standard_normal((150, d)).astype(np.float32 if d == 70 else np.float64)
        for kernel in ("gaussian", "laplacian", "lle", "cosine", "polynomial"):
            results = []
            for name in ("generic", variant):
                _core.use_simd(name)
                found = nnk_neighbors(points, 13, kernel=kernel)
                results.append([found.indices, found.indptr, found.weights, found.error])
            for a, b in zip(*results, strict=True):
                np.testing.assert_array_equal(a, b)


def test_an_unknown_simd_variant_is_refused():
    with pytest.raises(ValueError, match="not a SIMD variant"):
        _core.use_simd("mmx")
