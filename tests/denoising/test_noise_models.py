"""Tests of `denoise` with noise models: uneven, correlated, Poisson and Rician noise."""

from dataclasses import replace

import numpy as np
import pytest
from noises import filtered
from pictures import assert_same_everywhere, mean_square

import nnk_image
from nnk_image import NoiseModel, denoise
from nnk_image.denoising.methods import METHODS

CLEAN = nnk_image.standard_image("camera")[:96, 100:200].astype(float)
COLOR = np.stack([CLEAN, CLEAN[::-1], CLEAN[:, ::-1]], axis=-1)
SMOOTH = np.outer([1, 2, 1], [1, 2, 1]) / 6.0
BINOMIAL = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 36.0
EVEN_NOISE_ONLY = [name for name, method in METHODS.items() if not method.uneven]


@pytest.mark.parametrize("unknown", [np.nan, 0.0])
def test_levels_of_masked_pixels_are_ignored(unknown):
    noisy = CLEAN + np.random.default_rng(3).normal(0, 15, CLEAN.shape)
    valid = np.ones(CLEAN.shape, bool)
    valid[:, :30] = False
    levels = np.where(valid, 15.0, unknown)
    expected = denoise(noisy, 15, mask=valid)
    np.testing.assert_allclose(denoise(noisy, levels, mask=valid), expected, atol=1e-6)
    with pytest.raises(ValueError, match="levels are not above 0"):
        denoise(noisy, levels)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sigma_map_and_model_of_the_same_noise_are_equivalent(method, dtype):
    noisy = (CLEAN + np.random.default_rng(3).normal(0, 15, CLEAN.shape)).astype(dtype)
    expected = denoise(noisy, 15, method=method)
    for same in (
        NoiseModel(15),
        np.full(noisy.shape, 15.0),
        NoiseModel(levels=np.full(noisy.shape, 15.0)),
    ):
        np.testing.assert_array_equal(denoise(noisy, same, method=method), expected)
    stronger = denoise(noisy, 10, strength=1.5, method=method)
    np.testing.assert_allclose(stronger, expected, rtol=1e-5)


def test_known_covariance_improves_the_result():
    noisy = CLEAN + 20 * filtered(SMOOTH, CLEAN.shape, 0)
    model = NoiseModel(20.0, correlation=BINOMIAL)
    for method in ("fast", "best"):
        known = mean_square(denoise(noisy, model, method=method), CLEAN)
        assert known < 0.62 * mean_square(denoise(noisy, 20, method=method), CLEAN)


def test_known_noise_levels_per_pixel_improve_the_result():
    levels = np.tile(np.linspace(5, 50, CLEAN.shape[1]), (len(CLEAN), 1))
    noisy = CLEAN + levels * np.random.default_rng(0).normal(size=CLEAN.shape)
    known = mean_square(denoise(noisy, levels), CLEAN)
    assert known < 0.8 * min(
        mean_square(denoise(noisy, sigma), CLEAN) for sigma in (20, 25, 30, 35)
    )


@pytest.mark.parametrize("gain", [0, 1])
def test_strength_of_row_noise_alone_and_beside_photon_noise(gain):
    clean, rng = np.full((64, 64), 100.0), np.random.default_rng(6)
    noisy = (rng.poisson(clean) if gain else clean) + 5 * rng.standard_normal((64, 1))
    noise = NoiseModel(gain=gain, rows=5)
    weak, full = (np.std(denoise(noisy, noise, strength=s).mean(axis=1)) for s in (0.2, 1))
    assert full < 0.5 * np.std(noisy.mean(axis=1)) < 0.8 * weak


@pytest.mark.parametrize("kind", ["poisson", "rician"])
@pytest.mark.parametrize("strength", [0.8, 2])
def test_strength_does_not_bias_stabilized_noise(kind, strength):
    disk = np.hypot(*np.mgrid[-64:64, -64:64])
    clean, rng = np.where(disk < 40, 30.0, 3.0), np.random.default_rng(5)
    noisy, noise = rng.poisson(clean), NoiseModel(gain=1)
    if kind == "rician":
        noise, (real, imaginary) = NoiseModel(3, rician=True), 3 * rng.normal(size=(2, 128, 128))
        noisy = np.hypot(clean + real, imaginary)
    result = denoise(noisy, noise, strength=strength)
    for place in (disk < 32, disk > 48):
        assert result[place].mean() == pytest.approx(clean[place].mean(), rel=0.06)


def noisy_by_brightness(seed=0):
    """Return an image with more noise in dark areas, and its noise level by brightness."""
    curve = np.array([[0, 60, 255], [30, 30, 4]])
    levels = np.interp(CLEAN, *curve)
    return CLEAN + levels * np.random.default_rng(seed).normal(size=CLEAN.shape), curve


def test_known_noise_curve_improves_the_result():
    noisy, curve = noisy_by_brightness()
    known = mean_square(denoise(noisy, NoiseModel(curve=curve)), CLEAN)
    assert known < 0.8 * min(
        mean_square(denoise(noisy, sigma), CLEAN) for sigma in (15, 20, 25, 30)
    )
    # If sigma is given, only the shape of the curve matters; strength multiplies the result.
    rms = np.sqrt(np.mean(curve[1] ** 2))
    louder = NoiseModel(rms / 2, curve=[curve[0], 7 * curve[1]])
    again = denoise(noisy, louder, strength=2)
    np.testing.assert_allclose(again, denoise(noisy, NoiseModel(curve=curve)), atol=1e-9)


