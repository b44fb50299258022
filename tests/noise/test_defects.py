"""Tests of leaving out isolated pixels, such as hot ones, and pixels without data."""

import numpy as np
import pytest
from noises import skimage_picture
from scipy.ndimage import generic_filter

from nnk_image import denoise, estimate_noise, standard_image
from nnk_image.base.image import check_image
from nnk_image.noise.defects import without_defects, without_isolated_pixels

SHAPES = [((64, 80), None), ((64, 80, 3), -1), ((3, 64, 80), 0), ((4, 64, 80), None)]
"""Shapes of images and the axis of their channels."""


def noise_with_defects(shape, axis, value, seed=0):
    """Return white noise, and the places of pixels that have a value of their own."""
    rng = np.random.default_rng(seed)
    image = rng.normal(100, 5, shape)
    places = np.zeros(np.delete(shape, axis) if axis is not None else shape, bool)
    places[..., 3::9, 5::9] = True
    np.moveaxis(image, -1 if axis is None else axis, -1)[places] = value
    return image, places


@pytest.mark.parametrize("value", [400, -200])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_hot_and_dead_pixels_are_left_out(shape, axis, value):
    image, places = noise_with_defects(shape, axis, value)
    checked = without_isolated_pixels(check_image(image, axis))
    np.testing.assert_array_equal(checked.valid, ~places)
    assert 60 < checked.low < checked.high < 140


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_without_isolated_pixels_nothing_changes(shape, axis):
    image = check_image(np.random.default_rng(1).normal(0, 1, shape), axis)
    assert without_isolated_pixels(image) is image


def test_slices_of_a_volume_may_be_masked_or_constant():
    image, places = noise_with_defects((4, 64, 80), None, 400)
    image[0], image[1] = np.nan, 7
    mask = np.isfinite(image)
    expected = mask & ~places
    expected[1] = True
    checked = without_isolated_pixels(check_image(image, None, mask))
    np.testing.assert_array_equal(checked.valid, expected)


def test_definition():
    """Two and a half times the range of the neighbors, or the upper quartile of the ranges."""
    rng = np.random.default_rng(3)
    image = rng.normal(0, 1, (60, 70)) + 30 * (rng.random((60, 70)) < 0.005)
    around = np.ones((3, 3), bool)
    around[1, 1] = False
    high, low = (generic_filter(image, of, footprint=around, mode="mirror") for of in (max, min))
    bound = 2.5 * np.maximum(high - low, np.quantile(high - low, 0.75))
    expected = (image > high + bound) | (image < low - bound)
    assert 5 < np.count_nonzero(expected) < 100
    np.testing.assert_array_equal(without_isolated_pixels(check_image(image)).valid, ~expected)


@pytest.mark.parametrize("name", ["camera", "coffee", "hopper"])
def test_a_single_hot_pixel_of_a_photograph_is_left_out(name):
    image = standard_image(name)[:200, :200].astype(float)
    image += np.random.default_rng(4).normal(0, 10, image.shape)
    image[100, 100] = 2000
    denoised = denoise(image, channel_axis=-1 if image.ndim == 3 else None)
    np.testing.assert_allclose(denoised[100, 100], 2000)


def test_they_are_returned_unchanged_and_do_not_count():
    image, places = noise_with_defects((128, 128), None, 250)
    denoised = denoise(image)
    np.testing.assert_array_equal(denoised[places], 250)
    assert np.std(denoised[~places]) < 1
    assert estimate_noise(image).sigma[0] == pytest.approx(5, rel=0.1)


@pytest.mark.parametrize(("name", "photons"), [("hubble_deep_field.jpg", 3), ("coins.png", 0.5)])
def test_multiplied_photons_are_no_defects(name, photons):
    """As those of an EMCCD, whose noise has a long tail."""
    light, rng = skimage_picture(name)[:256, :256] / 255.0, np.random.default_rng(51)
    light = photons * (light.mean(axis=-1) if light.ndim == 3 else light)
    electrons = rng.poisson(light)
    noisy = 100 + rng.gamma(np.maximum(electrons, 1e-9), 25) * (electrons > 0)
    noisy = np.rint(noisy + rng.normal(0, 5, light.shape))
    checked = check_image(noisy)
    assert without_isolated_pixels(checked) is checked


