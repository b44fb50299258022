"""Tests of graphs of volumes and sequences, also against brute force in plain Python."""

import numpy as np
import pytest
from volume_cases import assert_volume_matches_brute_force, brute_force_edges, edges

from nnk_image import bilateral_graph, image_graph, plotting


@pytest.mark.parametrize("number", range(60))
def test_random_volumes_match_brute_force(number):
    assert_volume_matches_brute_force(number)


THIN = [(1, 1, 1), (1, 1, 7), (7, 1, 1), (1, 7, 1), (2, 1, 2, 1)]
EXTREME = [(1, 1, 1e6), (1e6, 1, 1), (2.0**20, 2.0**20, 1)]


@pytest.mark.parametrize(
    ("shape", "spacing", "sigma_d"),
    [((3, 5, 9), spacing, 2e6) for spacing in EXTREME]
    + [(shape, (1,) * len(shape), 2.0) for shape in THIN],
)
def test_extreme_spacing_and_thin_volumes(shape, spacing, sigma_d):
    """Rounding may hide which of two neighbors is nearer."""
    values = np.random.default_rng(2).normal(0, 25, shape)
    sides = (5 if len(shape) == 3 else 3,) * len(shape)
    graph = image_graph(
        values, sigma_d=sigma_d, sigma_f=10 * sigma_d, spacing=spacing, directed=True
    )
    assert edges(graph) == brute_force_edges(
        *(values[..., None], sides, sigma_d, 10 * sigma_d, np.array(spacing)),
        mask=np.ones(shape, bool),
    )


@pytest.mark.parametrize("build", [image_graph, bilateral_graph])
def test_sigma_d_in_other_units_than_spacing_is_warned_about(build):
    image = np.zeros((5, 5))
    with pytest.warns(UserWarning, match="give sigma_d in the units of spacing"):
        assert build(image, spacing=500).n_edges == 0
    assert build(image, sigma_d=1000, spacing=500).n_edges > 0
    with pytest.warns(UserWarning, match="sigma_d=0.01 is much less than the spacing 1, .* pixels"):
        image_graph(np.zeros((4, 4)), sigma_d=0.01)  # meant for an image whose side is 1


def test_weights_are_the_kernel_in_units_of_the_spacing():
    values = np.random.default_rng(0).normal(size=(3, 4, 5))
    spacing = np.array([2.0, 1.0, 0.5])
    graph = bilateral_graph(values, (3, 3, 5), 1.2, 0.7, spacing=spacing)
    places = np.argwhere(np.ones(values.shape))
    steps = places[:, None] - places
    near = (abs(steps) <= [1, 1, 2]).all(axis=2) & steps.any(axis=2)
    square = ((steps * spacing) ** 2).sum(axis=2) / (2 * 1.2**2)
    square += np.subtract.outer(values.ravel(), values.ravel()) ** 2 / (2 * 0.7**2)
    expected = np.where(near, np.exp(-square), 0)
    np.testing.assert_allclose(graph.adjacency.toarray(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("shape", "options", "says"),
    [
        ((5, 6, 3), {}, "may be a color image or a volume"),
        ((5, 6, 7), {"spacing": (1, 1)}, r"must be one number, or one per axis \(3\)"),
        ((5, 6, 7), {"spacing": (1, 0, 1)}, "spacing=0 must be"),
        *(
            ((5, 5), {"spacing": spacing}, "spacing and sigma_d in another unit")
            for spacing in (1e-300, 1e300, (1, 1e-200))
        ),
        ((5, 6, 7), {"mask": np.ones((5, 6), bool)}, "mask has shape"),
    ],
)
def test_error_messages(shape, options, says):
    with pytest.raises(ValueError, match=says):
        image_graph(np.zeros(shape), **{"sigma_f": 1} | options)


def test_position_of_a_value_that_is_not_finite_is_reported():
    volume = np.zeros((5, 6, 7))
    volume[1, 2, 3] = np.inf
    with pytest.raises(ValueError, match=r"the first at position \(1, 2, 3\)"):
        image_graph(volume, sigma_f=1)


def test_graphs_of_volumes_are_not_plotted():
    graph = image_graph(np.zeros((5, 20, 30)), 3, sigma_f=1)
    with pytest.raises(ValueError, match="is of a volume of shape"):
        plotting.plot_degrees(graph)
    with pytest.raises(ValueError, match="is of a volume of shape"):
        plotting.plot_graph(np.zeros((20, 30)), graph, np.s_[:5, :5])
