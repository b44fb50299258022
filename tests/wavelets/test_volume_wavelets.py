"""Energy compaction of volumes."""

import numpy as np
import pytest

import nnk_image
from nnk_image import SpectralGraphWavelets, energy_compaction, image_graph

RNG = np.random.default_rng(50)


def test_compaction_of_a_slice_is_that_of_the_image():
    image = nnk_image.standard_image("camera")[:60, :70]
    flat = energy_compaction(image, orders=[6, 12])
    volume = energy_compaction(image[None], window=(3, 11, 11), orders=[6, 12])
    assert volume.shape == (1, 60, 70)
    for kind in ("nnk", "bilateral"):
        assert volume[kind].n_edges == flat[kind].n_edges
        for ours, theirs in zip(volume[kind].orders, flat[kind].orders, strict=True):
            np.testing.assert_allclose(ours.energy, theirs.energy, rtol=1e-6)


def test_compaction_of_a_volume():
    """Sums over the bands as they are defined, and progress to the end."""
    volume = (
        nnk_image.standard_image("camera")[:24, :24] / 255 + np.linspace(0, 1, 9)[:, None, None]
    )
    calls = []
    result = energy_compaction(
        volume, sigma_f=0.1, orders=[5], progress=lambda *call: calls.append(call)
    )
    graph = image_graph(volume, sigma_f=0.1)
    signal = volume - volume.mean()
    bands = SpectralGraphWavelets(graph, order=5, lmax=result["nnk"].lmax).analyze(signal)
    expected = [(band**2).sum() / (signal**2).sum() for band in bands]
    np.testing.assert_allclose(result["nnk"].orders[0].energy, expected, rtol=1e-5)
    assert result.reduction > 0.5
    assert "9x24x24, window 5" in str(result)
    assert calls[-1][0] == calls[-1][1]


def test_what_may_be_colour_is_asked_about():
    with pytest.raises(ValueError, match="color image or a volume"):
        energy_compaction(np.zeros((20, 20, 3)))
