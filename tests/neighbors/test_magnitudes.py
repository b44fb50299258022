"""Points of any magnitude give the same graph or an error with advice, but no empty graph."""

import numpy as np
import pytest

from nnk_image import NNKMeans, nnk_graph, nnk_neighbors
from nnk_image.learning import intrinsic_dimension

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


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "cosine"},
        {"kernel": "linear"},
        {"kernel": "polynomial", "kernel_params": {"coef0": 0}},
        {"kernel": "lle"},
        {"kernel": "angular"},
        {"method": "lnp"},
        {"method": "kstar", "method_params": {"lc_ratio": 0}},
    ],
)
def test_points_too_small_for_squares_are_refused_and_others_give_the_same_graph(options):
    expected, refused = nnk_graph(POINTS, 8, **options).nnz, []
    for power in range(-1000, 0, 50):
        try:
            assert nnk_graph(np.ldexp(POINTS, power), 8, **options).nnz == expected
        except ValueError:
            refused.append(power)
    assert refused == list(range(-1000, refused[-1] + 1, 50))
    assert -500 <= refused[-1] < -150


def test_tiny_points_are_refused_by_all_that_measures_distances():
    near, tiny = nnk_neighbors(POINTS, 8), POINTS * 1e-200
    for call in (lambda: intrinsic_dimension(tiny, near), lambda: NNKMeans().fit(tiny)):
        with pytest.raises(ValueError, match="squares underflow"):
            call()
    assert nnk_neighbors(POINTS, 8, queries=tiny[:3]).error.max() < 0.5  # queries may be near 0
    assert nnk_graph(np.zeros((5, 2)), 3, sigma=1.0).nnz > 0
