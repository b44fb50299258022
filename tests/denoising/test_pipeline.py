"""Tests of the denoising pipeline: standardize the noise, apply a method, transform back."""

from dataclasses import replace

import numpy as np
import pytest

from nnk_image import NoiseModel
from nnk_image.base.image import check_image
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising import wavelet_lowpass
from nnk_image.denoising.low_counts import Round
from nnk_image.denoising.methods import METHODS
from nnk_image.denoising.pipeline import denoise_pixels, plan
from nnk_image.denoising.statistics import Statistics
from nnk_image.noise.standard import StandardNoise

PIXELS = np.random.default_rng(23).random((20, 24, 3)) * 200 + 30
GRAY = PIXELS[..., 0]


def denoised(image, noise, monkeypatch, run):
    """Return the pixels denoised with a method that calls ``run(image, noise)``."""
    noise = noise.for_channels(image.channels)
    method = replace(METHODS["fast"], denoise=lambda part, unit_noise, *_: run(part, unit_noise))
    monkeypatch.setitem(METHODS, "fast", method)
    statistics = Statistics.of(image, noise)
    steps = plan(image, noise, "fast", statistics)
    with RowExecutor() as executor:
        return denoise_pixels(image, noise, steps, statistics, executor)


def given_to_the_method(image, noise, monkeypatch):
    """Return the unit image and unit noise that a method gets, and the pixels transformed back."""
    seen = []

    def run(part, unit_noise):
        seen.append((part, unit_noise))
        return part.pixels

    pixels = denoised(image, noise, monkeypatch, run)
    return *seen[0], pixels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit", [1.0, 0.01])
def test_inverse_of_standardizing_restores_the_image(dtype, unit, monkeypatch):
    image = check_image(PIXELS.astype(dtype), -1, None)
    sigmas = unit * np.array([10, 12, 15])
    noise = NoiseModel(sigmas)
    part, unit_noise, pixels = given_to_the_method(image, noise, monkeypatch)
    assert unit_noise.is_white
    assert unit_noise.variances is None
    assert part.dtype == part.pixels.dtype == (np.float32 if unit == 1 else np.float64)
    center = (image.low + image.high) / 2
    eps = max(np.finfo(own).eps for own in (dtype, part.dtype))
    expected = (PIXELS - center) / sigmas
    np.testing.assert_allclose(part.pixels, expected, atol=200 * eps / unit)
    assert part.high == -part.low == pytest.approx(np.ptp(PIXELS) / (20 * unit))
    assert part.low <= part.pixels.min() < part.pixels.max() <= part.high
    assert pixels.dtype == dtype
    np.testing.assert_allclose(pixels, image.pixels, rtol=0, atol=200 * eps)


def test_masked_pixels_are_filled_from_neighbors_and_restored(monkeypatch):
    pixels = GRAY.copy()
    valid = np.ones(pixels.shape, bool)
    valid[5, 6] = False
    pixels[5, 6] = np.nan

    def run(part, _):
        neighbors = part.pixels[[4, 6, 5, 5], [6, 6, 5, 7], 0]
        assert part.pixels[5, 6, 0] in neighbors
        return part.pixels

    image = check_image(pixels, None, valid)
    again = denoised(image, NoiseModel(9.0), monkeypatch, run)
    assert np.isnan(again[5, 6, 0])
    np.testing.assert_allclose(again[valid, 0], pixels[valid], rtol=0, atol=1e-5)


def test_channel_covariance_is_rotated_to_opponent_colors(monkeypatch):
    """Opponent channels have uncorrelated unit noise, and gray is only in the luminance."""
    rng = np.random.default_rng(4)
    mixing = rng.normal(size=(3, 3))
    among = mixing @ mixing.T
    shape = np.outer([0.2, 1, 0.2], [0.4, 1, 0.4])
    noise = NoiseModel.from_autocovariance(among[:, :, None, None] * shape)
    image = check_image(PIXELS, -1, None)
    part, unit_noise, pixels = given_to_the_method(image, noise, monkeypatch)
    scales = np.sqrt(np.diagonal(among))
    center = (image.low + image.high) / 2
    np.testing.assert_allclose(part.pixels, (PIXELS - center) / scales, rtol=1e-6)
    matrix = unit_noise.opponent / scales
    np.testing.assert_allclose(matrix @ among @ matrix.T, np.eye(3), atol=0.1)
    np.testing.assert_allclose(matrix[1:] @ np.ones(3), 0, atol=1e-12)
    for correlation in unit_noise.correlations:
        np.testing.assert_allclose(correlation, shape, atol=0.01)
    np.testing.assert_allclose(pixels, PIXELS, rtol=0, atol=1e-5)


def test_levels_become_variances_of_mean_one():
    levels = np.linspace(5, 25, GRAY.size).reshape(GRAY.shape)
    unit_noise = StandardNoise.of(NoiseModel(levels=levels), np.arange(1), 2)
    assert unit_noise.variances.mean() == pytest.approx(1)
    assert unit_noise.variances[-1, -1] / unit_noise.variances[0, 0] == pytest.approx(25)
    even = StandardNoise.of(NoiseModel(levels=np.full(GRAY.shape, 7.0)), np.arange(1), 2)
    assert even.variances is None


def test_poisson_noise_is_stabilized_and_keeps_the_mean(monkeypatch):
    clean = np.tile(np.linspace(60, 220, 48), (40, 1))
    counts = 3.0 * np.random.default_rng(0).poisson(clean / 3.0)
    image, noise, seen = check_image(counts), NoiseModel(gain=3.0), []

    def run(part, unit_noise):
        assert unit_noise.is_white
        seen.append(part.pixels.std(axis=0))
        return part.pixels

    steps = plan(image, noise, "fast", Statistics.of(image, noise))
    assert steps.rounds == (Round("fast"),)
    pixels = denoised(image, noise, monkeypatch, run)
    assert np.mean(seen) == pytest.approx(1, abs=0.05)
    assert pixels.mean() == pytest.approx(counts.mean(), rel=1e-12)


def test_a_part_is_filtered_as_in_the_whole_image():
    """Every fifth row is alike: the graph links pixels as far apart as its window allows."""
    rng = np.random.default_rng(0)
    pixels = np.tile(rng.normal(0, 5, (5, 24)), (60, 1)) + rng.normal(0, 0.3, (300, 24))
    reach = wavelet_lowpass.METHOD.reach(pixels.shape, 1).border[0]
    images = map(check_image, (pixels, pixels[: reach + 40]))
    with RowExecutor() as executor:
        whole, part = (
            wavelet_lowpass.denoise(a, StandardNoise(), Statistics.of(a, NoiseModel(1.0)), executor)
            for a in images
        )
    np.testing.assert_array_equal(part[:40], whole[:40])
