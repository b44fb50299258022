"""Tests of `correct_bias`, for the bias of clipping and tone curves in denoised images."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.ndimage import gaussian_filter
from scipy.stats import norm

from nnk_image import correct_bias, denoise, estimate_noise, standard_image
from nnk_image.denoising.bias import GAMMA, _table


def photograph_of(clean, seed):
    """Simulate a photograph in dim light: add correlated noise, then apply a tone curve."""
    noise = np.random.default_rng(seed).normal(size=clean.shape)
    noise = gaussian_filter(noise, (0.7, 0.7, 0)[: clean.ndim])
    light = (clean / 255) ** GAMMA + 0.05 * noise / noise.std()
    return np.rint(255 * np.clip(light, 0, 1) ** (1 / GAMMA)).astype(np.uint8)


@pytest.fixture(scope="module")
def photo():
    """Return a noisy photograph and the clean scene."""
    clean = 50 + 0.8 * standard_image("coffee").astype(float)
    return photograph_of(clean, 0), clean


def test_denoise_corrects_the_brightness_of_a_photograph(photo):
    noisy, clean = photo
    model = estimate_noise(noisy, channel_axis=-1)
    plain = denoise(noisy, model, channel_axis=-1)
    result = denoise(noisy, channel_axis=-1)
    np.testing.assert_array_equal(result, correct_bias(noisy, plain, channel_axis=-1))
    assert np.mean((result - clean) ** 2) < 0.97 * np.mean((plain - clean) ** 2)
    middle = (clean > 60) & (clean < 200)
    assert abs((result - clean)[middle].mean()) < 0.5 * abs((plain - clean)[middle].mean())


def test_the_mean_of_many_photographs_is_corrected(photo):
    noisy, clean = photo
    mean = np.mean([photograph_of(clean, seed) for seed in range(100)], axis=0)
    corrected = correct_bias(noisy, mean, channel_axis=-1)
    for low in range(60, 240, 30):
        part = (clean >= low) & (clean < low + 30)
        before, after = ((a - clean)[part].mean() for a in (mean, corrected))
        assert abs(after) < 0.3 * abs(before) + 0.1


@pytest.mark.parametrize("sigma", [5, 20])
def test_noise_without_skewness_has_no_bias(sigma):
    clean = standard_image("astronaut").astype(float)
    noise = gaussian_filter(np.random.default_rng(0).normal(size=clean.shape), (0.7, 0.7, 0)) / 0.4
    noisy = clean + sigma * noise
    corrected = correct_bias(noisy - noisy.min(), clean - noisy.min(), channel_axis=-1)
    assert abs(corrected - (clean - noisy.min())).max() < 0.03 * sigma


def test_poisson_counts_are_not_corrected():
    clean = standard_image("camera") / 8.0
    counts = np.random.default_rng(0).poisson(clean)
    np.testing.assert_array_equal(correct_bias(counts, clean), clean)


def test_images_with_negative_values_are_not_corrected():
    clean = np.linspace(120, 200, 200) * np.ones((100, 1))
    noisy = photograph_of(clean, 0)
    assert (correct_bias(noisy, clean) > clean + 0.1).all()
    np.testing.assert_array_equal(correct_bias(noisy - 150.0, clean - 150), clean - 150)


def test_units_and_channel_axis_do_not_matter(photo):
    noisy, clean = photo
    expected = correct_bias(noisy, clean, channel_axis=-1)
    np.testing.assert_allclose(
        correct_bias(noisy * 4.0, clean * 4, channel_axis=-1), 4 * expected, rtol=1e-12
    )
    first = [np.moveaxis(a, -1, 0) for a in (noisy, clean)]
    np.testing.assert_array_equal(
        correct_bias(*first, channel_axis=0), np.moveaxis(expected, -1, 0)
    )


def test_masked_pixels_are_unchanged_and_ignored(photo):
    noisy, clean = (a.astype(float) for a in photo)
    mask = np.ones(noisy.shape[:2], bool)
    mask[:, 100:] = False
    expected = correct_bias(noisy[:, :100], clean[:, :100], channel_axis=-1)
    noisy[~mask] = np.nan
    found = correct_bias(noisy, clean, channel_axis=-1, mask=mask)
    np.testing.assert_array_equal(found[:, :100], expected)
    np.testing.assert_array_equal(found[:, 100:], clean[:, 100:])
    clean[~mask] = np.nan
    found = correct_bias(photo[0], np.ma.masked_invalid(clean), channel_axis=-1)
    np.testing.assert_array_equal(found[:, :100], expected)


def test_noiseless_black_and_huge_images(photo):
    clean = photo[1]
    np.testing.assert_array_equal(correct_bias(clean, clean, channel_axis=-1), clean)
    np.testing.assert_array_equal(correct_bias(np.zeros((9, 9)), np.zeros((9, 9))), 0)
    huge = 1e300 * photo[0]
    assert np.isfinite(correct_bias(huge, 1e300 * clean, channel_axis=-1)).all()


@pytest.mark.parametrize("values", [(150, 250, 255), (0, 5, 105)], ids=["white", "black"])
def test_values_clipped_at_one_end_are_corrected(values):
    clean = np.repeat([*map(float, values)], 60)[None].repeat(100, axis=0)
    noisy = [
        (clean + np.random.default_rng(seed).normal(0, 20, clean.shape)).clip(0, 255)
        for seed in range(40)
    ]
    mean = np.mean(noisy, axis=0)
    corrected = correct_bias(noisy[0], mean)
    for value in values:
        before, after = (abs((a - value)[clean == value].mean()) for a in (mean, corrected))
        assert after < 0.4 * before + 0.2


@pytest.mark.parametrize("gamma", [1, GAMMA])
@pytest.mark.parametrize("light", [0.5, 2.0, 10.0])
def test_table_matches_numerical_integration(gamma, light):
    def moment(power):
        def value(z):
            return (light + z) ** (power / gamma) * norm.pdf(z)

        return quad(value, -light, 12, limit=200)[0]

    mean, square, cube = (moment(power) for power in (1, 2, 3))
    deviation = np.sqrt(square - mean**2)
    skewness = (cube - 3 * mean * square + 2 * mean**3) / deviation**3
    ratios, factors, skews = _table(gamma)
    assert np.all(np.diff(ratios) > 0)
    ratio = deviation / mean
    assert np.interp(ratio, ratios, factors) == pytest.approx(light ** (1 / gamma) / mean, rel=2e-3)
    assert np.interp(ratio, ratios, skews) == pytest.approx(skewness, abs=0.03)
