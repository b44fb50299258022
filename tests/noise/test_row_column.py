"""Tests that row and column noise, and nothing else, is detected and removed."""

import numpy as np
import pytest
from pictures import rms
from rendered import page_of_text

import nnk_image
from nnk_image import NoiseModel, denoise, estimate_noise
from nnk_image.base.image import check_image
from nnk_image.noise import row_column

CLEAN = nnk_image.standard_image("camera").astype(float)
RNG = np.random.default_rng(31)
WHITE = RNG.normal(0, 10, CLEAN.shape)
ROWS = RNG.normal(0, 12, (CLEAN.shape[0], 1))
COLUMNS = RNG.normal(0, 8, (1, CLEAN.shape[1]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_levels_of_rows_and_columns(dtype):
    found = estimate_noise((CLEAN + WHITE + ROWS).astype(dtype))
    assert found.rows == pytest.approx(ROWS.std(), rel=0.1)
    assert found.columns == 0
    assert found.sigma[0] == pytest.approx(10, rel=0.1)
    found = estimate_noise((CLEAN + WHITE + ROWS + COLUMNS).astype(dtype))
    assert found.rows == pytest.approx(ROWS.std(), rel=0.1)
    assert found.columns == pytest.approx(COLUMNS.std(), rel=0.3)


@pytest.mark.parametrize("name", ["camera", "brick", "grass", "gravel", "text", "chelsea"])
@pytest.mark.parametrize("sigma", [0, 3, 20])
def test_pictures_without_row_and_column_noise_have_none(name, sigma):
    picture = nnk_image.standard_image(name).astype(float)
    noisy = picture + np.random.default_rng(2).normal(0, sigma, picture.shape)
    axis = -1 if picture.ndim == 3 else None
    assert row_column.row_column_levels(check_image(noisy, axis)) == (0, 0)


@pytest.mark.parametrize("font", ["DejaVuSans-Bold", "DejaVuSansMono"])
@pytest.mark.parametrize(("size", "spacing"), [(7, 8), (8, 10), (7, 10)])
def test_lines_of_text_are_not_taken_for_row_noise(size, spacing, font):
    page = page_of_text(size, spacing, font, margin=0).astype(float)
    for sigma in (0, 0.5, 2, 8):
        noisy = np.clip(page + np.random.default_rng(3).normal(0, sigma, page.shape), 0, 255)
        for part in (noisy, noisy[:200, :256], noisy[:128, :128]):
            assert row_column.row_column_levels(check_image(part)) == (0, 0)


@pytest.mark.parametrize("share", [0.01, 0.015, 0.02, 0.03, 0.04])
def test_dust_is_not_taken_for_row_noise(share):
    dust = np.random.default_rng(1).random((200, 300)) < share
    scan = np.where(dust, 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(denoise(scan), scan)


def test_two_fields_of_a_video_are_not_taken_for_row_noise():
    fields = CLEAN + 10 * (np.arange(len(CLEAN)) % 2)[:, None]
    assert row_column.row_column_levels(check_image(fields + WHITE)) == (0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_the_true_level_of_rows_is_the_best(seed):
    """With a lower one, more of the steps counts as changes of the image, and less is removed."""
    clean = nnk_image.standard_image("coffee_grey")[:256, :256].astype(float)
    rng = np.random.default_rng(seed)
    noisy = clean + rng.normal(0, 10, clean.shape) + rng.normal(0, 5, (256, 1))
    true, low = (rms(denoise(noisy, NoiseModel(10, rows=r)) - clean) for r in (5, 4.25))
    assert true < 1.02 * low


@pytest.mark.parametrize("change", [1.0, 2.0, 5.0])
def test_offsets_are_nearly_the_most_likely_ones(change):
    """That is, those of a dense solution for the true variance of the changes of the scene."""
    n, sigma, ours, best = 300, 5.0, [], []
    steps = np.diff(np.eye(n), axis=0)
    inverse = np.linalg.inv(np.eye(n) / sigma**2 + steps.T @ steps / change**2)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        scene, offsets = rng.normal(0, change, n).cumsum(), rng.normal(0, sigma, n)
        rows = (100 + scene + offsets)[:, None] + rng.normal(0, 1, (n, 200))
        found = row_column.estimate_offsets(check_image(rows, None, None), sigma, 0.0)[0, :, 0]
        likely = inverse @ (steps.T @ (steps @ (scene + offsets))) / change**2
        ours.append(np.std(found - offsets))
        best.append(np.std(likely - offsets))
    assert rms(np.array(ours)) < 1.1 * rms(np.array(best))


def test_row_noise_is_removed_from_a_smooth_scene():
    """Spots on an even ground: what is left of the offsets is small, slow changes included."""
    y, x = np.mgrid[:256, :256] / 32
    clean = 100 + 80 * np.maximum(np.sin(x) * np.cos(y), 0) ** 4
    left = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        noisy = clean + rng.normal(0, 3, clean.shape) + rng.normal(0, 8, (256, 1))
        for result in (denoise(noisy), denoise(noisy, NoiseModel(3.0, rows=8.0))):
            error = result - clean
            left.append(rms(error - error.mean()))
    assert np.mean(left) < 0.2 * 8


def test_a_steady_gradient_is_not_taken_for_row_noise():
    """Uneven light, also in images of few rows."""
    rng = np.random.default_rng(4)
    noise = rng.normal(0, 5, (256, 256)) + rng.normal(0, 5, (256, 1))
    ramp, model = np.arange(256.0)[:, None] * np.ones((1, 256)), NoiseModel(5.0, rows=5.0)
    for slope in (0.2, 0.8, 3.0):
        for result in (denoise(slope * ramp + noise, model), denoise(slope * ramp + noise)):
            assert rms(result - slope * ramp) < 0.3 * 5
    for rows in (2, 3, 8):
        few = 40 * ramp[:rows, :40]
        np.testing.assert_allclose(denoise(few, NoiseModel(1.0, rows=5.0)), few, atol=0.5)


@pytest.mark.parametrize("level", [0.01, 1e-8])
def test_weak_row_noise_in_an_image_that_changes_much(level):
    """Hardly more is removed than there is."""
    image = np.random.default_rng(0).normal(0, 1, (100, 1)).cumsum(axis=0) * np.ones((1, 60))
    assert rms(denoise(image, NoiseModel(0.0, rows=level)) - image) < level


def test_denoising_removes_given_and_estimated_row_noise():
    noisy = CLEAN + WHITE + ROWS
    plain = rms(denoise(noisy, float(np.hypot(10, 12))) - CLEAN)
    found = denoise(noisy, NoiseModel(10.0, rows=12.0))
    given = rms(found - CLEAN)
    assert given < 0.6 * plain
    assert rms(denoise(noisy) - CLEAN) < 1.05 * given
    turned = denoise(noisy.T, NoiseModel(10.0, columns=12.0)).T
    np.testing.assert_allclose(turned.mean(axis=1), found.mean(axis=1), atol=0.1)


def test_a_horizon_does_not_spoil_the_offsets_beside_it():
    noisy, clean = CLEAN + WHITE + ROWS, CLEAN.copy()
    even = rms(denoise(noisy, NoiseModel(10.0, rows=12.0)) - clean)
    clean[:128] += 300
    noisy[:128] += 300
    for result in (denoise(noisy, NoiseModel(10.0, rows=12.0)), denoise(noisy)):
        assert rms(result - clean) < 1.1 * even
        assert rms((result - clean)[118:138]) < 1.5 * even


@pytest.mark.parametrize("empty", [np.s_[:60], np.s_[:, :100]])
def test_row_noise_beside_an_empty_border(empty):
    noisy, mask = CLEAN + WHITE + ROWS, np.ones(CLEAN.shape, bool)
    noisy[empty], mask[empty] = 0, False
    model = NoiseModel(10.0, rows=12.0)
    masked = rms((denoise(noisy, model, mask=mask) - CLEAN)[mask])
    found = estimate_noise(noisy)
    assert found.rows == pytest.approx(12, rel=0.15)
    assert found == estimate_noise(noisy, mask=mask)
    for result in (denoise(noisy, model), denoise(noisy)):
        assert rms((result - CLEAN)[mask]) < 1.05 * masked
        assert rms(result[~mask]) < 1


def test_column_noise_of_each_channel():
    clean = nnk_image.standard_image("chelsea").astype(float)[:96, :112]
    rng = np.random.default_rng(3)
    offsets = rng.normal(0, 15, (1, 112, 3))
    noisy = clean + rng.normal(0, 5, clean.shape) + offsets
    result = denoise(noisy, NoiseModel(5.0, columns=15.0), channel_axis=-1)
    left = (result - clean).mean(axis=0)
    assert rms(left - left.mean(axis=0)) < 0.35 * 15


def test_masked_pixels_are_unchanged_and_ignored():
    noisy = (CLEAN + WHITE + ROWS)[:80, :90]
    mask = np.ones(noisy.shape, bool)
    mask[:, 60:] = False
    mask[40] = False
    other = np.where(mask, noisy, np.nan)
    model = NoiseModel(10.0, rows=12.0)
    result = denoise(other, model, mask=mask)
    np.testing.assert_array_equal(np.isnan(result), ~mask)
    np.testing.assert_array_equal(
        denoise(np.where(mask, noisy, 1e4), model, mask=mask)[mask], result[mask]
    )
    assert rms((result - CLEAN[:80, :90])[mask]) < 0.75 * rms((noisy - CLEAN[:80, :90])[mask])


def test_row_noise_in_a_spectrum_is_separated():
    psd = np.full((128, 256), 9.0)
    psd[:, 0] += 16 * 256
    model = NoiseModel.from_psd(psd)
    assert model.sigma == pytest.approx((3.0,))
    assert model.rows == pytest.approx(4.0, rel=1e-6)
    assert model.columns == 0
    assert model.correlation is None


def test_smooth_correlation_is_not_taken_for_row_noise():
    distance = np.hypot(*np.mgrid[-20:21, -20:21])
    model = NoiseModel.from_autocovariance(np.exp(-((distance / 6) ** 2)))
    assert (model.rows, model.columns) == (0, 0)
    assert model.correlation.shape == (41, 41)
