"""Tests of graphs of volumes and sequences, also against brute force in plain Python."""

import numpy as np
import pytest
from brute_force import window_pairs
from volume_cases import assert_volume_matches_brute_force

from nnk_image import bilateral_graph, image_graph


@pytest.mark.parametrize("number", range(30))
def test_random_volumes_match_brute_force(number):
    assert_volume_matches_brute_force(number)


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
    square = ((steps * spacing) ** 2).sum(axis=2) / (2 * 1.2**2)
    square += np.subtract.outer(values.ravel(), values.ravel()) ** 2 / (2 * 0.7**2)
    expected = np.where(window_pairs(values.shape, (3, 3, 5)), np.exp(-square), 0)
    np.testing.assert_allclose(graph.adjacency.toarray(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("shape", "options", "says"),
    [
        *(
            (shape, {}, "may be a color image or a volume")
            for shape in ((5, 6, 3), (4, 6, 7), (2, 5, 6, 3))
        ),
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