# --- pixels without data -----------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -9999, 65535, 3e38])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_pixels_without_data_are_left_out(shape, axis, value):
    image = np.random.default_rng(5).normal(100, 5, shape).astype(np.float32)
    pixels = image if axis is None else np.moveaxis(image, axis, -1)
    valid = np.full(np.delete(shape, axis) if axis is not None else shape, True)
    valid[..., :7] = valid[..., 20:22, :] = False
    pixels[~valid] = value
    checked = without_defects(check_image(image, axis))
    np.testing.assert_array_equal(checked.valid, valid)
    assert 60 < checked.low < checked.high < 140


def test_uncovered_borders_change_nothing_elsewhere():
    rng = np.random.default_rng(6)
    light = 50 * (standard_image("camera")[:160, :160] / 255.0) ** 2
    image = np.rint(100 + 2 * rng.poisson(light) + rng.normal(0, 3, light.shape)).astype(np.uint16)
    valid = np.pad(np.full((145, 150), True), ((6, 9), (10, 0)))
    image[~valid] = 0
    denoised = denoise(image)
    np.testing.assert_array_equal(denoised, denoise(image, mask=valid))
    np.testing.assert_array_equal(denoised[~valid], 0)
    assert estimate_noise(image).gain[0] == pytest.approx(2, rel=0.2)


@pytest.mark.parametrize("values", [np.uint8, np.float32])
@pytest.mark.parametrize("sigma", [2, 20, 60])
def test_clipped_values_are_data(values, sigma):
    """At a limit at which noise is clipped there is no gap."""
    clean = 1.4 * standard_image("camera").astype(float) - 50
    image = (clean + np.random.default_rng(7).normal(0, sigma, clean.shape)).clip(0, 255)
    checked = check_image(np.rint(image).astype(values) if values is np.uint8 else image)
    assert without_defects(checked) is without_isolated_pixels(checked) is checked


@pytest.mark.parametrize("gain", [1, 37])
@pytest.mark.parametrize("peak", [0.003, 0.03, 0.3, 3, 30, 300])
def test_counts_are_data(peak, gain):
    """Neither darkness nor single photons are defects."""
    image = gain * np.random.default_rng(8).poisson(peak / 255.0 * standard_image("camera"))
    checked = check_image(image)
    assert without_defects(checked) is checked


@pytest.mark.parametrize("shape", [(64, 64, 3), (64, 64, 1), (6, 64, 64, 3)])
def test_narrow_volumes_may_have_pixels_without_data(shape):
    rng = np.random.default_rng(0)
    image = np.where(rng.random(shape) < 0.1, 0, rng.normal(100, 5, shape))
    assert estimate_noise(image, spacing=1).sigma[0] == pytest.approx(5, rel=0.15)


def test_masked_values_do_not_decide_whether_values_are_counts():
    rng = np.random.default_rng(1)
    counts = rng.poisson(2, (160, 170)) / rng.uniform(1, 1.1, (160, 170))
    valid = rng.random(counts.shape) > 0.03
    noise, *others = (
        estimate_noise(np.where(valid, counts, value), mask=valid) for value in (np.nan, 0, 1e200)
    )
    assert noise.gain[0] == pytest.approx(0.95, abs=0.05)
    assert all(other == noise for other in others)


def test_points_of_light_in_the_dark_are_data():
    """In an image of counts, a pixel may have some photons of a star, and its neighbors none."""
    light = np.full((128, 128), 0.03)
    light[10::24, 10::24] = 6
    checked = check_image(np.random.default_rng(9).poisson(light))
    assert without_isolated_pixels(checked) is checked


def test_two_values_are_data():
    checked = check_image(255 * (standard_image("camera") > 100).astype(np.uint8))
    assert without_defects(checked) is checked
