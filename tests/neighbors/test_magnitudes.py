"""Points of any magnitude give the same graph or an error with advice, but no empty graph."""

import numpy as np
import pytest

from nnk_image import nnk_graph, nnk_neighbors

EXACT = {"tol": 0}
POINTS = np.random.default_rng(0).standard_normal((60, 5))


@pytest.mark.parametrize("kernel", ["cosine", "shifted_cosine", "gaussian", "angular"])
@pytest.mark.parametrize(
    ("dtype", "powers"), [(np.float64, (440, -440)), (np.float32, (100, -100))]
)
def test_scale_invariant_kernels_do_not_depend_on_units(kernel, dtype, powers):
    """Multiplication by a power of two is exact, so it must not change the graph."""
    points = POINTS.astype(dtype)
    expected = nnk_graph(points, 8, kernel=kernel)
    for power in powers:
        graph = nnk_graph(np.ldexp(points, power), 8, kernel=kernel)
        np.testing.assert_array_equal(graph.indices, expected.indices)
        np.testing.assert_allclose(graph.data, expected.data, rtol=1e-6)


@pytest.mark.parametrize(
    ("factor", "options"),
    [
        (1e120, {"kernel": "polynomial"}),
        (1e60, {"kernel": "polynomial", "kernel_params": {"degree": 4, "gamma": 2.0}}),
        (1e140, {"kernel": "linear"}),
        (1.0, {"kernel": "polynomial", "kernel_params": {"coef0": 1e200}}),
        (1.0, {"kernel": "polynomial", "queries": 1e120 * POINTS[:3]}),
    ],
)
def test_overflowing_similarities_are_refused(factor, options):
    with pytest.raises(ValueError, match=r"similarities .* may reach .* scale the features"):
        nnk_neighbors(factor * POINTS, 8, **options)


def test_similarities_that_overflow_in_float32_are_refused():
    with pytest.raises(ValueError, match=r"3\.4e\+38 that float32 arithmetic allows"):
        nnk_graph((1e13 * POINTS).astype(np.float32), 8, kernel="polynomial", method_params=EXACT)
    assert nnk_graph(1e13 * POINTS, 8, kernel="polynomial", method_params=EXACT).nnz > 0


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "polynomial"},
        {"kernel": "linear"},
        {"kernel": "lle"},
        {"kernel": "linear", "method": "omp"},
        {"kernel": lambda a, b: a @ b.T},
    ],
)
def test_the_default_tol_drops_no_neighbor_at_any_scale(options):
    points = 1e6 * POINTS
    exact = nnk_graph(points, 8, method_params=EXACT, **options)
    assert nnk_graph(points, 8, **options).nnz == exact.nnz > 0


@pytest.mark.parametrize("kernel", ["lle", "linear", lambda a, b: a @ b.T])
@pytest.mark.parametrize("tol", [1e-8, 0.1])
def test_neighbors_dropped_by_tol_do_not_depend_on_the_scale(kernel, tol):
    """Scaling all points changes neither the weights of 'lle' nor those of inner products."""
    points = POINTS.reshape(25, 12)  # more features than candidates: a unique solution
    expected = nnk_neighbors(points, 8, kernel=kernel, method_params={"tol": tol})
    assert (expected.n_kept > 0).all()
    for factor in (1 / 255, 1e3, 1e-3):
        found = nnk_neighbors(factor * points, 8, kernel=kernel, method_params={"tol": tol})
        np.testing.assert_array_equal(found.indptr, expected.indptr)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-6)
