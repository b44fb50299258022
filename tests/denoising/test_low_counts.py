"""Tests of denoising images with low photon counts in several rounds."""

import numpy as np
import pytest
from pictures import psnr
from scipy.ndimage import gaussian_filter

import nnk_image
from nnk_image import NoiseModel, denoise
from nnk_image.denoising import low_counts
from nnk_image.denoising.low_counts import Round, effective_counts, rounds_for
from nnk_image.denoising.pipeline import Options
from nnk_image.denoising.units import PoissonUnits

CLEAN = nnk_image.standard_image("camera")[60:157, 80:171] / 255
PHOTONS = NoiseModel(gain=1.0)


@pytest.mark.parametrize("peak", [1, 4])
def test_several_rounds_improve_the_result_and_keep_the_mean(peak, monkeypatch):
    clean = CLEAN * peak
    counts = np.random.default_rng(peak).poisson(clean).astype(float)
    again = denoise(counts, PHOTONS)
    monkeypatch.setattr(low_counts, "plan_rounds", lambda *_: [Round("fast")])
    once = denoise(counts, PHOTONS)
    gain = psnr(clean, again, peak) - psnr(clean, once, peak)
    assert gain > (0.35 if peak == 1 else 0.2)
    assert again.mean() == pytest.approx(counts.mean(), rel=1e-6)
    assert once.mean() == pytest.approx(counts.mean(), rel=1e-6)


@pytest.mark.parametrize(("peak", "read", "n_rounds"), [(2, 0.3, 3), (8, 0.3, 2), (60, 5.0, 1)])
def test_scale_and_offset_do_not_matter(peak, read, n_rounds):
    rng = np.random.default_rng(3)
    noisy = rng.poisson(CLEAN * peak) + rng.normal(0, read, CLEAN.shape)
    counts = effective_counts(noisy.mean(), np.mean(noisy**2), gain=1.0, read=read)
    assert len(rounds_for("fast", counts)) == n_rounds
    expected = denoise(noisy, NoiseModel(read, gain=1.0))
    scaled = denoise(noisy * 8 + 100, NoiseModel(8 * read, gain=8.0, offset=100.0))
    np.testing.assert_allclose(scaled, expected * 8 + 100, rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 95.0, 300.0])
def test_constant_border_does_not_matter(value):
    """The border may even be below the offset, which no pixel of the image is."""
    clean = CLEAN * 30 * 8 + 100
    counts = np.random.default_rng(3).poisson(CLEAN * 30) * 8.0 + 100
    noise = NoiseModel(gain=8.0, offset=100.0)
    within = denoise(np.pad(counts, 40, constant_values=value), noise)[40:-40, 40:-40]
    assert psnr(clean, within, 240) > psnr(clean, denoise(counts, noise), 240) - 0.3


def test_channels_and_mask():
    clean = np.stack([CLEAN * 3, CLEAN * 9], axis=2).astype(np.float32)
    counts = np.random.default_rng(4).poisson(clean).astype(np.float32)
    valid = np.ones(CLEAN.shape, bool)
    valid[:10] = False
    counts[~valid] = np.nan
    noise = NoiseModel([0.0, 0.5], gain=1.0)
    result = denoise(counts, noise, channel_axis=-1, mask=valid)
    assert result.dtype == np.float32
    assert np.isnan(result[~valid]).all()
    np.testing.assert_allclose(result[valid].mean(axis=0), counts[valid].mean(axis=0), rtol=1e-4)
    error = np.mean((result - clean)[valid] ** 2)
    assert error < 0.15 * np.mean((counts - clean)[valid] ** 2)


