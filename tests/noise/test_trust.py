"""Tests of the features that distinguish noise from texture."""

import numpy as np
import pytest
from noises import KERNELS, filtered, skimage_picture

from nnk_image import denoise
from nnk_image.base.image import check_image
from nnk_image.noise.estimation import measure_scales
from nnk_image.noise.trust import MOST, factor, features

SHAPE = 256, 256
NOISE = {name: 100 + 10 * filtered(kernel, SHAPE, 1) for name, kernel in KERNELS.items()}
STRENGTH = np.exp(2 * filtered(np.ones((24, 24)) / 24, SHAPE, 1))
TEXTURE = {name: 100 + 10 * STRENGTH * filtered(KERNELS[name], SHAPE, 2) for name in NOISE}
"""Textures that are strong in some places and weak in others, as in photographs."""


def scales_of(image):
    return measure_scales(check_image(image, -1 if image.ndim == 3 else None))


def factor_of(image):
    return factor(features(scales_of(image)))


@pytest.mark.parametrize("name", KERNELS)
def test_features_of_noise(name):
    share, growth, strong, chroma, turns = features(scales_of(NOISE[name]))
    assert chroma == 0
    assert 0 <= turns < 0.2
    assert growth < 0.8
    assert 0 <= strong < 0.6
    if name == "white":
        assert share < np.log(0.25)
    if name in ("binomial", "wide along rows"):
        assert share > np.log(0.75)


@pytest.mark.parametrize("name", KERNELS)
def test_features_of_texture(name):
    share, growth, strong, _, turns = features(scales_of(TEXTURE[name]))
    assert np.log(0.02) <= share <= 0
    assert 0 <= turns <= 1
    if name != "blue":  # it is weak at half size; its elasticity is checked below
        assert 0.3 < growth <= 2.5
    assert strong >= 0
    assert np.min(scales_of(TEXTURE[name])[0].elasticity) > 0.5


@pytest.mark.parametrize("name", KERNELS)
def test_growth_does_not_depend_on_the_size_of_the_image(name):
    small = features(scales_of(NOISE[name][:64, :64]))[1]
    assert small == pytest.approx(features(scales_of(NOISE[name]))[1], abs=0.1)
    assert features(scales_of(TEXTURE[name][:64, :64]))[1] > small + 0.2


def test_channels_share_texture_but_not_noise():
    """The chroma of independent noise is as strong as its luminance; a gray image has none.

    At half and at a quarter of the size, it is 1 / 0.22 times the typical ratio. In a color image
    without chroma noise, it has its lowest value. An image of one channel counts as typical.
    """
    channels = [100 + 10 * filtered(KERNELS["binomial"], SHAPE, seed) for seed in range(3)]
    shared = channels[0][..., None]
    weak = shared + 0.1 * (np.stack(channels, axis=-1) - 100)
    found = [features(scales_of(image))[3] for image in (np.stack(channels, axis=-1), weak)]
    assert found[0] == pytest.approx(2 * np.log(1 / 0.22), abs=0.3)
    assert found[1] <= 0
    assert features(scales_of(np.repeat(shared, 3, axis=2)))[3] == -1.5
    assert features(scales_of(channels[0]))[3] == 0


@pytest.mark.parametrize("name", ["binomial", "wide along rows"])
def test_factor_of_correlated_noise(name):
    assert factor_of(NOISE[name]) > 0.5 * MOST


def test_factor_of_white_noise():
    assert factor_of(NOISE["white"]) < 0.01 * MOST


def test_directions_of_texture_that_change_with_the_brightness():
    """Noise that is wide along rows is wide in the dark too; texture may be wide along columns."""
    wide = filtered(KERNELS["wide along rows"], SHAPE, 5)
    halves = np.vstack([60 + 10 * wide[:128], 180 + 10 * wide.T[:128]])
    same = np.vstack([60 + 10 * wide[:128], 180 + 10 * wide[128:]])
    found, usual = (features(scales_of(image)) for image in (halves, same))
    assert usual[4] < 0.2
    assert found[4] > 0.5
    assert factor(found) < factor(usual)


@pytest.mark.parametrize("name", KERNELS)
def test_texture_of_varying_strength_is_kept(name):
    """Denoising removes little of it: the factor is small, or the check of the result fails."""
    change = denoise(TEXTURE[name]) - TEXTURE[name]
    assert np.std(change) < 0.03 * np.std(TEXTURE[name])


@pytest.mark.parametrize("name", ["clock_motion.png", "moon.png", "camera.png"])
def test_factor_in_photographs(name):
    """The factor is high for correlated noise and low for white noise."""
    clean = skimage_picture(name)[:256, :256]
    found = [factor_of(clean + 20 * filtered(KERNELS[k], SHAPE, 3)) for k in ("binomial", "white")]
    assert found[0] > 0.6 * MOST
    assert found[1] < 0.25 * MOST


def test_texture_keeps_the_factor_low():
    found = [factor_of(skimage_picture(n)[:256, :256]) for n in ("grass.png", "gravel.png")]
    assert max(found) < 0.1 * MOST


@pytest.mark.parametrize("image", [NOISE["mild"], TEXTURE["mild"]], ids=["noise", "texture"])
def test_units_do_not_matter(image):
    expected = features(scales_of(image))
    for other in (image * 2.0**-30, image * 1e6 - 3e7, image.T):
        np.testing.assert_allclose(features(scales_of(other)), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(8, 8), (8, 90), (70, 64)])
def test_features_of_small_images(shape):
    found = features(scales_of(filtered(KERNELS["binomial"], shape, 4)))
    assert found.shape == (5,)
    assert np.all(np.isfinite(found))
    assert 0 <= factor(found) <= MOST


def test_factor_of_many_images_at_once():
    found = np.array([features(scales_of(image)) for image in NOISE.values()])
    expected = [factor(one) for one in found]
    np.testing.assert_allclose(factor(found), expected)
    extremes = np.array([[-3.9, 0, 0, 0, 0], [0, 2.5, 3, -1, 1], [0, 0, 0, 0, 0]])
    assert np.all((factor(extremes) >= 0) & (factor(extremes) <= MOST))
    assert factor(extremes)[2] > 0.8 * MOST
    assert np.all(factor(extremes)[:2] < 0.2 * MOST)
