"""Points of any magnitude give the same graph or an error with advice, but no empty graph."""

import numpy as np
import pytest

from nnk_image import nnk_graph

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
