"""Tests of the denoising pipeline: standardize the noise, apply a method, transform back."""

from dataclasses import replace

import numpy as np
import pytest

from nnk_image import NoiseModel
from nnk_image.base.image import check_image
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising.methods import METHODS
from nnk_image.denoising.pipeline import Options, denoise_pixels, plan
from nnk_image.denoising.statistics import Statistics

PIXELS = np.random.default_rng(23).random((20, 24, 3)) * 200 + 30


def given_to_the_method(image, noise, monkeypatch):
    """Return the unit image and unit noise that a method gets, and the pixels transformed back."""
    seen = []

    def run(part, unit_noise, *_):
        seen.append((part, unit_noise))
        return part.pixels

    monkeypatch.setitem(METHODS, "fast", replace(METHODS["fast"], denoise=run))
    steps = plan(image, noise, Options("fast"), Statistics.of(image, noise))
    with RowExecutor() as executor:
        pixels = denoise_pixels(image, noise, steps, executor)
    return *seen[0], pixels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit", [1.0, 0.01])
def test_inverse_of_standardizing_restores_the_image(dtype, unit, monkeypatch):
    image = check_image(PIXELS.astype(dtype), -1, None)
    sigmas = unit * np.array([10, 12, 15])
    noise = NoiseModel(sigmas).for_channels(3)
    part, unit_noise, pixels = given_to_the_method(image, noise, monkeypatch)
    assert unit_noise.is_white
    assert unit_noise.variances is None
    assert part.dtype == part.pixels.dtype == (np.float32 if unit == 1 else np.float64)
    center = (image.low + image.high) / 2
    eps = max(np.finfo(own).eps for own in (dtype, part.dtype))
    expected = (PIXELS - center) / sigmas
    np.testing.assert_allclose(part.pixels, expected, atol=200 * eps / unit)
    assert part.high == -part.low == pytest.approx(np.ptp(PIXELS) / (20 * unit))
    assert part.low <= part.pixels.min() < part.pixels.max() <= part.high
    assert pixels.dtype == dtype
    np.testing.assert_allclose(pixels, image.pixels, rtol=0, atol=200 * eps)
