"""The noise estimator: how near it comes, and what it refuses."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import nnk_image

SET12 = Path(__file__).parents[3] / "shared" / "images" / "set12"


def noisy(name, sigma, seed=0):
    clean = nnk_image.standard_image(name).astype(float)
    return clean + np.random.default_rng(seed).normal(0, sigma, clean.shape)


@pytest.mark.parametrize("quality", [None, 90])
@pytest.mark.parametrize("name", ["gravel", "grass"])
def test_what_is_all_texture_is_not_smeared(name, quality):
    image = nnk_image.standard_image(name)
    if quality:
        stored = io.BytesIO()
        Image.fromarray(image).save(stored, "JPEG", quality=quality)
        image = np.asarray(Image.open(stored))
    assert nnk_image.estimate_noise(image).sigma[0] < 4
    change = nnk_image.denoise(image) - image
    assert 10 * np.log10(255**2 / np.mean(change**2)) > 43


@pytest.mark.parametrize("sigma", [0.1, 1, 30])
def test_pure_noise(sigma):
    image = np.random.default_rng(2).normal(100, sigma, (200, 200))
    assert nnk_image.estimate_sigma(image) == pytest.approx(sigma, rel=0.02)


@pytest.mark.parametrize("sigma", [5, 10, 25, 50])
def test_photographs(sigma):
    for name in ("camera", "astronaut_grey", "coffee_grey", "chelsea_grey"):
        assert nnk_image.estimate_sigma(noisy(name, sigma)) == pytest.approx(sigma, rel=0.12)


@pytest.mark.slow
@pytest.mark.skipif(not SET12.is_dir(), reason="the Set12 images are not here")
@pytest.mark.parametrize("sigma", [5, 10, 15, 25, 50])
def test_set12(sigma):
    errors = []
    for i, path in enumerate(sorted(SET12.glob("*.png"))):
        with Image.open(path) as file:
            clean = np.asarray(file).astype(float)
        image = clean + np.random.default_rng([i, sigma]).normal(0, sigma, clean.shape)
        errors.append(abs(nnk_image.estimate_sigma(image) / sigma - 1))
    assert np.mean(errors) <= 0.05


def test_equivariance():
    image = noisy("camera", 20)
    sigma = nnk_image.estimate_sigma(image)
    assert nnk_image.estimate_sigma(image * 1e-9 + 5) == pytest.approx(sigma * 1e-9, rel=1e-4)
    assert nnk_image.estimate_sigma(image * 1e200) == pytest.approx(sigma * 1e200, rel=1e-9)


def test_channels():
    clean = nnk_image.standard_image("chelsea").astype(float)
    levels = np.array([8.0, 16.0, 24.0])
    image = clean + np.random.default_rng(3).normal(0, 1, clean.shape) * levels
    estimates = nnk_image.estimate_sigma(image, channel_axis=-1, per_channel=True)
    np.testing.assert_allclose(estimates, levels, rtol=0.1)
    mean = nnk_image.estimate_sigma(np.moveaxis(image, -1, 0), channel_axis=0)
    assert mean == pytest.approx(estimates.mean())


def test_mask_leaves_pixels_out():
    image = noisy("camera", 20)
    mask = np.ones(image.shape, bool)
    mask[50:90, 60:120] = False
    image[~mask] = np.nan
    assert nnk_image.estimate_sigma(image, mask=mask) == pytest.approx(20, rel=0.05)


def test_large_images_are_thinned_out():
    image = np.random.default_rng(4).normal(0, 7, (1500, 1400)).astype(np.float32)
    assert nnk_image.estimate_sigma(image) == pytest.approx(7, rel=0.02)


def test_constant_is_zero():
    assert nnk_image.estimate_sigma(np.full((3, 3), 7)) == 0


def test_too_small():
    with pytest.raises(ValueError, match=r"7x20 pixels .* pass sigma="):
        nnk_image.estimate_sigma(np.random.default_rng(0).random((7, 20)))


def test_mask_without_a_whole_patch():
    mask = np.zeros((30, 30), bool)
    mask[::3] = True
    with pytest.raises(ValueError, match="no whole patch"):
        nnk_image.estimate_sigma(np.random.default_rng(0).random((30, 30)), mask=mask)


@pytest.mark.parametrize("shape", [(20, 24, 3), (9, 10, 11, 2)])
def test_the_layout_of_colours_does_not_matter(shape):
    image = np.random.default_rng(2).normal(100, 20, shape).astype(np.float32)
    expected = repr(nnk_image.estimate_noise(image, channel_axis=-1))
    sigma = nnk_image.estimate_sigma(image, channel_axis=-1, per_channel=True)
    assert sigma.min() > 0
    for other in (np.asfortranarray(image), np.flip(np.flip(image).copy())):
        assert repr(nnk_image.estimate_noise(other, channel_axis=-1)) == expected
        found = nnk_image.estimate_sigma(other, channel_axis=-1, per_channel=True)
        np.testing.assert_array_equal(found, sigma)
