"""Tests of the noise measured in flat blocks, and of the pixels that are left out."""

import numpy as np
import pytest
from noises import KERNELS, autocovariance, filtered
from scipy.fft import dct, dctn

from nnk_image.base.channels import cosine_matrix
from nnk_image.noise.blocks import SIDE, U, V, clipped_pixels, constant_pixels, is_drawing
from nnk_image.noise.scale import scales_of

ONE = np.ones((1, 1))
SHAPE = 256, 256


def measure(channels, usable=None, dark=None):
    """Measure the noise of (H, W) pixels, or of (C, H, W) channels, at all scales."""
    channels = channels if channels.ndim == 3 else channels[None]
    usable = np.ones(channels.shape[1:]) if usable is None else usable.astype(float)
    dark = np.zeros(channels.shape) if dark is None else dark
    return scales_of(channels, usable, np.zeros(usable.shape, bool), dark)


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


def blocks_of(image, step=4):
    """Return the (n, frequencies) cosine coefficients of the blocks of an image."""
    windows = np.lib.stride_tricks.sliding_window_view(image, (SIDE, SIDE))[::step, ::step]
    return dctn(windows, axes=(2, 3), norm="ortho").reshape(-1, SIDE, SIDE)[:, U, V]


# --- spectrum and level ------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_spectrum_of_pure_noise(kernel):
    exact = exact_variances(autocovariance(KERNELS[kernel]))
    full = measure(filtered(KERNELS[kernel], SHAPE, 0))[0]
    found = full.typical[0] * full.spectra[0]
    strong = exact > 0.05 * exact.max()
    assert np.mean(found[strong] / exact[strong]) == pytest.approx(1, abs=0.12)
    # The model, nine cosines for the logarithm, is inaccurate near zeros of the spectrum.
    np.testing.assert_allclose(found[strong], exact[strong], rtol=0.65)
    if kernel != "white":
        logarithms = np.log(found), np.log(np.maximum(exact, 1e-3 * exact.max()))
        assert np.corrcoef(logarithms)[0, 1] > 0.95


@pytest.mark.parametrize("kernel", KERNELS)
def test_flattest_blocks_are_measured_without_bias(kernel):
    """Selecting blocks by the same energy that is measured would nearly halve it."""
    exact = exact_variances(autocovariance(KERNELS[kernel]))
    found, biased = [], []
    for seed in range(3):
        noise = filtered(KERNELS[kernel], SHAPE, seed)
        found.append(measure(noise)[0].levels[0].mean() / exact.mean())
        relative = blocks_of(noise) ** 2 / exact
        energies = relative.mean(axis=1)
        flattest = np.argsort(energies)[: int(0.03 * len(energies))]
        biased.append(relative[flattest].mean())
    assert np.mean(found) == pytest.approx(1, abs=0.12)
    assert np.mean(biased) < 0.65


@pytest.mark.parametrize("sigma", [1e-3, 1.0, 40.0])
def test_white_noise(sigma):
    full = measure(sigma * filtered(KERNELS["white"], SHAPE, 3))[0]
    assert np.sqrt(full.typical_white[0]) == pytest.approx(sigma, rel=0.04)
    assert np.sqrt(full.typical[0]) == pytest.approx(sigma, rel=0.06)
    np.testing.assert_allclose(full.spectra.mean(axis=1), 1)
    assert -0.5 < full.flatness < -0.2
    assert np.all(np.abs(full.elasticity) < 0.25)


@pytest.mark.parametrize("shape", [(64, 64), (102, 102), (140, 90), (300, 500)])
def test_white_noise_in_images_of_any_size(shape):
    """The mean over several images is accurate."""
    found = [measure(filtered(KERNELS["white"], shape, seed))[0] for seed in range(6)]
    assert np.sqrt(np.mean([full.typical_white for full in found])) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("kernel", KERNELS)
def test_noise_is_not_taken_for_two_values(kernel):
    """Not even if half of it is clipped at black, or if there are few photons."""
    noise = filtered(KERNELS[kernel], SHAPE, 3)
    photons = np.random.default_rng(4).poisson(2, SHAPE) / 4 - 1
    for image in (0.3 * noise, np.clip(0.3 * noise - 1, -1, 1), photons):
        assert measure(image)[0].two_values == 0


