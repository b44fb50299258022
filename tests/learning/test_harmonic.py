"""Harmonic interpolation on graphs, compared with dense linear algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import nnk_image
from nnk_image.graph import grid_graph
from nnk_image.learning import interpolate


def random_graph(n, seed, density=0.3):
    """Return a connected graph with random weights: a ring and random edges."""
    rng = np.random.default_rng(seed)
    weights = rng.random((n, n)) * (rng.random((n, n)) < density)
    weights[np.arange(n), (np.arange(n) + 1) % n] += 0.1
    weights = np.triu(weights, 1) + np.triu(weights.T, 1)
    return weights + weights.T


def interpolate_dense(weights, values, known):
    """Interpolate by dense elimination, from the definition."""
    laplacian = np.diag(weights.sum(axis=1)) - weights
    result, free = np.array(values, float), ~known
    pull = weights[np.ix_(free, known)] @ values[known]
    result[free] = np.linalg.solve(laplacian[np.ix_(free, free)], pull)
    return result


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(3, 40))
def test_interpolation_equals_the_dense_solution(seed, n):
    rng = np.random.default_rng(seed)
    weights, known = random_graph(n, seed), rng.random(n) < 0.4
    known[rng.integers(n)] = True
    values = rng.normal(1, 1, (n, 3)) * 10.0 ** rng.integers(-3, 4)
    found = interpolate(csr_array(weights), values, known)
    expected, tolerance = interpolate_dense(weights, values, known), 1e-9 * np.abs(values).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found[known], values[known], rtol=1e-15)


@pytest.mark.parametrize("known_part", [0.02, 0.5])
def test_large_graphs_are_solved_by_conjugate_gradients(known_part):
    """The graph has more nodes than are always solved by elimination."""
    image = nnk_image.standard_image("camera")[:46, :46].astype(float)
    graph = nnk_image.image_graph(image, sigma_f=30)
    known = np.random.default_rng(0).random(image.shape) < known_part
    found = interpolate(graph, image, known)
    assert found.shape == image.shape
    exact = interpolate_dense(graph.adjacency.toarray(), image.ravel(), known.ravel())
    np.testing.assert_allclose(found.ravel(), exact, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_values_of_any_magnitude(scale):
    """The graph is solved by conjugate gradients, which square the values."""
    rng = np.random.default_rng(1)
    graph, known, values = grid_graph((70, 70)), rng.random((70, 70)) < 0.5, rng.random((70, 70))
    found = interpolate(graph, scale * values, known)
    np.testing.assert_allclose(found / scale, interpolate(graph, values, known), rtol=1e-9)


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


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"known": [1, 0, 0, 0]}, TypeError, "known must be a boolean array"),
        (
            {"known": [True, False]},
            ValueError,
            r"known has shape \(2,\), but the graph has 4 nodes",
        ),
        ({"known": np.zeros(4, bool)}, ValueError, "known is False everywhere"),
        ({"values": np.zeros((2, 3))}, ValueError, r"values has shape \(2, 3\).* 4 nodes"),
        ({"values": np.zeros((4, 2, 2))}, ValueError, "one more axis"),
        ({"values": np.zeros((4, 0))}, ValueError, r"\(4, 0\)"),
        ({"values": ["a"] * 4}, TypeError, "values must be of real numbers"),
        ({"values": [np.nan, 0, 0, 0]}, ValueError, "be finite where known.* at node 0"),
        ({"graph": np.eye(4)}, ValueError, "self loops"),
        ({"graph": csr_array(np.triu(np.ones((4, 4)), 1))}, ValueError, "not symmetric"),
    ],
)
def test_invalid_input_is_refused(change, error, message):
    arguments = {"graph": grid_graph((2, 2)), "values": np.zeros(4)}
    arguments |= {"known": np.array([True, False, False, False])} | change
    with pytest.raises(error, match=message):
        interpolate(**arguments)
