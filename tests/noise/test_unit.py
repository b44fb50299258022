"""Tests of `UnitNoise`, the correlated or uneven noise of an image with unit noise."""

import numpy as np
import pytest
from noises import autocovariance, filtered

from nnk_image.base.pyramid import halve
from nnk_image.noise.autocovariance import patch_covariance, regularized
from nnk_image.noise.model import NoiseModel
from nnk_image.noise.unit import WHITE, UnitNoise

KERNEL = np.outer([1, 2, 1], [1, 3, 1]) / 66**0.5


def test_impossible_correlation_is_regularized():
    impossible = np.array([[0.0, 0, 0], [0.9, 1, 0.9], [0, 0, 0]])
    repaired = regularized(impossible)
    size = np.zeros((64, 64))
    size[31:34, 31:34] = repaired
    assert np.fft.fft2(np.fft.ifftshift(size)).real.min() > -0.5
    assert repaired[1, 1] == 1
    possible = autocovariance(KERNEL)
    np.testing.assert_allclose(regularized(possible), possible, atol=0.02)


@pytest.mark.parametrize("shape", [(128, 128), (127, 129)])
def test_correlation_at_half_size_is_that_of_halved_noise(shape):
    small = np.concatenate([halve(filtered(KERNEL, shape, seed)[None]) for seed in range(60)])
    small = small[:, :63, :63]
    halved, levels = UnitNoise(autocovariance(KERNEL)[None]).halved(shape)
    assert levels[0] == pytest.approx(small.std(), rel=0.02)
    middle = halved.correlations.shape[1] // 2
    for dy, dx in [(0, 1), (1, 0), (1, 1), (0, 2)]:
        pairs = small[:, dy:, dx:] * small[:, : 63 - dy, : 63 - dx]
        inside = dx <= halved.correlations.shape[2] // 2
        found = halved.correlations[0, middle + dy, middle + dx] if inside else 0
        assert found == pytest.approx(pairs.mean() / small.var(), abs=0.03)


def test_channels_with_equal_noise_need_no_matrix():
    for sigma in np.random.default_rng(0).uniform(0.01, 60, 200):
        assert UnitNoise.of(NoiseModel([sigma] * 3), np.arange(3), 2).opponent is None


def test_white_noise_stays_white_at_half_size():
    halved, levels = WHITE.halved((40, 41))
    assert halved.is_white
    assert levels == 1
    table = np.zeros((1, 5, 7))
    table[0, 2, 3] = 1
    halved, levels = UnitNoise(table).halved((40, 41))
    assert levels == 1
    assert np.count_nonzero(halved.correlations) == 1


def test_the_covariance_of_channels_that_share_a_filter_is_their_mean():
    tables = np.stack([autocovariance(KERNEL), autocovariance(KERNEL.T)])
    noise = UnitNoise(tables)
    found = noise.covariance((3, 3), np.float32)
    assert found.shape == (9, 16)
    assert found.dtype == np.float32
    expected = np.mean([patch_covariance(c, (3, 3)) for c in tables], axis=0)
    np.testing.assert_allclose(found[:, :9], expected, rtol=1e-6)
    assert not found[:, 9:].any()
    np.testing.assert_array_equal(
        noise.of_channels(slice(1)).covariance((3, 3), np.float64)[:, :9],
        patch_covariance(tables[0], (3, 3)),
    )
