"""Tests of the features that distinguish noise from texture."""

import numpy as np
import pytest
from noises import KERNELS, filtered, skimage_picture

from nnk_image import denoise
from nnk_image.base.image import check_image
from nnk_image.noise.estimation import measure_scales
from nnk_image.noise.trust import MOST_TRUST, features, trust_in_correlation

SHAPE = 256, 256
STRENGTH = np.exp(2 * filtered(np.ones((24, 24)) / 24, SHAPE, 1))
TEXTURE = {n: 100 + 10 * STRENGTH * filtered(kernel, SHAPE, 2) for n, kernel in KERNELS.items()}
"""Textures that are strong in some places and weak in others, as in photographs."""


def trust_in(image):
    return trust_in_correlation(measure_scales(check_image(image)))


@pytest.mark.parametrize("name", KERNELS)
def test_texture_of_varying_strength_is_kept(name):
    """Denoising removes little of it: the trust is small, or the check of the result fails."""
    change = denoise(TEXTURE[name]) - TEXTURE[name]
    assert np.std(change) < 0.03 * np.std(TEXTURE[name])


@pytest.mark.parametrize("channels", [2, 3, 4])
def test_only_three_channels_have_a_third_color(channels):
    """Independent fields in two channels, such as velocities, are no colored noise."""
    fields = np.stack([filtered(KERNELS["wide along rows"], SHAPE, i) for i in range(channels)], -1)
    color = features(measure_scales(check_image(fields, -1)))[3]
    assert (color > 1) == (channels == 3)
    assert (color == 0) == (channels != 3)


def test_texture_of_two_colors_has_no_third():
    """Two fields in three channels, as of a section with two stains, are texture."""
    fields = [filtered(KERNELS["wide along rows"], SHAPE, i) for i in range(2)]
    image = np.einsum("kyx,kc->yxc", fields, [[0.65, 0.70, 0.29], [0.27, 0.57, 0.78]])
    assert features(measure_scales(check_image(image, -1)))[3] < -0.9


def test_gray_texture_in_bright_places_does_not_hide_the_noise_of_dark_ones():
    noise = np.stack([filtered(KERNELS["binomial"], SHAPE, i) for i in range(3)], axis=-1)
    image = 50 + 10 * noise
    image[:, 128:] = 150 + 4 * TEXTURE["binomial"][:, 128:, None]
    assert features(measure_scales(check_image(image, -1)))[3] > 0.5


def test_noise_behind_a_color_matrix_is_noise():
    """Its channels are negatively correlated, so that the luminance has less of it than they."""
    noise = np.stack([filtered(KERNELS["binomial"], SHAPE, i) for i in range(3)], axis=-1)
    noise += 0.4 * np.random.default_rng(5).normal(size=noise.shape)
    matrix = np.full((3, 3), -0.6) + 2.8 * np.eye(3)  # rows with sum 1, as of a camera
    scene = 0.5 * skimage_picture("clock_motion.png")[:256, :256, None] + np.array([60, 50, 40])
    scales = measure_scales(check_image(scene + 10 * noise @ matrix, -1))
    assert trust_in_correlation(scales) > MOST_TRUST / 2


@pytest.mark.parametrize("name", ["clock_motion.png", "moon.png", "camera.png"])
def test_trust_in_photographs(name):
    """The trust is high for correlated noise and low for white noise."""
    clean = skimage_picture(name)[:256, :256]
    found = [trust_in(clean + 20 * filtered(KERNELS[k], SHAPE, 3)) for k in ("binomial", "white")]
    assert found[0] > 0.6 * MOST_TRUST
    assert found[1] < 0.25 * MOST_TRUST
