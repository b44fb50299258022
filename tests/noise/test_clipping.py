"""Tests of the limits of clipped images, and of removing the bias of clipping."""

import numpy as np
import pytest
from pictures import in_8_bits
from scipy.integrate import quad
from scipy.stats import norm

from nnk_image import denoise
from nnk_image.noise.clipping import Extremes, unclip


def clipped_mean(value):
    """Return the mean of max(value + noise, 0), by numerical integration."""
    return quad(lambda z: (value + z) * norm.pdf(z), -value, 12)[0]


@pytest.mark.parametrize("sign", [1, -1])
def test_unclip_inverts_the_mean_of_clipped_values(sign):
    values = np.array([0.0, 0.3, 1.0, 2.5, 5.0, 20.0])
    found = 10 + sign * np.array([clipped_mean(value) for value in values])[:, None]
    limits = np.array([[10.0], [np.inf]] if sign > 0 else [[-np.inf], [10.0]])
    scaled = 7 * found
    unclip(found, limits, [1.0])
    np.testing.assert_allclose(found[:, 0], 10 + sign * values, atol=2e-4)
    unclip(scaled, 7 * limits, [7.0])
    np.testing.assert_allclose(scaled, 7 * found, rtol=1e-12)


@pytest.mark.parametrize("width", [2.0, 5.0, 30.0])
def test_unclip_inverts_clipping_at_both_ends(width):
    values = np.linspace(0, width, 9)

    def mean(value):
        beyond = quad(lambda z: (value + z - width) * norm.pdf(z), width - value, width + 12)[0]
        return clipped_mean(value) - beyond

    found = np.stack([np.vectorize(mean)(values), 3 * values], axis=1)
    unclip(found, np.array([[0.0, -np.inf], [width, np.inf]]), [1.0, 1.0])
    np.testing.assert_allclose(found[:, 0], values, atol=2e-4)
    np.testing.assert_array_equal(found[:, 1], 3 * values)


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
