"""Tests of `denoise_bands`, which denoises many bands of one scene."""

import numpy as np
import pytest
from pictures import assert_same_everywhere, progress_of, psnr
from scipy import ndimage

import nnk_image
from nnk_image import NoiseModel, denoise, denoise_bands
from nnk_image.denoising import bands as module

RNG = np.random.default_rng(37)
MAPS = np.stack(
    [
        nnk_image.standard_image(n)[60:108, 90:146].astype(float)
        for n in ("camera", "brick", "grass")
    ],
    -1,
)
SPECTRA = RNG.uniform(0.1, 1, (3, 20))
CLEAN = MAPS @ SPECTRA
LEVELS = RNG.uniform(5, 40, 20)
NOISY = CLEAN + LEVELS * RNG.normal(size=CLEAN.shape)


def with_info(cube, *arguments, **options):
    return denoise_bands(cube, *arguments, return_info=True, **options)


@pytest.fixture
def linear(monkeypatch):
    """Do not denoise the component images, so that only the linear projection is left."""
    monkeypatch.setattr(module, "denoise", lambda component, *a, **k: component)


# --- the linear part -------------------------------------------------------------------------


def test_linear_part_projects_whitened_bands_onto_their_signal(linear):
    found, info = with_info(NOISY, LEVELS)
    white = (NOISY / LEVELS).reshape(-1, 20)
    u, s, vt = np.linalg.svd(white - white.mean(axis=0), full_matrices=False)
    k = np.count_nonzero(s**2 / len(white) > (1 + np.sqrt(20 / len(white))) ** 2)
    expected = ((u[:, :k] * s[:k]) @ vt[:k] + white.mean(axis=0)) * LEVELS
    assert info["components"] == k == 3
    np.testing.assert_allclose(found, expected.reshape(NOISY.shape), rtol=0, atol=1e-9)


def test_pure_noise_is_replaced_by_the_mean_of_each_band():
    noise = RNG.normal(7, 3, (40, 41, 10))
    found, info = with_info(noise, 3.1)
    assert info["components"] == 0
    np.testing.assert_allclose(found, np.broadcast_to(noise.mean(axis=(0, 1)), noise.shape))


# --- noise levels ----------------------------------------------------------------------------


def test_noise_levels_of_many_bands_are_accurate():
    found = with_info(NOISY)[1]
    assert found["components"] == 3
    np.testing.assert_allclose(found["sigma"], LEVELS, rtol=0.06)  # standard error: 1.4 %


def test_signal_in_a_single_band_is_not_taken_for_noise():
    single = nnk_image.standard_image("astronaut_grey")[60:108, 90:146]
    cube, clean = NOISY.copy(), CLEAN.copy()
    for pixels in (cube, clean):
        pixels[..., 7] += single
    found, info = with_info(cube)
    assert info["components"] == 4
    assert info["sigma"][7] < 1.5 * LEVELS[7]
    assert psnr(clean[..., 7], found[..., 7]) > psnr(clean[..., 7], cube[..., 7])


@pytest.mark.parametrize("bands", [2, 3, 5])
def test_signals_of_all_bands_are_not_taken_for_noise(bands):
    names = "camera", "brick", "grass", "gravel", "cell"
    clean = [nnk_image.standard_image(n)[:96, :96].astype(float) for n in names[:bands]]
    noise = np.random.default_rng(bands).normal(0, 15, (96, 96, bands))
    noisy = np.stack(clean, -1) + noise
    found, info = with_info(noisy)
    np.testing.assert_allclose(info["sigma"], 15, rtol=0.25)
    for band, own in enumerate(clean):
        assert psnr(own, found[..., band]) > psnr(own, noisy[..., band])


def test_correlated_noise_is_not_taken_for_signals_of_all_bands():
    noise = ndimage.gaussian_filter(NOISY - CLEAN, (0.7, 0.7, 0))
    sigma = with_info(CLEAN + noise)[1]["sigma"]
    np.testing.assert_allclose(sigma, noise.std(axis=(0, 1)), rtol=0.15)


def test_copies_of_bands_are_denoised():
    cube, clean = NOISY.copy(), CLEAN.copy()
    for pixels in (cube, clean):
        pixels[..., 6], pixels[..., 11] = pixels[..., 5], (pixels[..., 10] + pixels[..., 12]) / 2
    found = denoise_bands(cube)
    for band in (5, 6, 10, 11, 12):
        assert psnr(clean[..., band], found[..., band]) > psnr(clean[..., band], cube[..., band])


def test_isolated_pixels_do_not_matter():
    cube, hot = NOISY.copy(), np.zeros(CLEAN.shape[:2], bool)
    cube[20, 30, 4], cube[9, 9, 15] = 65535, 65535
    hot[20, 30] = hot[9, 9] = True
    found = denoise_bands(cube)
    np.testing.assert_array_equal(found[hot], cube[hot])
    without = denoise_bands(NOISY)
    assert psnr(CLEAN[~hot], found[~hot]) > psnr(CLEAN[~hot], without[~hot]) - 0.3


