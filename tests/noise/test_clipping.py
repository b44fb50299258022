"""Tests of the limits of clipped images, and of removing the bias of clipping."""

import numpy as np
import pytest
from pictures import in_8_bits
from scipy.integrate import quad
from scipy.stats import norm

from nnk_image import denoise
from nnk_image.noise.clipping import Extremes, unclip


def clipped_mean(value, low, high):
    """Return the mean of value + noise, clipped to the limits, by numerical integration."""
    return quad(lambda z: np.clip(value + z, low, high) * norm.pdf(z), -12, 12, limit=500)[0]


NEAR = np.array([0, 0.3, 1, 2.5, 5, 20])
CLIPPED = [(10.0, np.inf, 10 + NEAR), (-np.inf, 10.0, 10 - NEAR)]
CLIPPED += [(0.0, width, np.linspace(0, width, 9)) for width in (2.0, 5.0, 30.0)]


@pytest.mark.parametrize(("low", "high", "values"), CLIPPED)
def test_unclip_inverts_the_mean_of_clipped_values(low, high, values):
    means = [clipped_mean(value, low, high) for value in values]
    found = np.stack([means, 3 * values], axis=1)  # the second channel is not clipped
    limits = np.array([[low, -np.inf], [high, np.inf]])
    scaled = 7 * found
    unclip(found, limits, [1.0, 1.0])
    np.testing.assert_allclose(found[:, 0], values, atol=2e-4)
    np.testing.assert_array_equal(found[:, 1], 3 * values)
    unclip(scaled, 7 * limits, [7.0, 7.0])
    np.testing.assert_allclose(scaled, 7 * found, rtol=1e-12, atol=1e-12)


def test_means_that_clipping_cannot_produce_become_the_limit():
    found = np.array([[0.1], [0.39], [9.7]])
    kept = found.copy()
    unclip(found, np.array([[0.0], [10.0]]), [1.0], np.array([True, True, True]))
    np.testing.assert_allclose(found, [[0.0], [0.0], [10.0]], atol=1e-3)
    for sigma, valid in ((0.0, None), (11.0, None), (1.0, np.zeros(3, bool))):
        found = kept.copy()
        unclip(found, np.array([[0.0], [10.0]]), [sigma], valid)
        np.testing.assert_array_equal(found, kept)


def test_clipped_images_are_recognized():
    rng, none = np.random.default_rng(0), (-np.inf, np.inf)

    def clipped(values):
        return tuple(Extremes.of(values[:, None]).clipped[:, 0])

    values = rng.normal(100, 50, 10_000)
    assert clipped(values) == none
    assert clipped(values.clip(0, None)) == (0, np.inf)
    assert clipped(values.clip(0, 200)) == (0, 200)
    assert clipped(20.5 * rng.poisson(2, 10_000)) == none  # counts may be 0
    assert clipped(values[:10].clip(100, None)) == none  # too few to decide


@pytest.mark.parametrize("method", ["fast", "best", "sgw"])
@pytest.mark.parametrize("strength", [0.7, 1, 2])
def test_denoising_restores_clipped_dark_and_bright_areas(method, strength):
    values = [0.0, 20.0, 128.0, 255.0]
    clean = np.repeat(values, 40)[None].repeat(64, axis=0)
    noisy = in_8_bits(clean + np.random.default_rng(0).normal(0, 30, clean.shape))
    result = denoise(noisy, 30, method=method, strength=strength)
    for number, value in enumerate(values):
        inside = slice(40 * number + 6, 40 * number + 34)
        assert abs(result[:, inside].mean() - value) < 4  # the noisy means are off by 12, 5, 0, -12
