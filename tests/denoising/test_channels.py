"""Tests of redundant channels: gray images stored in color, a single stain, alpha."""

import numpy as np
import pytest

from nnk_image import NoiseModel, denoise, denoise_tiles, estimate_noise, standard_image

KINDS = ["white", "poisson", "correlated", "speckle"]


def noisy(kind):
    """Return the camera image with noise of the given kind."""
    rng = np.random.default_rng(3)
    clean = standard_image("camera").astype(float)
    noise = rng.normal(0, 10, (257, 257))
    if kind == "poisson":
        return 3.0 * rng.poisson(clean / 3)
    if kind == "correlated":
        return clean + (noise[1:, 1:] + noise[1:, :-1] + noise[:-1, 1:] + noise[:-1, :-1]) / 2
    return clean + noise[1:, 1:] * (clean / 100 if kind == "speckle" else 1)


def stored(gray, how):
    """Return a gray image stored in several channels, and the number of a channel with it."""
    full, zero = np.full(gray.shape, 255.0), np.zeros(gray.shape)
    channels = {
        "gray": (gray, gray, gray),
        "green": (zero, gray, zero),
        "gray and alpha": (gray, full),
        "gray, RGBA": (gray, gray, gray, full),
    }[how]
    return np.stack(channels, axis=-1), [c is gray for c in channels].index(True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["gray", "green", "gray and alpha", "gray, RGBA"])
def test_gray_image_stored_in_color_is_denoised_as_gray(kind, how):
    gray = noisy(kind)
    color, place = stored(gray, how)
    expected = denoise(gray)
    result = denoise(color, channel_axis=-1)
    np.testing.assert_allclose(result[..., place], expected, atol=0.05 * np.std(gray - expected))
    for channel in range(color.shape[-1]):
        same = result[..., place] if color[0, 0, channel] == gray[0, 0] else color[..., channel]
        np.testing.assert_array_equal(result[..., channel], same)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_estimate_is_that_of_the_gray_image(kind):
    gray = noisy(kind)
    model = estimate_noise(stored(gray, "green")[0], channel_axis=-1)
    expected = estimate_noise(gray)
    for name in ("sigma", "gain", "offset"):
        (value,) = getattr(expected, name)
        assert getattr(model, name) == pytest.approx((0.0, value, 0.0))
    assert (model.curve is None) == (expected.curve is None)
    if model.curve is not None:  # the brightness is the mean of the three channels
        np.testing.assert_allclose(3 * model.curve[0], expected.curve[0])


@pytest.mark.parametrize("method", ["fast", "sgw"])
@pytest.mark.parametrize("model", [10, NoiseModel(gain=3.0), NoiseModel(10, rows=4.0)])
def test_gray_image_stored_in_color_with_given_noise(method, model):
    gray = noisy("white")
    color, place = stored(gray, "gray, RGBA")
    result = denoise(color, model, method=method, channel_axis=-1)[..., place]
    np.testing.assert_allclose(result, denoise(gray, model, method=method), atol=1e-2)


def test_equal_channels_with_different_given_noise_stay_separate():
    color, _ = stored(noisy("white"), "gray")
    result = denoise(color, (10, 10, 0), channel_axis=-1)
    np.testing.assert_array_equal(result[..., 2], color[..., 2])
    np.testing.assert_array_equal(
        denoise(color, (10, 0, 10), channel_axis=-1)[..., 1], color[..., 1]
    )


def test_tiles_equal_the_whole_image():
    """Channels may be constant or equal in some tiles but not in the whole image."""
    gray = noisy("white")
    color, _ = stored(gray, "gray")
    color[:100, :, 2] = 0
    color[:, 150:, 1] += 1
    color[:, :, 0] = 128
    for image in (color, stored(gray, "gray, RGBA")[0]):
        result = np.empty_like(image)
        denoise_tiles(image, result, 10, method="sgw", channel_axis=-1, max_memory="20MiB")
        expected = denoise(image, 10, method="sgw", channel_axis=-1)
        np.testing.assert_array_equal(result, expected)
