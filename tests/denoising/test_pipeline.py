"""Standardize, method, inverse; and the numbers of a whole image that are given to its parts."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from nnk_image import NoiseModel
from nnk_image.base.image import check_image
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising import wavelet_lowpass
from nnk_image.denoising.low_counts import Round
from nnk_image.denoising.method import Method
from nnk_image.denoising.methods import STEPS
from nnk_image.denoising.pipeline import denoise_pixels, plan, standardize
from nnk_image.denoising.statistics import Statistics
from nnk_image.graph.pruning import DEFAULT_WINDOW
from nnk_image.noise.standard import StandardNoise

PIXELS = np.random.default_rng(23).random((20, 24, 3)) * 200 + 30
GRAY = PIXELS[..., 0]


def standardized(image, noise, channels):
    """Units, the image in these units, and its noise."""
    units, unit_image = standardize(image, noise, channels, (image.low, image.high))
    return units, unit_image, StandardNoise.of(noise, channels, len(image.shape))


def denoised(image, noise, monkeypatch, run):
    """An image denoised by a method that calls ``run(image, noise)``; the groups of the plan."""
    noise = noise.for_channels(image.channels)
    method = replace(STEPS["fast"], denoise=lambda part, unit_noise, *_: run(part, unit_noise))
    assert isinstance(method, Method)
    monkeypatch.setitem(STEPS, "fast", method)
    statistics = Statistics.of(image)
    steps = plan(image, noise, "fast", statistics)
    with RowExecutor() as executor:
        pixels = denoise_pixels(image, noise, steps, statistics, executor)
    return pixels, [group.tolist() for group in steps.groups]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_there_and_back(dtype):
    image = check_image(PIXELS.astype(dtype), -1, None)
    units, part, unit_noise = standardized(image, NoiseModel([10, 12, 15]), np.arange(3))
    assert unit_noise.is_white
    assert unit_noise.variances is None
    center = (image.low + image.high) / 2
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(part.pixels, (PIXELS - center) / [10, 12, 15], atol=200 * eps)
    assert (part.low, part.high) == (part.pixels.min(), part.pixels.max())
    np.testing.assert_allclose(units.inverse(part.pixels), image.pixels, rtol=8 * eps)


@pytest.mark.parametrize(
    ("sigma", "expected"),
    [
        ([10, 12, 15], [[0, 1, 2]]),
        ([0, 7, 7], [[1, 2]]),  # a channel without noise stays as it is
        ([0, 0, 0], []),
    ],
)
def test_channels_denoised_together(sigma, expected, monkeypatch):
    image = check_image(PIXELS, -1, None)
    center = (image.low + image.high) / 2
    pixels, groups = denoised(
        image, NoiseModel(sigma), monkeypatch, lambda part, _: 0 * part.pixels
    )
    assert groups == expected
    for c in range(3):
        np.testing.assert_array_equal(pixels[..., c], center if sigma[c] else PIXELS[..., c])


def test_masked_pixels_are_filled_from_beside_and_come_back(monkeypatch):
    pixels = GRAY.copy()
    valid = np.ones(pixels.shape, bool)
    valid[5, 6] = False
    pixels[5, 6] = np.nan

    def run(part, _):
        beside = part.pixels[[4, 6, 5, 5], [6, 6, 5, 7], 0]
        assert part.pixels[5, 6, 0] in beside
        return part.pixels

    image = check_image(pixels, None, valid)
    again, _ = denoised(image, NoiseModel(9.0), monkeypatch, run)
    assert np.isnan(again[5, 6, 0])
    np.testing.assert_allclose(again[valid, 0], pixels[valid], rtol=1e-14)


def test_the_covariance_of_channels_is_rotated_to_opponent_colors():
    """Opponent channels have uncorrelated unit noise, and gray is in the luminance alone."""
    rng = np.random.default_rng(4)
    mixing = rng.normal(size=(3, 3))
    among = mixing @ mixing.T
    shape = np.outer([0.2, 1, 0.2], [0.4, 1, 0.4])
    noise = NoiseModel.from_autocovariance(among[:, :, None, None] * shape)
    image = check_image(PIXELS, -1, None)
    units, part, unit_noise = standardized(image, noise, np.arange(3))
    scales = np.sqrt(np.diagonal(among))
    center = (image.low + image.high) / 2
    np.testing.assert_allclose(part.pixels, (PIXELS - center) / scales, rtol=1e-12)
    matrix = unit_noise.opponent / scales
    np.testing.assert_allclose(matrix @ among @ matrix.T, np.eye(3), atol=0.1)
    np.testing.assert_allclose(matrix[1:] @ np.ones(3), 0, atol=1e-12)
    for correlation in unit_noise.correlations:
        np.testing.assert_allclose(correlation, shape, atol=0.01)
    np.testing.assert_allclose(units.inverse(part.pixels), PIXELS, rtol=1e-12)


def test_levels_become_variances_of_mean_one():
    image, levels = check_image(GRAY), np.linspace(5, 25, GRAY.size).reshape(GRAY.shape)
    *_, unit_noise = standardized(image, NoiseModel(levels=levels), np.arange(1))
    assert unit_noise.variances.mean() == pytest.approx(1)
    assert unit_noise.variances[-1, -1] / unit_noise.variances[0, 0] == pytest.approx(25)
    *_, even = standardized(image, NoiseModel(levels=np.full(GRAY.shape, 7.0)), np.arange(1))
    assert even.variances is None


def test_poisson_noise_is_stabilized_and_keeps_the_mean(monkeypatch):
    clean = np.tile(np.linspace(60, 220, 48), (40, 1))
    counts = 3.0 * np.random.default_rng(0).poisson(clean / 3.0)
    image, noise, seen = check_image(counts), NoiseModel(gain=3.0), []

    def run(part, unit_noise):
        assert unit_noise.is_white
        seen.append(part.pixels.std(axis=0))
        return part.pixels

    steps = plan(image, noise, "fast", Statistics.of(image))
    assert steps.kind == "poisson"
    assert steps.rounds == (Round("fast"),)
    pixels, _ = denoised(image, noise, monkeypatch, run)
    assert np.mean(seen) == pytest.approx(1, abs=0.05)
    assert pixels.mean() == pytest.approx(counts.mean(), rel=1e-12)


def test_statistics_compute_only_what_is_unknown():
    channels = np.random.default_rng(1).normal(0, 3, (1, 40, 50))
    assert Statistics((0.0, 255.0)).spread_of(channels) == np.ptp(channels)
    given = Statistics((0.0, 255.0), spread=40.0)
    assert given.spread_of(channels) == 40
    assert pickle.loads(pickle.dumps(given)) == given


def test_a_part_is_filtered_with_tau_and_bound_of_the_whole():
    """So the inside of a part is what it is in the whole image."""
    image = check_image((np.vstack([GRAY] * 20) - 130) / 20, None, None)
    whole = replace(Statistics.of(image), tau=2.5, bound=2.0)
    reach = wavelet_lowpass.ORDER * (DEFAULT_WINDOW[2] // 2)
    top = check_image(image.pixels[: reach + 60, :, 0], None, None)
    with RowExecutor() as executor:
        expected, inside, other = (
            wavelet_lowpass.denoise(part, StandardNoise(), statistics, executor)
            for part, statistics in ((image, whole), (top, whole), (top, replace(whole, tau=5.0)))
        )
    np.testing.assert_array_equal(inside[:40], expected[:40])
    assert abs(other[:40] - inside[:40]).max() > 0.01