def test_strong_white_noise_is_not_taken_for_two_values():
    """Nearly all values are clipped, at both ends."""
    for seed in range(4):
        noise = 8 * filtered(KERNELS["white"], SHAPE, seed)
        assert measure(np.clip(noise, -1, 1))[0].two_values == 0


@pytest.mark.parametrize("contrast", [1, -1])
@pytest.mark.parametrize("ink", [0.1, 0.3, 0.5])
def test_patterns_of_black_and_white_have_two_values(ink, contrast):
    pattern = filtered(KERNELS["binomial"], SHAPE, 5)
    image = np.where(pattern < np.quantile(pattern, ink), -contrast, contrast)
    noise = 0.05 * filtered(KERNELS["white"], SHAPE, 6)
    assert measure(image + noise)[0].two_values == 1
    # The second channel is gray.
    assert measure(np.stack([image + noise, noise]))[0].two_values > 0


def test_levels_of_opponent_channels_and_of_the_channels():
    levels = np.array([3.0, 1.0, 2.0])
    noise = filtered(KERNELS["white"], (*SHAPE, 3), 4) * levels
    full = measure(np.moveaxis(noise, -1, 0))[0]
    np.testing.assert_allclose(np.sqrt(full.typical_white), levels, rtol=0.06)
    expected = cosine_matrix(3) ** 2 @ levels**2
    np.testing.assert_allclose(full.typical, expected, rtol=0.2)
    among = full.matrix @ np.diag(levels**2) @ full.matrix.T
    np.testing.assert_allclose(full.variances.mean(axis=1), np.diagonal(among), rtol=0.2)
    assert among[0, 0] < 1.1 * 3 / np.sum(levels**-2)  # weights 1 / variance give the minimum


def test_gray_texture_does_not_change_the_weights_of_channels():
    levels = np.array([3.0, 1.0, 2.0])
    noise = filtered(KERNELS["white"], (*SHAPE, 3), 4) * levels
    texture = 4 * filtered(KERNELS["mild"], SHAPE, 2)[..., None]
    images = noise, noise + texture
    found = [measure(np.moveaxis(image, -1, 0))[0].matrix[0] for image in images]
    np.testing.assert_allclose(*found, atol=0.25)  # the weights stay unequal


def test_white_noise_has_the_same_level_at_half_size():
    found = measure(filtered(KERNELS["white"], (512, 512), 5))
    assert len(found) == 3
    for scale in found:
        assert scale.typical[0] == pytest.approx(1, abs=0.16)
    wide = measure(filtered(KERNELS["binomial"], SHAPE, 5))
    assert wide[1].typical[0] > 1.5 * wide[0].typical[0]


def test_levels_follow_the_brightness():
    ramp = np.linspace(-1, 1, SHAPE[1])
    level = 0.02 + 0.015 * ramp
    full = measure(ramp + level * filtered(KERNELS["white"], SHAPE, 6))[0]
    assert np.all(np.diff(full.brightness) > 0)
    assert full.contrast == pytest.approx(2, rel=0.1)
    expected = 0.02 + 0.015 * full.brightness
    np.testing.assert_allclose(np.sqrt(full.levels[0]), expected, rtol=0.2)
    assert full.typical_white[0] == pytest.approx(0.02**2, rel=0.25)


# --- invariances -------------------------------------------------------------------------

TEXTURED = np.add.outer(np.sin(np.arange(136) / 9), np.linspace(0, 3, 168) ** 2)
TEXTURED += 0.1 * filtered(KERNELS["mild"], TEXTURED.shape, 7)


def assert_alike(found, expected, factor=1.0, order=slice(None)):
    assert len(found) == len(expected)
    for scale, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(scale.levels, factor**2 * other.levels, rtol=1e-6)
        np.testing.assert_allclose(scale.spectra, other.spectra[:, order], rtol=1e-6)
        np.testing.assert_allclose(scale.white, factor**2 * other.white, rtol=1e-6)
        np.testing.assert_allclose(scale.flatness, other.flatness, rtol=1e-6)
        np.testing.assert_allclose(scale.elasticity, other.elasticity, rtol=1e-5, atol=1e-8)
        assert scale.contrast == pytest.approx(factor * other.contrast)


def test_an_offset_does_not_matter():
    found, expected = measure(TEXTURED + 100), measure(TEXTURED)
    assert_alike(found, expected)
    np.testing.assert_allclose(found[0].brightness, expected[0].brightness + 100)


