"""Wavelets of volumes: tiles with their halo, energy compaction."""

import numpy as np
import pytest

import nnk_image
from nnk_image import SpectralGraphWavelets, energy_compaction, halo, image_graph

RNG = np.random.default_rng(50)


@pytest.mark.parametrize(
    ("window", "laplacian"),
    [(3, "combinatorial"), ((3, 5, 3), "normalized"), ((1, 3, 5), "random_walk")],
)
def test_a_tile_with_its_halo_is_filtered_as_in_the_whole(window, laplacian):
    order = 3
    border = halo(order, window, laplacian)
    border = border if isinstance(border, tuple) else (border,) * 3
    volume = RNG.normal(100, 20, (22, 26, 24))
    first, shape = (8, 9, 8), (5, 4, 6)
    box = tuple(
        slice(max(0, f - b), min(n, f + s + b))
        for f, s, b, n in zip(first, shape, border, volume.shape, strict=True)
    )
    options = {"order": order, "laplacian": laplacian, "lmax": 30.0, "bound": 40.0}

    def bands(part):
        return SpectralGraphWavelets(image_graph(part, window, sigma_f=15), **options).analyze(part)

    inside = tuple(slice(f, f + s) for f, s in zip(first, shape, strict=True))
    moved = tuple(
        slice(f - b.start, f - b.start + s) for f, b, s in zip(first, box, shape, strict=True)
    )
    assert any(b.stop - b.start < n for b, n in zip(box, volume.shape, strict=True))
    found, expected = bands(volume[box])[:, *moved], bands(volume)[:, *inside]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_halo_of_each_axis():
    assert halo(30, (3, 5, 5)) == (31, 62, 62)
    assert halo(4, (1, 3, 3), "normalized") == (0, 6, 6)
    with pytest.raises(ValueError, match="odd"):
        halo(4, (2, 3, 3))


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