def test_constant_curve_equals_one_sigma():
    noisy, _ = noisy_by_brightness()
    level = denoise(noisy, NoiseModel(curve=[[0, 255], [20, 20]]))
    np.testing.assert_array_equal(level, denoise(noisy, 20))


@pytest.mark.parametrize("method", EVEN_NOISE_ONLY)
def test_methods_for_even_noise_use_the_mean_level_of_a_curve(method):
    noisy, curve = noisy_by_brightness()
    sigma = NoiseModel(curve=curve).sigma
    given = denoise(noisy, NoiseModel(curve=curve), method=method)
    np.testing.assert_array_equal(given, denoise(noisy, sigma, method=method))


@pytest.mark.parametrize(("gain", "read"), [(1, 5), (12, 12)])
def test_poisson_noise(gain, read):
    rng = np.random.default_rng(0)
    noisy = gain * rng.poisson(CLEAN / gain) + rng.normal(0, read, CLEAN.shape)
    result = denoise(noisy, NoiseModel(read, gain=gain))
    best = min(mean_square(denoise(noisy, sigma), CLEAN) for sigma in (10, 15, 20, 30, 45))
    assert mean_square(result, CLEAN) < 0.93 * best
    assert result.mean() == pytest.approx(noisy.mean(), rel=1e-9)


@pytest.mark.parametrize("model", ["poisson", "correlated", "levels", "curve", "rician", "rows"])
def test_same_bits_for_threads_and_variants(method, model):
    image = abs(COLOR[:40, :50] + filtered(SMOOTH, (40, 50, 3), 0))
    noise = {
        "poisson": NoiseModel(2, gain=3.0),
        "correlated": NoiseModel(12.0, correlation=BINOMIAL),
        "levels": NoiseModel(levels=np.linspace(5, 30, 2000).reshape(40, 50)),
        "curve": NoiseModel(curve=[[0, 200], [5, 30]]),
        "rician": NoiseModel(9.0, rician=True),
        "rows": NoiseModel(9.0, rows=3.0),
    }[model]
    if noise.is_uneven and method in EVEN_NOISE_ONLY:
        with pytest.raises(ValueError, match=f"method='{method}' assumes noise of one level"):
            denoise(image, noise, method=method, channel_axis=-1)
        return
    options = {"method": method, "channel_axis": -1}
    assert_same_everywhere(lambda n_jobs: denoise(image, noise, n_jobs=n_jobs, **options))


@pytest.mark.parametrize("method", ["sgw", "fast"])
def test_rician_noise_of_magnitudes(method):
    real, imaginary = 20 * np.random.default_rng(0).normal(size=(2, *CLEAN.shape))
    magnitudes = np.hypot(CLEAN * (CLEAN > 60) + real, imaginary)
    clean = CLEAN * (CLEAN > 60)
    dark, model = CLEAN < 40, NoiseModel(20, rician=True)
    known = denoise(magnitudes, model, method=method)
    gaussian = denoise(magnitudes, 20, method=method)
    assert mean_square(known, clean) < 0.7 * mean_square(gaussian, clean)
    assert known[dark].mean() < 0.6 * gaussian[dark].mean()
    assert known.min() >= 0
    assert denoise(magnitudes.astype(np.float32), model, method=method).dtype == np.float32
    levels = denoise(magnitudes, replace(model, levels=np.full(CLEAN.shape, 3.0)), method=method)
    np.testing.assert_allclose(levels, known, rtol=1e-9)


def test_magnitude_channels_are_denoised_as_separate_images():
    image = np.abs(COLOR + np.random.default_rng(1).normal(0, 9, COLOR.shape))
    model = NoiseModel(9, rician=4)
    both = denoise(image, model, channel_axis=-1)
    np.testing.assert_array_equal(both[..., 1], denoise(image[..., 1], model))


def test_bad_magnitudes_and_rician_models_are_refused():
    with pytest.raises(ValueError, match=r"magnitudes cannot be negative.*down to -1"):
        denoise(CLEAN - CLEAN.min() - 1, NoiseModel(5, rician=True))
    for more in ({"gain": 1.0}, {"offset": 2.0}, {"curve": [[0, 1], [1, 2]]}, {"rows": 1.0}):
        with pytest.raises(ValueError, match="rician cannot be combined with"):
            NoiseModel(5, rician=True, **more)
    with pytest.raises(ValueError, match="rician"):
        NoiseModel(5, rician=-1)


@pytest.mark.parametrize(("factor", "sigma", "strength"), [(1, 2, 0.5), (257, 300, 0.5)])
def test_strength_multiplies_weak_noise(factor, sigma, strength):
    """The dtype of the units follows from the weaker noise."""
    noisy = factor * CLEAN + np.random.default_rng(3).normal(0, sigma, CLEAN.shape)
    found = denoise(noisy.astype(np.float32), sigma, strength=strength)
    expected = denoise(noisy.astype(np.float32), strength * sigma)
    np.testing.assert_allclose(found, expected, atol=1e-3 * sigma)