@pytest.mark.parametrize("factor", [2.0**-20, 0.3, 1e6])
def test_levels_scale_with_the_image(factor):
    assert_alike(measure(factor * TEXTURED), measure(TEXTURED), factor)


def test_the_negative_has_the_same_noise():
    found, expected = measure(-TEXTURED)[0], measure(TEXTURED)[0]
    np.testing.assert_allclose(found.typical, expected.typical, rtol=0.05)


def test_transposing_exchanges_frequencies():
    order = np.lexsort((U, V))  # the place of (v, u) for each (u, v)
    assert_alike(measure(TEXTURED.T), measure(TEXTURED), order=order)


@pytest.mark.parametrize("turn", [np.fliplr, np.flipud])
def test_flipping_keeps_the_blocks(turn):
    """The last blocks of the image end exactly at its border."""
    assert_alike(measure(turn(TEXTURED)), measure(TEXTURED))


# --- small and noiseless images ----------------------------------------------------------


@pytest.mark.parametrize("shape", [(8, 8), (8, 200), (200, 8), (9, 11), (31, 30)])
def test_small_images(shape):
    (full,) = measure(filtered(KERNELS["white"], shape, 8))
    for values in (full.levels, full.white, full.spectra, full.flatness, full.elasticity):
        assert np.all(np.isfinite(values))
    assert np.all(full.levels > 0)
    assert np.all(full.white >= 0)


@pytest.mark.parametrize("shape", [(7, 100), (100, 7), (1, 1)])
def test_images_smaller_than_a_block(shape):
    assert measure(np.zeros(shape)) == []


def half_ramp(seed):
    """Return an image with noise on the left, and a brighter noiseless ramp on the right."""
    image = np.tile(np.linspace(1, 2, 128), (128, 1))
    image[:, :64] = 0.1 * filtered(KERNELS["white"], (128, 64), seed)
    return image


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((40, 50)),
        np.tile(np.linspace(0, 1, 90), (80, 1)),
        np.add.outer(np.arange(80.0), np.arange(90.0)),
        np.tile([0.0, 1.0], (90, 40)),
        half_ramp(0),
        np.where(np.eye(70) > 0, 1.0, 0.0),
    ],
    ids=["zero", "ramp", "slope", "stripes", "half a ramp", "diagonal"],
)
def test_brightness_bins_without_noise(image):
    for scale in measure(image):
        for values in (scale.levels, scale.white, scale.spectra, scale.typical):
            assert np.all(np.isfinite(values))
            assert np.all(values >= 0)


def test_channels_without_noise():
    noise = filtered(KERNELS["white"], (100, 100), 9)
    image = np.stack([noise, np.zeros_like(noise), np.zeros_like(noise)], axis=-1)
    full = measure(np.moveaxis(image, -1, 0))[0]
    assert full.typical_white[0] == pytest.approx(1, abs=0.3)
    assert np.all(full.typical_white[1:] < 1e-3)


# --- usable pixels -----------------------------------------------------------------------


def test_clipped_pixels():
    image = np.clip(filtered(KERNELS["white"], (90, 80), 10), -1, 1)[..., None]
    black, white = clipped_pixels(image, None)
    np.testing.assert_array_equal(black[0], image[..., 0] == -1)
    np.testing.assert_array_equal(white[0], image[..., 0] == 1)


def test_pixels_clipped_in_one_channel():
    image = filtered(KERNELS["white"], (40, 50, 3), 11)
    image[3, 4, 1] = image.max() + 1
    image[20, 30, 2] = image.min() - 1
    black, white = clipped_pixels(image, None)
    assert np.argwhere(black).tolist() == [[2, 20, 30]]
    assert np.argwhere(white).tolist() == [[1, 3, 4]]


def test_counts_are_not_clipped():
    """In an image with few different values, the smallest is not a clipping limit."""
    counts = np.random.default_rng(12).poisson(1.0, (60, 60, 1)).astype(float)
    assert not clipped_pixels(counts, None).any()


@pytest.mark.parametrize("mean", [0.3, 0.7, 1.5])
def test_noise_clipped_at_black_is_measured_in_full(mean):
    noise = np.maximum(filtered(KERNELS["white"], SHAPE, 21) + mean, 0)[..., None]
    black, _ = clipped_pixels(noise, None)
    found = measure(noise[..., 0], dark=black)[0]
    assert np.sqrt(found.typical_white[0]) == pytest.approx(1, rel=0.1)


