"""Images without noise: none is found, or next to none is removed."""

import numpy as np
import pytest
from noises import skimage_picture
from pictures import axis_of, rms

import nnk_image
from nnk_image import denoise, estimate_noise

DRAWINGS = "color", "logo", "phantom", "chessboard_GRAY"


@pytest.mark.parametrize(
    "picture", ["clock_motion", "page", "camera", "cell", "text", "coffee", *DRAWINGS]
)
def test_clean_image_hardly_changes(picture):
    clean = skimage_picture(f"{picture}.png").astype(np.uint8)[:256, :256]
    clean = clean[..., :3] if clean.ndim == 3 else clean
    result = denoise(clean, channel_axis=axis_of(clean))
    assert rms(result - clean) < 255 * 10 ** (-42 / 20)


def test_black_and_white_drawing_is_unchanged():
    image = nnk_image.standard_image("horse")
    assert estimate_noise(image).sigma == (0,)
    np.testing.assert_array_equal(denoise(image), image)


def in_channels(image, channels):
    """Return a pattern in grayscale, in three equal channels, or in one channel of three."""
    if channels == "equal":
        return np.repeat(image[..., None], 3, axis=2)
    if channels == "one":
        return np.stack([image, np.zeros_like(image), np.full_like(image, 7)], axis=-1)
    return image


@pytest.mark.parametrize(
    "pattern",
    [
        np.pad([[1.0]], ((50, 49), (50, 49))),
        np.kron(np.random.default_rng(0).random((13, 13)) > 0.5, np.ones((8, 8))),
        np.tril(np.full((90, 100), 200.0)),
        np.tile(np.arange(100.0), (90, 1)),
        np.add.outer(2 * np.arange(90.0), np.arange(100.0)),
        np.tile(np.arange(100) % 2 * 1.0, (90, 1)),
    ],
    ids=["pixel", "squares", "diagonal", "ramp", "slope", "lines"],
)
@pytest.mark.parametrize("channels", ["gray", "equal", "one"])
def test_patterns_without_noise(pattern, channels):
    """Apart from rounding, hardly any noise is found, and nothing is removed."""
    image = in_channels(pattern, channels)
    axis, most = axis_of(image), 1e-3 * np.ptp(pattern)
    for kind in (None, "white", "correlated", "poisson"):
        model = estimate_noise(image, channel_axis=axis, kind=kind)
        assert max(model.sigma) < most
        assert not any([*model.gain, model.rows, model.columns])
    np.testing.assert_allclose(denoise(image, channel_axis=axis), image, rtol=0, atol=1e-12)


@pytest.mark.parametrize("channels", ["gray", "equal", "one"])
def test_column_noise_alone(channels):
    noisy = np.tile(np.random.default_rng(0).normal(0, 10, 100), (90, 1))
    image = in_channels(noisy, channels)
    axis = axis_of(image)
    for kind in (None, "white", "correlated", "poisson"):
        model = estimate_noise(image, channel_axis=axis, kind=kind)
        assert model.columns == pytest.approx(10, rel=0.15)
        assert max(*model.sigma, model.rows) < 0.01
    left = []
    for seed in range(6):
        noisy = np.tile(np.random.default_rng(seed).normal(0, 10, 100), (90, 1))
        denoised = np.atleast_3d(denoise(in_channels(noisy, channels), channel_axis=axis))
        left.append(rms(denoised[..., 0] - noisy.mean()) / rms(noisy))
    assert np.mean(left) < 0.25


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (300, 1), (2, 2), (64, 64, 1)])
def test_constant_images_of_any_size_are_returned_unchanged(shape):
    image = np.full(shape, 5.0)
    assert estimate_noise(image).sigma == (0,)
    assert not any(estimate_noise(np.stack([image] * 3), channel_axis=0).sigma)
    np.testing.assert_array_equal(nnk_image.denoise(image), image)
    check = nnk_image.check_residual(image, image)
    assert np.isnan([check.structure, check.kurtosis, check.periodicity]).all()
    assert check.is_noise
