"""Tests of the noise measured in flat blocks, and of the pixels that are left out."""

import numpy as np
import pytest
from noises import KERNELS, autocovariance, filtered
from scipy.fft import dct
from scipy.stats import kurtosis

from nnk_image.noise.blocks import SIDE, Planes, U, V, constant_pixels, is_drawing
from nnk_image.noise.clipping import clipped_noise, clipped_normal, clipped_pixels
from nnk_image.noise.scale import scales_of

SHAPE = 256, 256


def measure(pixels):
    """Measure the noise of (H, W) pixels at all scales."""
    usable, black = np.ones(pixels.shape), np.zeros((1, *pixels.shape))
    return scales_of(Planes(pixels[None], pixels, usable, np.zeros(usable.shape, bool), black))


def exact_variances(covariance):
    """Return the variance of each cosine coefficient of a noise block, by dense matrices."""
    y, x = np.divmod(np.arange(SIDE**2), SIDE)
    a, b = (n // 2 for n in covariance.shape)
    down, right = y[:, None] - y, x[:, None] - x
    near = (abs(down) <= a) & (abs(right) <= b)
    dense = np.zeros((SIDE**2, SIDE**2))
    dense[near] = covariance[down[near] + a, right[near] + b]
    waves = dct(np.eye(SIDE), axis=0, norm="ortho")
    both = np.einsum("uy,vx->uvyx", waves, waves).reshape(SIDE, SIDE, -1)[U, V]
    return np.einsum("fi,ij,fj->f", both, dense, both)


# --- spectrum and level ------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_spectrum_and_level_of_pure_noise(kernel):
    """Selecting blocks by the same energy that is measured would nearly halve the level."""
    exact = exact_variances(autocovariance(KERNELS[kernel]))
    first, *others = (measure(filtered(KERNELS[kernel], SHAPE, seed))[0] for seed in range(3))
    levels = [scale.bin_variances[0].mean() for scale in (first, *others)]
    assert np.mean(levels) == pytest.approx(exact.mean(), rel=0.12)
    found = first.typical_variances[0] * first.spectra[0]
    strong = exact > 0.05 * exact.max()
    assert np.mean(found[strong] / exact[strong]) == pytest.approx(1, abs=0.12)
    # The model, nine cosines for the logarithm, is inaccurate near zeros of the spectrum.
    np.testing.assert_allclose(found[strong], exact[strong], rtol=0.75)
    if kernel != "white":
        logarithms = np.log(found), np.log(np.maximum(exact, 1e-3 * exact.max()))
        assert np.corrcoef(logarithms)[0, 1] > 0.95


# --- usable pixels -----------------------------------------------------------------------


def test_counts_are_not_clipped():
    """In an image with few different values, the smallest is not a clipping limit."""
    counts = np.random.default_rng(12).poisson(1.0, (60, 60, 1)).astype(float)
    assert not clipped_pixels(counts, np.full((60, 60), True)).any()


def test_constant_pixels():
    image = filtered(KERNELS["white"], (40, 50, 2), 13)
    image[10:20, 30:] = 0.25
    image[30:32, 5:9] = image[2, 2:4] = 0.5  # too few to be an area
    expected = np.zeros((40, 50), bool)
    expected[10:20, 30:] = True
    np.testing.assert_array_equal(constant_pixels(image), expected)
    image[10:20, 30:, 1] = filtered(KERNELS["white"], (10, 20), 14)  # one channel is not constant
    assert not constant_pixels(image).any()


@pytest.mark.parametrize("share", [0.4, 0.6, 0.8, 0.9])
@pytest.mark.parametrize("white", [False, True])
def test_areas_of_clipped_noise_are_not_constant(share, white):
    noise = filtered(KERNELS["white"], (120, 160), 4)
    image = np.maximum(noise, np.quantile(noise, share))[..., None]
    image = -image if white else image
    limit = image.max() if white else image.min()
    np.testing.assert_array_equal(clipped_noise(image)[int(white)], image[..., 0] == limit)
    assert not constant_pixels(image).any()


@pytest.mark.parametrize("masked", [0.05, 0.1, 0.3])
def test_clipped_noise_beside_masked_pixels(masked):
    image = filtered(KERNELS["white"], (120, 160), 5)
    image = np.maximum(image, np.quantile(image, 0.7))[..., None]
    valid = np.random.default_rng(6).random((120, 160)) > masked
    assert clipped_noise(image, valid)[0][valid].mean() > 0.65


@pytest.mark.parametrize("share", [0.01, 0.5, 0.7, 0.84])
def test_moments_of_clipped_noise(share):
    values = np.random.default_rng(8).normal(size=1_000_000)
    values = np.maximum(values, np.quantile(values, share))
    expected = values.std(), kurtosis(values, fisher=False)
    assert clipped_normal(share) == pytest.approx(expected, rel=0.02)


def test_constant_areas_everywhere_are_a_drawing():
    y, x = np.mgrid[:120, :160]
    everywhere = np.ones((120, 160), bool)
    lines = (y % 12 < 4) | (x % 40 < 3)  # all other pixels are within a block of them
    assert is_drawing(lines, everywhere)
    assert is_drawing(everywhere, everywhere)
    assert not is_drawing(y < 60, everywhere)  # only one half is constant
    assert not is_drawing(lines & (x < 80), everywhere)
    assert is_drawing(lines & (x < 80), x < 80)  # the rest is masked
    assert not is_drawing(~everywhere, everywhere)


def test_areas_of_drawings_stay_constant():
    """Lines and dots on a constant ground are not alone on it, or have at most two values."""
    y, x = np.mgrid[:120, :160]
    lines = np.where((y % 12 < 4) | (x % 40 < 3), y + x + 1.0, 0)[..., None]
    dots = np.where((y % 3 == 0) & (x % 4 == 0), 1.0, 0)[..., None]
    for drawing in (lines, dots, dots * (200, 90, 30)):
        assert not clipped_noise(drawing).any()
    assert constant_pixels(lines).mean() > 0.4
