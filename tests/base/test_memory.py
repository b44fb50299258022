"""Calls that need too much memory fail before they allocate it, and say how much they need."""

import math
import tracemalloc

import numpy as np
import pytest
from child import on_linux, python

from nnk_image import (
    NoiseModel,
    SpectralGraphWavelets,
    bilateral_graph,
    denoise,
    image_graph,
    standard_image,
)
from nnk_image.base import lazy, memory
from nnk_image.denoising.methods import METHODS

IMPOSSIBLE = """
    import itertools, sys, time
    import numpy as np
    import nnk_image

    calls = {
        "image_graph": nnk_image.image_graph,
        "directed": lambda x, **given: nnk_image.image_graph(x, directed=True, **given),
        "bilateral_graph": nnk_image.bilateral_graph,
        "sgw": lambda x, **given: nnk_image.denoise(x, 10, method="sgw", **given),
        "fast": lambda x, **given: nnk_image.denoise(x, 10, method="fast", **given),
        "no sigma": nnk_image.denoise,
        "estimate_noise": nnk_image.estimate_noise,
        "energy_compaction": nnk_image.energy_compaction,
    }
    dtype = np.dtype(sys.argv[1])
    # The last shapes overflow 64 bits once multiplied by neighbors and bytes per value.
    shapes = [(300_000, 300_000), (1 << 31, 1 << 28), (1 << 59, 1), (3, 1 << 57)]
    for name, shape, channel_axis in itertools.product(calls, shapes, (None, 2, 0)):
        channels = [] if channel_axis is None else [3]
        full = (*shape, *channels) if channel_axis != 0 else (*channels, *shape)
        if int(np.prod([float(n) for n in full])) * dtype.itemsize >= 2**63:
            continue  # numpy has no such array
        image = np.broadcast_to(dtype.type(0), full)
        start = time.process_time()
        try:
            calls[name](image, channel_axis=channel_axis)
        except MemoryError as error:
            assert " needs at least " in str(error), (name, error)
            assert " GiB are free; " in str(error), (name, error)
            assert "nnk_image.tiled" in str(error), (name, error)
            assert time.process_time() - start < 5, (name, time.process_time() - start)
        else:
            raise AssertionError(name, full)
        peak = open("/proc/self/status").read().split("VmHWM:")[1].split()[0]
        assert int(peak) < 1 << 20, f"{name}: peak memory of {peak} kB"
    print("refused")
"""


@on_linux
@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_impossible_sizes_are_refused_before_memory_is_allocated(dtype):
    assert python(IMPOSSIBLE, dtype) == ["refused"]


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
    assert 1 << 20 < free < 1 << 50
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


@pytest.mark.parametrize("size", [np.inf, np.nan, "much", 0, -1, None])
def test_invalid_memory_sizes_are_refused(size):
    with pytest.raises(ValueError, match="must be a positive number of bytes"):
        lazy.bytes_of(size)