@pytest.mark.parametrize("side", [1, 2, 4])
def test_inverse_of_block_sums_keeps_the_sums(side):
    """Blocks of pixels are summed; after the inverse, a smooth image has the same sums."""
    image = CLEAN[:21, :30, None] * [1.0, 5.0] + 40
    units = PoissonUnits([(1.0, 0.0, 0.0)] * 2, (side, side), 1.0, image.shape[:2], image.dtype)
    stabilized = units.forward(image)
    assert stabilized.shape == (-(-21 // side), -(-30 // side), 2)
    again = units.inverse(stabilized)
    assert again.shape == image.shape
    whole = 20 // side * side
    sums, expected = (
        part[:whole, :whole].reshape(whole // side, side, whole // side, side, 2).sum(axis=(1, 3))
        for part in (again, image)
    )
    # The unbiased inverse of a noiseless stabilized value is 1/4 above the original value.
    np.testing.assert_allclose(sums, expected + 1 / 4, rtol=3e-3)


def test_sums_are_as_high_as_they_are_wide():
    for spacing, sides in (
        *((None, (4, 4, 4)), ((1.2, 1, 1), (4, 4, 4))),
        *(((2, 1, 1), (2, 4, 4)), ((1, 5, 3), (4, 1, 1))),
    ):
        assert Options("fast", spacing).sides_of_sums(4, 3) == sides
    image = np.random.default_rng(4).uniform(20, 30, (7, 12, 16, 1))
    units = PoissonUnits([(1.0, 0.0, 0.0)], (2, 1, 4), 1.0, image.shape[:3], image.dtype)
    stabilized = units.forward(image)
    assert stabilized.shape == (4, 12, 4, 1)
    again = units.inverse(stabilized)
    sums, expected = (part[:6].reshape(3, 2, 12, 4, 4).sum(axis=(1, 4)) for part in (again, image))
    np.testing.assert_allclose(sums, expected + 1 / 4, rtol=3e-3)


def test_thin_slices_are_not_mixed_with_distant_ones():
    """Beads of one slice, 4 pixels apart from the next."""
    rng = np.random.default_rng(5)
    light = np.zeros((10, 64, 64))
    light[tuple(rng.integers(0, n, 150) for n in light.shape)] = 60
    light = gaussian_filter(light, (0.3, 1.4, 1.4)) + 0.1
    counts = rng.poisson(light).astype(float)
    apart, near = (denoise(counts, PHOTONS, spacing=(z, 1, 1)) for z in (4, 1))
    assert np.mean((apart - light) ** 2) < 0.8 * np.mean((near - light) ** 2)


@pytest.mark.parametrize("shape", [(24, 24), (10, 24, 24), (4, 6, 16, 16)])
@pytest.mark.parametrize("method", ["fast", "best", "sgw"])
def test_every_method_denoises_low_counts(method, shape):
    counts = np.random.default_rng(3).poisson(1.0, shape).astype(float)
    denoised = denoise(counts, PHOTONS, method=method, spacing=1)
    assert denoised.std() < counts.std() / 2


@pytest.mark.parametrize("counts", [3, 20])
def test_a_hot_pixel_does_not_spread(counts):
    noisy = 100 + 2.0 * np.random.default_rng(0).poisson(counts, (96, 96))
    noisy[32, 32] = 4000
    denoised = denoise(noisy, NoiseModel(gain=2, offset=100))
    denoised[32, 32] = 100 + 2 * counts
    assert np.abs(denoised - 100 - 2 * counts).max() < 10


@pytest.mark.parametrize("shape", [(128, 128), (12, 64, 64)])
def test_read_noise_is_equivalent_to_a_lower_offset(shape):
    rng = np.random.default_rng(1)
    spots = gaussian_filter((rng.random(shape) > 1 - 2e-3).astype(float), 2)
    clean = 100 + 80 * spots / spots.max()
    noisy = 100 + 2 * rng.poisson((clean - 100) / 2) + rng.normal(0, 3, shape)
    models = NoiseModel(gain=2, sigma=3, offset=100), NoiseModel(gain=2, offset=95.5)
    results = [denoise(noisy, model, spacing=1) for model in models]
    bright = clean > 110
    read, lower = (np.sqrt(np.mean((r - clean)[bright] ** 2)) for r in results)
    assert read < 1.15 * lower


def test_sharp_cells_on_an_empty_background_stay_sharp():
    y, x = np.indices((128, 128))
    clean = 40.0 * (np.hypot(y % 64 - 32, x % 64 - 32) < 8)
    noisy = np.random.default_rng(2).poisson(clean).astype(float)
    denoised = denoise(noisy, NoiseModel(gain=1))
    one_round = denoise(2 * np.sqrt(noisy + 3 / 8), 1) ** 2 / 4 - 1 / 8  # Anscombe transform
    errors = [np.sqrt(np.mean((r - clean) ** 2)) for r in (denoised, one_round)]
    assert errors[0] < 1.2 * errors[1]