def test_noiseless_cube_of_low_rank_is_unchanged():
    for cube in (CLEAN, np.full(CLEAN.shape, 5.0), CLEAN * [*[1.0] * 19, 0.0]):
        np.testing.assert_array_equal(denoise_bands(cube), cube)


def test_bands_without_noise_are_unchanged():
    levels = np.where(np.arange(20) == 4, 0, LEVELS)
    found = denoise_bands(NOISY, levels)
    np.testing.assert_array_equal(found[..., 4], NOISY[..., 4])
    assert psnr(CLEAN, found) > psnr(CLEAN, NOISY) + 6


def test_noise_levels_per_pixel_improve_the_result():
    spread = np.linspace(0.5, 2, 56) * np.ones((48, 1))
    noisy = CLEAN + 20 * spread[..., None] * RNG.normal(size=CLEAN.shape)
    found = denoise_bands(noisy, 20 * spread)
    even = denoise_bands(noisy, np.sqrt(np.mean((20 * spread) ** 2)))
    np.testing.assert_array_equal(denoise_bands(noisy, NoiseModel(levels=20 * spread)), found)
    assert psnr(CLEAN, found) > psnr(CLEAN, even)


# --- quality ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [None, LEVELS])
def test_better_than_denoising_each_band_and_than_projection(sigma, monkeypatch):
    found = psnr(CLEAN, denoise_bands(NOISY, sigma))
    each = np.stack([denoise(NOISY[..., b], LEVELS[b]) for b in range(20)], axis=-1)
    assert found > psnr(CLEAN, each) + 4
    monkeypatch.setattr(module, "denoise", lambda component, *a, **k: component)
    assert found > psnr(CLEAN, denoise_bands(NOISY, sigma)) + 1


# --- magnitudes with Rician noise ------------------------------------------------------------

WEIGHTS = np.array([*[1.0] * 4, *np.geomspace(0.6, 0.02, 16)])  # as in diffusion MRI, many are weak
SIGNAL = CLEAN.mean(axis=-1, keepdims=True) / 150 * WEIGHTS
MAGNITUDES = np.hypot(SIGNAL + RNG.normal(0, 0.1, CLEAN.shape), RNG.normal(0, 0.1, CLEAN.shape))
RICIAN = NoiseModel(0.1, rician=True)


def test_magnitudes_lose_noise_and_bias():
    found = denoise_bands(MAGNITUDES, RICIAN)
    assert psnr(SIGNAL, found) > psnr(SIGNAL, denoise_bands(MAGNITUDES, 0.1)) + 6
    weak = WEIGHTS < 0.1
    assert abs(np.mean((MAGNITUDES - SIGNAL)[..., weak])) > 0.08
    assert abs(np.mean((found - SIGNAL)[..., weak])) < 0.02
    estimated = nnk_image.estimate_noise(MAGNITUDES, channel_axis=-1, kind="rician")
    assert estimated.sigma == pytest.approx([0.1] * 20, rel=0.05)
    assert psnr(SIGNAL, denoise_bands(MAGNITUDES, estimated)) > psnr(SIGNAL, found) - 1.5


def test_strong_magnitudes_are_denoised_like_gaussian_noise():
    strong = MAGNITUDES + 100
    expected = denoise_bands(strong, 0.1)
    np.testing.assert_allclose(denoise_bands(strong, RICIAN), expected, rtol=0, atol=2e-3)


def test_magnitudes_in_other_units_and_in_float32():
    found = denoise_bands(MAGNITUDES, RICIAN)
    large = denoise_bands(1024 * MAGNITUDES, NoiseModel(102.4, rician=True))
    np.testing.assert_allclose(large, 1024 * found, rtol=1e-9)
    single = assert_same_everywhere(
        lambda n: denoise_bands(MAGNITUDES.astype(np.float32), RICIAN, n_jobs=n)
    )
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, found, rtol=0, atol=0.01)


def test_noise_levels_of_magnitudes_per_pixel_and_per_band():
    level = 0.1 * np.linspace(0.5, 1.5, 56) * np.ones((48, 1))
    real, imaginary = level[..., None] * RNG.normal(size=(2, *CLEAN.shape))
    noisy = np.hypot(SIGNAL + real, imaginary)
    found = denoise_bands(noisy, NoiseModel(levels=level, rician=True))
    even = denoise_bands(noisy, NoiseModel(np.sqrt(np.mean(level**2)), rician=True))
    assert psnr(SIGNAL, found) > psnr(SIGNAL, even) + 0.3
    levels = np.where(np.arange(20) == 7, 0, 0.1)
    found, info = denoise_bands(MAGNITUDES, NoiseModel(levels, rician=True), return_info=True)
    np.testing.assert_array_equal(found[..., 7], MAGNITUDES[..., 7])
    np.testing.assert_array_equal(info["sigma"], levels)


