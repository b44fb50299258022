"""What cannot fit is refused before memory is taken, with the figures."""

import numpy as np
import pytest

from nnk_image import (
    SpectralGraphWavelets,
    bilateral_graph,
    denoise,
    energy_compaction,
    estimate_sigma,
    image_graph,
    memory,
    standard_image,
)

HUGE = np.broadcast_to(np.uint8(0), (300_000, 300_000))  # one byte


@pytest.mark.parametrize(
    "call",
    [
        image_graph,
        bilateral_graph,
        lambda image: denoise(image, 20, method="sgw"),
        lambda image: denoise(image, 20),
        estimate_sigma,
        energy_compaction,
        lambda image: denoise(image[:, :, None], 20, channel_axis=2),
    ],
)
def test_impossible_sizes(call):
    with pytest.raises(MemoryError, match=r"300000x300000.* GiB, .* GiB are free; .*halo"):
        call(HUGE)


def test_an_adjacency_that_does_not_fit(monkeypatch):
    image = standard_image("camera_512")
    monkeypatch.setattr(memory, "available", lambda: 200 << 20)
    assert image_graph(image).n_nodes == 512 * 512
    with pytest.raises(MemoryError, match=r"bilateral graph of an image of shape 512x512 needs"):
        bilateral_graph(image)
    # What an early look could not know: this image keeps more than the fewest edges.
    monkeypatch.setattr(memory, "SMALL", 1 << 20)
    monkeypatch.setattr(memory, "available", lambda: 22 << 20)
    noise = np.random.default_rng(0).random((512, 512)) * 255
    with pytest.raises(MemoryError, match=r"the adjacency of [0-9]+ entries needs at least"):
        image_graph(noise, window=5, sigma_f=1e-3)


def test_bands_that_do_not_fit(monkeypatch):
    wavelets = SpectralGraphWavelets(image_graph(standard_image("camera")), n_scales=300)
    monkeypatch.setattr(memory, "available", lambda: 100 << 20)
    with pytest.raises(MemoryError, match=r"the transform into 301 bands needs at least 0\.1 GiB"):
        wavelets.analyze(np.zeros((256, 256)))


def test_unknown_memory_refuses_nothing(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: None)
    memory.require(1 << 60, "anything")


def test_what_is_available_here():
    free = memory.available()
    if free is None:
        pytest.skip("this system does not tell")
    assert 1 << 20 < free < 1 << 50
    memory.require(free // 2, "half of it")
    with pytest.raises(MemoryError, match="all and more needs at least"):
        memory.require(2 * free + memory.SMALL, "all and more")
