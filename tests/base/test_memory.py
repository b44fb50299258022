"""Calls that need too much memory fail before they allocate it, and say how much they need."""

import math
import tracemalloc
from functools import partial

import numpy as np
import pytest

from nnk_image import (
    NoiseModel,
    SpectralGraphWavelets,
    bilateral_graph,
    denoise,
    energy_compaction,
    estimate_noise,
    image_graph,
    standard_image,
)
from nnk_image.base import memory
from nnk_image.denoising.methods import METHODS

CALLS = {
    **{"graph": image_graph, "bilateral": bilateral_graph, "estimate": estimate_noise},
    **{"compaction": energy_compaction, "blind": denoise},
    "sgw": partial(denoise, sigma=10, method="sgw"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("shape", [(300_000, 300_000), (3, 1 << 57)], ids=str)
def test_impossible_sizes_are_refused(call, shape):
    """The second overflows 64 bits once it is multiplied by neighbors and bytes per value."""
    with pytest.raises(MemoryError, match=r" needs at least .* GiB are free; .*nnk_image\.tiled"):
        call(np.broadcast_to(np.uint8(0), shape))


def peak_memory(call, *arguments, **options):
    """Return the most bytes that Python's objects and arrays take during a call."""
    tracemalloc.start()
    call(*arguments, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_graphs_too_large_for_memory_are_refused(monkeypatch):
    image = standard_image("camera_512")
    monkeypatch.setattr(memory, "available", lambda: 200 << 20)
    assert image_graph(image).n_nodes == 512 * 512
    with pytest.raises(MemoryError, match=r"bilateral graph of an image of shape 512x512 needs"):
        bilateral_graph(image)
    assert bilateral_graph(image.reshape(-1, 1)).n_nodes == 512 * 512  # 10 neighbors, not 120
    # The early check assumes the fewest edges possible; this image has more.
    monkeypatch.setattr(memory, "SMALL", 1 << 20)
    monkeypatch.setattr(memory, "available", lambda: 22 << 20)
    noise = np.random.default_rng(0).random((512, 512)) * 255
    with pytest.raises(MemoryError, match=r"the adjacency of [0-9]+ entries needs at least"):
        image_graph(noise, window=5, sigma_f=1e-3).adjacency  # noqa: B018


@pytest.mark.parametrize(
    ("method", "channels", "side", "dtype", "sigma", "correlated"),
    [
        ("fast", 1, 4, np.uint8, 0.5, False),  # weak noise needs float64
        ("fast", 1, 4, np.float32, 20.0, True),
        ("fast", 3, 3, np.uint8, 20.0, False),
        ("fast", 3, 3, np.float32, 0.5, True),
        ("best", 1, 3, np.uint8, 20.0, False),
        ("best", 1, 3, np.float32, 0.5, True),
        ("sgw", 1, 6, np.uint8, 20.0, True),
        ("sgw", 1, 6, np.float32, 0.5, False),
    ],
)
def test_peak_memory_of_denoising_matches_the_estimate(
    method, channels, side, dtype, sigma, correlated
):
    clean = np.tile(standard_image("camera")[..., None], (side, side, channels))
    noisy = clean + np.random.default_rng(1).normal(0, sigma, clean.shape)
    image = noisy.clip(0, 255).astype(dtype)
    grain = np.outer([0.5, 1, 0.5], [0.5, 1, 0.5])
    noise = NoiseModel(sigma, correlation=grain) if correlated else sigma
    peak = peak_memory(denoise, image, noise, method=method, channel_axis=-1, n_jobs=1)
    itemsize = 8 if sigma < 1 else 4
    allowed = METHODS[method].bytes_per_pixel(channels, itemsize, 2) * clean[..., 0].size
    assert 0.4 * allowed < peak < 1.1 * allowed


def test_weak_noise_which_needs_float64_needs_more_memory(monkeypatch):
    image = standard_image("camera").astype(float)
    need = METHODS["fast"].bytes_per_pixel
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: int(1.1 * need(1, 4, 2) * image.size))
    denoise(image, 2.0)
    with pytest.raises(MemoryError, match=r"denoising in float64 needs at least .*denoise_tiles"):
        denoise(image, 1.0)


def test_peak_memory_for_a_volume_of_low_counts_is_below_the_estimate():
    counts = np.random.default_rng(0).poisson(2.5, (40, 64, 64)).astype(np.uint8)
    peak = peak_memory(denoise, counts, NoiseModel(gain=1.0), spacing=1, n_jobs=1)
    assert peak < METHODS["fast"].bytes_per_pixel(1, 4, 3) * counts.size


def test_wavelet_bands_too_large_for_memory_are_refused(monkeypatch):
    wavelets = SpectralGraphWavelets(image_graph(standard_image("camera")), n_scales=300)
    monkeypatch.setattr(memory, "available", lambda: 100 << 20)
    with pytest.raises(MemoryError, match=r"the transform into 301 bands needs at least 0\.1 GiB"):
        wavelets.analyze(np.zeros((256, 256)))


def test_require_compares_with_the_available_memory():
    free = memory.available()
    memory.require(free // 2, "half of it")
    with pytest.raises(MemoryError, match="all and more needs at least"):
        memory.require(2 * free + memory.SMALL, "all and more")


def test_container_limit_counts_file_caches_as_free(tmp_path):
    assert memory._of_container(tmp_path) == math.inf
    (tmp_path / "memory.current").write_text("500\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 30\nactive_file 7\n")
    for limit, left in (("max\n", math.inf), ("800\n", 330)):
        (tmp_path / "memory.max").write_text(limit)
        assert memory._of_container(tmp_path) == left