# --- invariants ------------------------------------------------------------------------------


def test_the_order_of_bands_does_not_matter():
    order = RNG.permutation(20)
    found = denoise_bands(NOISY[..., order], LEVELS[order])
    np.testing.assert_allclose(found, denoise_bands(NOISY, LEVELS)[..., order], rtol=0, atol=1e-6)


def test_units_of_each_band_do_not_matter():
    scale, offset = 10.0 ** RNG.uniform(-6, 6, 20), RNG.uniform(-100, 100, 20)
    found = (denoise_bands(scale * (NOISY + offset))) / scale - offset
    np.testing.assert_allclose(found, denoise_bands(NOISY), rtol=0, atol=1e-4)


def test_dead_bands_do_not_matter():
    cube = NOISY.copy()
    cube[..., [3, 12]] = 0.1, -9999.0
    found, info = with_info(cube)
    others = np.arange(20) % 9 != 3
    np.testing.assert_array_equal(found[..., ~others], cube[..., ~others])
    assert not info["sigma"][~others].any()
    np.testing.assert_allclose(found[..., others], denoise_bands(cube[..., others]), rtol=0, atol=1)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_band_axis_and_memory_order_do_not_matter(axis):
    expected = denoise_bands(NOISY, LEVELS)
    found = denoise_bands(np.moveaxis(NOISY, -1, axis), LEVELS, axis=axis)
    np.testing.assert_array_equal(np.moveaxis(found, axis, -1), expected)
    np.testing.assert_array_equal(denoise_bands(np.asfortranarray(NOISY), LEVELS), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_threads_and_variants(dtype):
    cube = NOISY[:32, :32].astype(dtype)
    result = assert_same_everywhere(lambda n: denoise_bands(cube, LEVELS, n_jobs=n))
    assert result.dtype == dtype


def test_volumes_and_volumes_three_pixels_wide():
    volume = np.stack([NOISY[:20, :24], NOISY[8:28, :24], NOISY[16:36, :24]])
    found = denoise_bands(volume, LEVELS, spacing=(3, 1, 1))
    clean = np.stack([CLEAN[:20, :24], CLEAN[8:28, :24], CLEAN[16:36, :24]])
    assert psnr(clean, found) > psnr(clean, volume) + 10
    assert denoise_bands(volume[:, :, :3], LEVELS).shape == (3, 20, 3, 20)


@pytest.mark.parametrize(("bands", "noise"), [(NOISY, None), (MAGNITUDES, RICIAN)])
def test_masked_pixels_are_unchanged_and_ignored(bands, noise):
    mask = np.ones((48, 56), bool)
    mask[:9], mask[20, 30] = False, False
    cubes = [np.where(mask[..., None], bands, fill) for fill in (np.nan, -1e5)]
    results = [denoise_bands(cube, noise, mask=mask) for cube in cubes]
    for cube, result in zip(cubes, results, strict=True):
        np.testing.assert_array_equal(result[~mask], cube[~mask])
    np.testing.assert_array_equal(results[0][mask], results[1][mask])
    np.testing.assert_array_equal(
        denoise_bands(bands, noise, mask=np.ones((48, 56), bool)), denoise_bands(bands, noise)
    )


def test_input_is_not_modified_and_progress_is_reported():
    cube = NOISY.copy()
    progress_of(lambda progress: denoise_bands(cube, LEVELS, progress=progress))
    np.testing.assert_array_equal(cube, NOISY)


# --- bad input -------------------------------------------------------------------------------

HOLE = NOISY.copy()
HOLE[2, 3, 4] = np.nan


@pytest.mark.parametrize(
    ("cube", "options", "message"),
    [
        (NOISY[..., :1], {}, "at least 2 bands.*the numbers are 1 and 2688:"),
        (NOISY[:4, :5], {}, "the numbers are 20 and 20:"),
        (NOISY, {"mask": np.arange(48 * 56).reshape(48, 56) < 20}, "the numbers are 20 and 20:"),
        (HOLE, {}, "(?s)not finite.*mask"),
        (NOISY[..., 0], {}, "a cube has at least 3 axes"),
        (NOISY, {"axis": 3}, "outside"),
        (NOISY, {"sigma": [1.0, 2.0]}, "2 values, but the image has 20"),
        (NOISY, {"sigma": -1}, ">= 0"),
        (NOISY, {"sigma": NoiseModel(gain=1)}, "stabilize counts first"),
        (NOISY, {"sigma": NoiseModel(1, rows=1)}, "shared by rows"),
        (MAGNITUDES - 1, {"sigma": RICIAN}, "magnitudes cannot be negative"),
    ],
)
def test_bad_input_is_refused(cube, options, message):
    with pytest.raises(ValueError, match=message):
        denoise_bands(cube, **options)


def test_sigma_in_other_units_is_warned_about():
    with pytest.warns(UserWarning, match="whole range") as caught:
        denoise_bands(CLEAN / 600, 25)
    assert caught[0].filename == __file__