def test_constant_pixels():
    image = filtered(KERNELS["white"], (40, 50, 2), 13)
    image[10:20, 30:] = 0.25
    image[30:32, 5:9] = image[2, 2:4] = 0.5  # too few to be an area
    expected = np.zeros((40, 50), bool)
    expected[10:20, 30:] = True
    np.testing.assert_array_equal(constant_pixels(image), expected)
    image[10:20, 30:, 1] = filtered(KERNELS["white"], (10, 20), 14)  # one channel is not constant
    assert not constant_pixels(image).any()


def test_constant_areas_are_left_out():
    noise = filtered(KERNELS["white"], SHAPE, 19)
    constant = np.zeros(SHAPE, bool)
    constant[:, :150] = True
    channels = np.where(constant, 0, noise)[None]
    found = scales_of(channels, np.ones(SHAPE), constant, np.zeros(channels.shape))[0]
    assert np.sqrt(found.typical_white[0]) == pytest.approx(1, rel=0.05)


def test_constant_areas_everywhere_are_a_drawing():
    y, x = np.mgrid[:120, :160]
    everywhere = np.ones((120, 160), bool)
    lines = (y % 12 < 4) | (x % 40 < 3)  # all other pixels are within a block of them
    pixels = np.where(lines, 0, y + x)[..., None]
    assert is_drawing(pixels, lines, everywhere)
    assert is_drawing(pixels, everywhere, everywhere)
    assert not is_drawing(pixels, y < 60, everywhere)  # only one half is constant
    assert not is_drawing(pixels, lines & (x < 80), everywhere)
    assert is_drawing(pixels, lines & (x < 80), x < 80)  # the rest is masked
    assert not is_drawing(pixels, ~everywhere, everywhere)


@pytest.mark.parametrize("below", [0.7, 1.2, 1.7])
def test_noise_clipped_at_zero_is_not_a_drawing(below):
    """As in a micrograph whose background was subtracted."""
    noise = filtered(KERNELS["white"], (*SHAPE, 1), 20) - below
    clipped = np.maximum(noise, 0)
    constant = constant_pixels(clipped)
    assert constant.any()
    assert not is_drawing(clipped, constant, np.ones(SHAPE, bool))
    halftone = (noise > 0).astype(float)
    assert is_drawing(halftone, constant_pixels(halftone), np.ones(SHAPE, bool))


@pytest.mark.parametrize("sigma", [2, 6, 20])
def test_noise_is_measured_on_clipped_paper(sigma):
    """The fewest pixels are clipped in the text, but it is not noise."""
    y, x = np.mgrid[:240, :240]
    page = np.where((y % 24 < 9) & (x % 7 < 3) & (x // 30 % 2 == 0), 20.0, 255.0)
    noisy = page + np.random.default_rng(20).normal(0, sigma, page.shape)
    noisy = np.clip(noisy.round(), 0, 255)[..., None]
    black, white = clipped_pixels(noisy, None)
    found = measure(noisy[..., 0], ~white[0], black)[0]
    assert 0.4 * sigma < np.sqrt(found.typical_white[0]) < 1.1 * sigma


def test_masked_pixels_are_not_limits_of_clipping():
    image = filtered(KERNELS["white"], (40, 50, 1), 15)
    valid = np.random.default_rng(16).random((40, 50)) < 0.7
    image[~valid] = 1e9
    assert [np.sum(own & valid) for own in clipped_pixels(image, valid)] == [1, 1]


def test_unusable_areas_do_not_matter():
    noise = filtered(KERNELS["binomial"], SHAPE, 17)
    usable = np.ones(SHAPE, bool)
    usable[:, 150:] = False
    usable[40:80, 40:80] = False
    found = measure(noise, usable)[0]
    other = measure(np.where(usable, noise, noise + 1e3 * filtered(ONE, SHAPE, 18)), usable)[0]
    np.testing.assert_allclose(other.typical, found.typical, rtol=0.2)
    np.testing.assert_allclose(found.typical, measure(noise)[0].typical, rtol=0.25)


def test_no_usable_pixels():
    assert measure(TEXTURED, np.zeros(TEXTURED.shape, bool)) == []
