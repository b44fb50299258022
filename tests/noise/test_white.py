"""Tests of the parts of white noise: independent, shared by the channels, and possible texture."""

import numpy as np
import pytest
from noises import KERNELS, filtered, skimage_picture

from nnk_image import estimate_noise
from nnk_image.base.image import check_image
from nnk_image.noise.estimation import measure_scales
from nnk_image.noise.white import independent_white, possible_texture, shared_white

SHAPE = 256, 256


def scale_and_unit(image):
    """Return the `Scale` of an image at full size, and the variance in its units."""
    checked = check_image(image, -1 if image.ndim == 3 else None)
    return measure_scales(checked)[0], checked.half_range**2


def white_channels(levels, seed=0, shape=SHAPE):
    return levels * np.random.default_rng(seed).standard_normal((*shape, len(levels)))


@pytest.mark.parametrize("channels", [2, 3, 5])
@pytest.mark.parametrize("shared", [0, 6])
def test_noise_in_all_channels_is_separated_from_that_of_each(channels, shared):
    image = 100 + white_channels([3.0] * channels) + white_channels([shared], 1)
    scale, unit = scale_and_unit(image)
    tolerance = 0.1 * (shared**2 + 9)
    assert unit * shared_white(scale) == pytest.approx(shared**2, abs=tolerance)
    np.testing.assert_allclose(unit * independent_white(scale), 9, atol=tolerance)
    assert unit * np.max(possible_texture(scale)) < tolerance


@pytest.mark.parametrize("levels", [(2, 8, 4), (1, 1, 12)])
def test_independent_noise_of_unequal_channels_is_not_texture(levels):
    found = estimate_noise(100 + white_channels(levels), channel_axis=-1)
    np.testing.assert_allclose(found.sigma, levels, rtol=0.08)
    assert found.correlation is None


@pytest.mark.parametrize("tint", [(1, 0.9, 0.3), (0.2, 1, 0.6), (0.6, 0.3, 1)])
@pytest.mark.parametrize("sigma", [0.5, 4])
def test_tinted_texture_is_not_taken_for_noise(tint, sigma):
    texture = skimage_picture("gravel.png")[200:456, 200:456, None] * tint
    found = estimate_noise(texture + white_channels([sigma] * 3), channel_axis=-1)
    assert max(found.sigma) < sigma + 3


def test_all_white_noise_of_a_gray_image_may_be_texture():
    scale, _ = scale_and_unit(100 + white_channels([5])[..., 0])
    np.testing.assert_array_equal(possible_texture(scale), scale.typical_white)
    assert shared_white(scale) == 0


def test_filtered_white_noise_is_hardly_taken_for_texture():
    for kernel in KERNELS.values():
        noise = 100 + 10 * filtered(kernel, SHAPE, 1)
        share = scale_and_unit(noise)[0].noise_share
        assert share > 0.7
        assert scale_and_unit(noise * 1e6 - 3e7)[0].noise_share == pytest.approx(share)


@pytest.mark.parametrize("name", ["grass.png", "gravel.png"])
@pytest.mark.parametrize("sigma", [0, 3, 6, 12])
def test_share_of_noise_in_texture(name, sigma):
    scale, unit = scale_and_unit(
        skimage_picture(name) + white_channels([sigma], 0, (512, 512))[..., 0]
    )
    true = sigma**2 / (unit * scale.typical_white[0])
    assert scale.noise_share == pytest.approx(true, abs=0.25)
