"""Tests of graphs of volumes and sequences, also against brute force in plain Python."""

import itertools

import numpy as np
import pytest
from volume_cases import assert_volume_matches_brute_force, brute_force_edges, edges

import nnk_image
from nnk_image import ImageGraph, bilateral_graph, image_graph, plotting
from nnk_image.graph.summary import summary


@pytest.mark.parametrize("number", range(60))
def test_random_volumes_match_brute_force(number):
    assert_volume_matches_brute_force(number)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 7), (7, 1, 1), (1, 7, 1), (2, 1, 2, 1)])
def test_thin_volumes(shape):
    values = np.random.default_rng(0).normal(size=shape)
    ones = (1,) * len(shape)
    graph = image_graph(values, sigma_f=1, spacing=ones, directed=True)
    sides = (5 if len(shape) == 3 else 3,) * len(shape)
    everywhere = np.ones(shape, bool)
    assert edges(graph) == brute_force_edges(
        values[..., None], sides, 2.0, 1.0, np.ones(len(shape)), everywhere
    )


@pytest.mark.parametrize("spacing", [(1, 1, 1e6), (1e6, 1, 1), (2.0**20, 2.0**20, 1)])
def test_extreme_spacing(spacing):
    """Rounding may hide which of two neighbors is nearer."""
    values = np.random.default_rng(2).normal(0, 25, (3, 5, 9))
    graph = image_graph(values, sigma_d=2e6, sigma_f=2e7, spacing=spacing, directed=True)
    everywhere = np.ones(values.shape, bool)
    found = brute_force_edges(values[..., None], (5, 5, 5), 2e6, 2e7, np.array(spacing), everywhere)
    assert edges(graph) == found


@pytest.mark.parametrize("spacing", [1e-300, 1e300, (1, 1e-200)])
def test_spacing_whose_squares_are_out_of_range_is_refused(spacing):
    with pytest.raises(ValueError, match="spacing and sigma_d in another unit"):
        image_graph(np.zeros((5, 5)), spacing=spacing)


@pytest.mark.parametrize("build", [image_graph, bilateral_graph])
def test_sigma_d_in_other_units_than_spacing_is_warned_about(build):
    image = np.zeros((5, 5))
    with pytest.warns(UserWarning, match="give sigma_d in the units of spacing"):
        assert build(image, spacing=500).n_edges == 0
    assert build(image, sigma_d=1000, spacing=500).n_edges > 0
    with pytest.warns(UserWarning, match="sigma_d=0.01 is much less than the spacing 1, .* pixels"):
        image_graph(np.zeros((4, 4)), sigma_d=0.01)  # meant for an image whose side is 1


def test_a_single_slice_has_the_graph_of_the_image():
    image = nnk_image.standard_image("camera")
    flat = image_graph(image, sigma_f=10)
    for axis in range(3):
        sides = tuple(np.insert([11, 11], axis, 5).tolist())
        volume = np.expand_dims(image, axis)
        graph = image_graph(volume, sides, sigma_f=10, spacing=(1, 1, 1))
        assert (graph.adjacency != flat.adjacency).nnz == 0
    assert graph.degrees.shape == (256, 256, 1)


def test_weights_are_the_kernel_in_units_of_the_spacing():
    values = np.random.default_rng(0).normal(size=(3, 4, 5))
    spacing = np.array([2.0, 1.0, 0.5])
    graph = bilateral_graph(values, (3, 3, 5), 1.2, 0.7, spacing=spacing)
    places = np.argwhere(np.ones(values.shape)) * spacing
    steps = np.argwhere(np.ones(values.shape))
    for i, j in itertools.product(range(60), repeat=2):
        near = (abs(steps[i] - steps[j]) <= [1, 1, 2]).all() and i != j
        square = ((places[i] - places[j]) ** 2).sum() / (2 * 1.2**2)
        square += (values.flat[i] - values.flat[j]) ** 2 / (2 * 0.7**2)
        assert graph.adjacency[i, j] == pytest.approx(np.exp(-square) if near else 0, rel=1e-12)


def test_graphs_of_volumes_are_saved_and_loaded(tmp_path):
    volume = np.random.default_rng(0).normal(size=(4, 5, 6))
    mask = volume > -1
    graph = image_graph(volume, (3, 5, 5), sigma_f=1, spacing=(2, 1, 1), mask=mask)
    graph.save(tmp_path / "graph.npz")
    read = ImageGraph.load(tmp_path / "graph.npz")
    assert (read.shape, read.window, read.spacing) == ((4, 5, 6), (3, 5, 5), (2.0, 1.0, 1.0))
    np.testing.assert_array_equal(read.valid, mask)
    assert (read.adjacency != graph.adjacency).nnz == 0
    assert "4x5x6" in repr(read)
    coordinates = read.to_pygsp().coords
    np.testing.assert_array_equal(coordinates[37], [1, -1, 2])


def test_exact_weights_of_a_volume():
    volume = np.random.default_rng(0).normal(size=(3, 4, 5))
    graph = image_graph(volume, 3, sigma_f=1, spacing=(1, 2, 1), weights="nnk")
    assert graph.shape == volume.shape
    assert 0 < graph.n_edges <= image_graph(volume, 3, sigma_f=1, spacing=(1, 2, 1)).n_edges


@pytest.mark.parametrize(
    ("shape", "options", "says"),
    [
        ((5, 6, 3), {}, "may be a color image or a volume"),
        ((4, 5, 6), {}, "may be a color image or a volume"),
        ((5, 6, 7), {"spacing": (1, 1)}, r"must be one number, or one per axis \(3\)"),
        ((5, 6, 7), {"spacing": -2.0}, "spacing=-2.0"),
        ((5, 6, 7), {"spacing": (1, 0, 1)}, "spacing=0 must be"),
        ((5, 6, 7), {"window": (3, 3)}, "window has 2 sides, the image 3 axes"),
        ((5, 6, 7), {"window": 17}, "holds 4913 pixels"),
        ((5, 6, 7), {"mask": np.ones((5, 6), bool)}, "mask has shape"),
    ],
)
def test_error_messages(shape, options, says):
    with pytest.raises(ValueError, match=says):
        image_graph(np.zeros(shape), **{"sigma_f": 1} | options)


def test_summary_of_volumes_and_refused_plots():
    volume = np.random.default_rng(0).normal(size=(5, 20, 30))
    graph = image_graph(volume, 3, sigma_f=1)
    whole = bilateral_graph(volume, 3, sigma_f=1)
    assert summary(whole)["reduction"] == 0
    assert 0.3 < summary(graph)["reduction"] < 0.7
    for plot in (plotting.plot_degrees, lambda g: plotting.plot_graph(volume[0], g, np.s_[:5, :5])):
        with pytest.raises(ValueError, match="is of a volume of shape"):
            plot(graph)


def test_position_of_a_value_that_is_not_finite_is_reported():
    volume = np.zeros((5, 6, 7))
    volume[1, 2, 3] = np.inf
    with pytest.raises(ValueError, match=r"the first at position \(1, 2, 3\)"):
        image_graph(volume, sigma_f=1)
