"""Tests of the energy compaction of volumes."""

import numpy as np
import pytest

import nnk_image
from nnk_image import SpectralGraphWavelets, energy_compaction, image_graph

RNG = np.random.default_rng(50)


def test_compaction_of_a_slice_is_that_of_the_image():
    image = nnk_image.standard_image("camera")[:60, :70]
    flat = energy_compaction(image, image_graph(image), orders=[6, 12])
    volume = energy_compaction(image[None], image_graph(image[None], (3, 11, 11)), orders=[6, 12])
    assert volume.n_edges == flat.n_edges
    np.testing.assert_allclose(volume.energy["nnk"], flat.energy["nnk"], rtol=1e-6)


def test_compaction_of_a_volume():
    """The energies are sums of squares of the bands, by definition."""
    camera = nnk_image.standard_image("camera")[:24, :24] / 255
    volume = camera + np.linspace(0, 1, 9)[:, None, None]
    graph = image_graph(volume, sigma_f=0.1)
    result = energy_compaction(volume, graph, orders=[5])
    signal = volume - volume.mean()
    bands = SpectralGraphWavelets(graph, order=5, lmax=result.lmax["nnk"]).analyze(signal)
    expected = [(band**2).sum() / (signal**2).sum() for band in bands]
    np.testing.assert_allclose(result.energy["nnk"][0], expected, rtol=1e-5)


def test_color_images_and_volumes_must_be_distinguished():
    with pytest.raises(ValueError, match="color image or a volume"):
        energy_compaction(np.zeros((20, 20, 3)))
