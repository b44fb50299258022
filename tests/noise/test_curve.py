"""The noise curve from a picture alone: how near it comes, and what it does not take for noise."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import nnk_image
from nnk_image.noise.curve import noise_curve

SET12 = sorted((Path(__file__).parents[3] / "shared" / "images" / "set12").glob("*.png"))
CLEAN = nnk_image.standard_image("camera").astype(float)


def noisy(clean, gain, read, seed=0):
    rng = np.random.default_rng(seed)
    counts = gain * rng.poisson(clean / gain) if gain else clean
    return counts + rng.normal(0, 1, clean.shape) * read


def level_error(curve, clean, gain, read):
    """Mean relative error of the standard deviation of the noise, over all pixels."""
    truth = gain * clean + read**2
    lit = truth > 0
    return np.mean(np.abs(np.sqrt(curve.at(clean)[lit] / truth[lit]) - 1))


@pytest.mark.parametrize("peak", [1, 4, 30])
def test_counts_of_light(peak):
    curve = noise_curve(noisy(CLEAN * peak / 255, 1, 0, peak))
    assert curve.gain == pytest.approx(1, rel=0.06)
    assert curve.variance == 0
    assert 0 < curve.gain_error < 0.1


@pytest.mark.parametrize(("gain", "read"), [(1, 5), (4, 10), (12, 12)])
def test_gain_and_read_noise(gain, read):
    curve = noise_curve(noisy(CLEAN, gain, read))
    assert curve.signal_dependent
    assert curve.gain == pytest.approx(gain, rel=0.16)
    assert level_error(curve, CLEAN, gain, read) < 0.06
    clipped = np.clip(np.round(noisy(CLEAN, gain, read)), 0, 255)
    assert level_error(noise_curve(clipped), CLEAN, gain, read) < 0.1


@pytest.mark.parametrize("sigma", [10, 50])
def test_white_noise_is_constant(sigma):
    curve = noise_curve(noisy(CLEAN, 0, sigma))
    assert not curve.signal_dependent
    assert curve.gain == curve.gain_error == 0
    assert np.sqrt(curve.variance) == pytest.approx(sigma, rel=0.05)


@pytest.mark.slow
@pytest.mark.skipif(not SET12, reason="Set12 is not here")
def test_set12():
    gains, levels = [], []
    for i, path in enumerate(SET12):
        with Image.open(path) as file:
            clean = np.asarray(file).astype(float)
        gains.append(noise_curve(noisy(clean * 10 / clean.max(), 1, 0, i)).gain)
        levels.append(level_error(noise_curve(noisy(clean, 4, 10, i)), clean, 4, 10))
        assert not noise_curve(noisy(clean, 0, 15, i)).signal_dependent
    assert np.mean(gains) == pytest.approx(1, rel=0.03)
    assert np.max(np.abs(np.array(gains) - 1)) < 0.08
    assert np.mean(levels) < 0.03


def test_equivariance():
    image = noisy(CLEAN, 4, 10)
    curve, scaled = noise_curve(image), noise_curve(image * 1e-3)
    assert scaled.gain == pytest.approx(curve.gain * 1e-3, rel=1e-6)
    assert scaled.variance == pytest.approx(curve.variance * 1e-6, rel=1e-6)
    np.testing.assert_allclose(scaled.variances, curve.variances * 1e-6, rtol=1e-6)


def test_mask_leaves_pixels_out():
    image = noisy(CLEAN, 4, 10)
    valid = np.ones(image.shape, bool)
    valid[50:90, 60:120] = False
    image[~valid] = np.nan
    assert level_error(noise_curve(image, valid), CLEAN, 4, 10) < 0.05


def test_too_little_to_tell():
    assert noise_curve(np.zeros((40, 40))) is None
    assert noise_curve(np.random.default_rng(0).random((7, 90))) is None
    assert noise_curve(np.random.default_rng(0).random((20, 20))) is None
    valid = np.zeros((50, 50), bool)
    assert noise_curve(np.ones((50, 50)), valid) is None


def test_rounding_is_no_noise():
    """Most bins of a black and white picture in JPEG have no noise at all."""
    stored = io.BytesIO()
    Image.fromarray(nnk_image.standard_image("horse")).save(stored, "JPEG", quality=90)
    assert not any(nnk_image.estimate_noise(np.asarray(Image.open(stored))).gain)


def test_an_image_without_noise():
    curve = noise_curve(np.tile(np.linspace(0, 255, 200), (100, 1)))
    assert curve.gain == 0
    assert curve.variance < 1e-6
