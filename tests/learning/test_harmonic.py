"""Harmonic interpolation on graphs, compared with dense linear algebra."""

import numpy as np
import pytest
from dense import Random
from scipy.sparse import csr_array

import nnk_image
from nnk_image.graph import grid_graph
from nnk_image.learning import interpolate


@pytest.mark.parametrize("seed", range(40))
def test_interpolation_equals_the_dense_solution(seed):
    """The channels are the same values in other units."""
    problem, units = Random(seed, case="fixed"), 10.0 ** (10 * seed - 200) * np.array([0.01, -1, 9])
    values = problem.y[:, None] * units
    found = interpolate(problem.graph, values, problem.known)
    expected = np.tile(problem.dense(problem.laplacian)[:, None], 3)
    np.testing.assert_allclose(found / units, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[problem.known], values[problem.known], rtol=1e-15)


@pytest.mark.parametrize("known_part", [0.02, 0.5])
def test_large_graphs_are_solved_by_conjugate_gradients(known_part):
    """The graph has more nodes than are always solved by elimination."""
    image = nnk_image.standard_image("camera")[:46, :46].astype(float)
    graph = nnk_image.image_graph(image, sigma_f=30)
    known = np.random.default_rng(0).random(image.shape) < known_part
    found = interpolate(graph, image, known)
    assert found.shape == image.shape
    mean = (graph.adjacency @ found.ravel()).reshape(image.shape) / graph.degrees
    np.testing.assert_allclose(found, np.where(known, image, mean), atol=1e-9)


@pytest.mark.parametrize(
    ("graph", "n"), [(np.kron(np.eye(2), 1 - np.eye(3))[1:, 1:], 3), (np.zeros((3, 3)), 1)]
)
def test_nodes_not_connected_to_known_ones_get_the_mean(graph, n):
    known = np.arange(n + 2) < 2
    with pytest.warns(UserWarning, match=rf"{n} of {n + 2} nodes, .* mean"):
        found = interpolate(csr_array(graph), [1.0, 3.0] + n * [np.nan], known)
    np.testing.assert_allclose(found, [1, 3] + n * [2])


def test_unknown_values_are_ignored_and_the_input_is_unchanged():
    values = np.array([[1.0, np.nan], [np.inf, 5.0]])
    known = np.array([[True, False], [False, False]])
    before = values.copy()
    np.testing.assert_allclose(interpolate(grid_graph((2, 2)), values, known), 1)
    np.testing.assert_array_equal(values, before)
    colors = np.arange(12).reshape(2, 2, 3)
    np.testing.assert_allclose(interpolate(grid_graph((2, 2)), colors, known)[1, 1], [0, 1, 2])
