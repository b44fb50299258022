"""Tests of estimated noise maps, and of the noise level of magnitude images."""

import numpy as np
import pytest
from pictures import psnr
from scipy.ndimage import zoom

import nnk_image
from nnk_image import NoiseModel, denoise, estimate_noise

PLACES = np.stack(np.meshgrid(*[np.linspace(-1, 1, n) for n in (40, 48, 52)], indexing="ij"))
BODY = np.where((PLACES**2).sum(axis=0) < 0.8, 100 + 20 * np.sin(5 * PLACES[1]), 0)
CORE = (slice(12, -12),) * 3  # inside the body
RAMP = 6 + 3 * PLACES[2]


def noisy(clean, level, rician, seed=0):
    real, imaginary = level * np.random.default_rng(seed).normal(size=(2, *clean.shape))
    return np.hypot(clean + real, imaginary) if rician else clean + real


@pytest.mark.parametrize("level", [3, 10, 25])
@pytest.mark.parametrize("part", [..., CORE], ids=["with background", "object alone"])
def test_level_of_magnitudes(level, part):
    model = estimate_noise(noisy(BODY, level, True)[part], kind="rician")
    assert model.rician == 1
    assert model.sigma[0] == pytest.approx(level, rel=0.05)


def test_level_of_magnitudes_from_background_alone():
    model = estimate_noise(noisy(0 * BODY, 7, True), kind="rician")
    assert model.sigma[0] == pytest.approx(7, rel=0.02)


@pytest.mark.parametrize("level", [3, 8, 15])
@pytest.mark.parametrize("dtype", [float, np.uint16])
@pytest.mark.parametrize("clean", [BODY, zoom(BODY[20], 4, order=0)], ids=["volume", "slice"])
def test_magnitudes_are_recognized(level, dtype, clean):
    """By the noise outside of the body; `denoise` uses the model as if it were given."""
    magnitudes = (50 * noisy(clean, level, True)).astype(dtype)
    found = estimate_noise(magnitudes)
    np.testing.assert_array_equal(denoise(magnitudes), denoise(magnitudes, found))
    assert found.rician == 1
    assert found.sigma[0] == pytest.approx(50 * level, rel=0.1)


def test_magnitudes_are_recognized_if_every_other_slice_is_masked():
    mask = np.ones(BODY.shape, bool)
    mask[::2] = False
    found = estimate_noise(noisy(BODY, 8, True), mask=mask)
    assert found.rician == 1
    assert found.sigma[0] == pytest.approx(8, rel=0.1)


def test_other_noise_is_not_taken_for_that_of_magnitudes():
    """It has the same mean and variance in the dark, but is not skewed, or grows with the light."""
    rng = np.random.default_rng(1)
    dark, bright = np.sqrt(2 - np.pi / 2), np.sqrt(np.pi / 2)  # deviation and mean, for sigma 1
    gaussian = BODY + 10 * bright + 10 * np.where(BODY > 0, 1, dark) * rng.normal(size=BODY.shape)
    speckle = (BODY + 10) * rng.rayleigh(size=BODY.shape)
    counts = rng.poisson(BODY + (bright / dark) ** 2)
    cells = np.maximum(rng.poisson(3.65 + BODY / 8) + rng.normal(0, 0.5, BODY.shape), 0)
    for image in (
        cells,
        gaussian - gaussian.min() * (gaussian.min() < 0),
        speckle,
        counts,
        0.5 + counts,
    ):
        assert estimate_noise(image).rician == 0


@pytest.mark.parametrize("masked", [False, True])
def test_mask_and_zeroed_background(masked):
    image = noisy(BODY, 8, True)
    image[BODY == 0] = 0
    mask = (BODY > 0) if masked else None
    if masked:
        image[BODY == 0] = np.nan
    found = estimate_noise(image, kind="rician", mask=mask)
    assert found.sigma[0] == pytest.approx(8, rel=0.05)


@pytest.mark.parametrize("rician", [False, True])
def test_noise_map_follows_the_level(rician):
    found = estimate_noise(
        noisy(BODY, RAMP, rician), kind="rician" if rician else None, uneven=True
    )
    ratio = found.levels / RAMP
    assert abs(ratio.mean() - 1) < 0.03
    assert np.sqrt(np.mean((ratio - 1) ** 2)) < 0.08
    assert found.is_uneven
    assert found.rician == rician


def test_noise_map_of_a_photograph():
    clean = nnk_image.standard_image("camera").astype(float)
    levels = np.tile(np.linspace(8, 24, clean.shape[1]), (len(clean), 1))
    found = estimate_noise(noisy(clean, levels, False), uneven=True).levels
    assert np.sqrt(np.mean((found / levels - 1) ** 2)) < 0.15


def test_texture_of_low_frequencies_is_not_taken_for_noise():
    texture = 8 * np.sin(1.3 * PLACES[0] * 20) * np.sin(1.1 * PLACES[1] * 24)
    textured = np.where(PLACES[2] > -0.5, 100 + texture, 100)
    model = estimate_noise(noisy(textured, 3, True), kind="rician")
    assert model.sigma[0] == pytest.approx(3, rel=0.05)


def test_one_level_of_uneven_noise_is_the_median():
    model = estimate_noise(noisy(BODY, RAMP, True), kind="rician")
    assert model.sigma[0] == pytest.approx(np.median(RAMP), rel=0.1)


def test_estimated_map_denoises_nearly_as_well_as_the_known_one():
    image = noisy(BODY, RAMP, True)
    quality = [
        psnr(BODY[BODY > 0], denoise(image, model)[BODY > 0])
        for model in (
            estimate_noise(image, kind="rician", uneven=True),
            NoiseModel(levels=RAMP, rician=True),
            estimate_noise(image, kind="rician"),
        )
    ]
    assert quality[0] > quality[1] - 0.3
    assert quality[0] > quality[2] + 0.5


@pytest.mark.parametrize("uneven", [False, True])
def test_noiseless_images_have_level_zero(uneven):
    for clean in (np.zeros((16, 16)), np.full((9, 20, 21), 3.0)):
        model = estimate_noise(clean, kind="rician", uneven=uneven)
        assert not any(model.sigma)
        np.testing.assert_array_equal(denoise(clean, model), clean)


@pytest.mark.parametrize("options", [{"uneven": True}, {"kind": "rician"}])
def test_images_of_two_values_and_slopes(options):
    bits = noisy(BODY, 5, True) > 100
    assert estimate_noise(bits, **options) == estimate_noise(bits.astype(np.uint8), **options)
    for slope in (np.add.outer(np.arange(64), np.arange(64)), np.indices((64, 64))[1]):
        assert estimate_noise(slope, **options).sigma[0] < 1e-6


def test_colors_and_sequences():
    film = np.stack([noisy(BODY, 5, False, seed)[:20] for seed in range(3)])
    assert estimate_noise(film, uneven=True).levels.shape == film.shape
    colors = np.moveaxis(film[:, 0], 0, -1)
    model = estimate_noise(colors, channel_axis=-1, uneven=True)
    assert model.levels.shape == colors.shape[:-1]
    assert model.levels.mean() == pytest.approx(5, rel=0.1)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="magnitudes cannot be negative"):
        estimate_noise(BODY - 1, kind="rician")
    with pytest.raises(ValueError, match="uneven=True is for"):
        estimate_noise(BODY, kind="poisson", uneven=True)
    with pytest.raises(ValueError, match=r"shape \(1, 2\) cannot be estimated.*give sigma"):
        estimate_noise([[1.0, 2.0]], kind="rician")
    assert estimate_noise([[1.0, 1.0]], kind="rician").sigma == (0.0,)
