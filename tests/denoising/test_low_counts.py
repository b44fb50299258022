"""Rounds of denoising at low counts: what they gain, what they keep, and when there are several."""

import numpy as np
import pytest
from pictures import psnr

import nnk_image
from nnk_image import NoiseModel, denoise
from nnk_image.denoising import pipeline
from nnk_image.denoising.low_counts import PoissonUnits, Round, effective_counts, rounds_for

CLEAN = nnk_image.standard_image("camera")[60:157, 80:171] / 255
PHOTONS = NoiseModel(gain=1.0)


@pytest.mark.parametrize("peak", [1, 4])
def test_rounds_gain_and_keep_the_mean(peak, monkeypatch):
    clean = CLEAN * peak
    counts = np.random.default_rng(peak).poisson(clean).astype(float)
    again = denoise(counts, PHOTONS)
    monkeypatch.setattr(pipeline, "plan_rounds", lambda *_: [Round("fast")])
    once = denoise(counts, PHOTONS)
    gain = psnr(clean, again, peak) - psnr(clean, once, peak)
    assert gain > (0.35 if peak == 1 else 0.2)
    assert again.mean() == pytest.approx(counts.mean(), rel=1e-6)
    assert once.mean() == pytest.approx(counts.mean(), rel=1e-6)


def test_scale_and_offset():
    counts = np.random.default_rng(3).poisson(CLEAN * 2).astype(float)
    expected = denoise(counts, NoiseModel(0.3, gain=1.0))
    scaled = denoise(counts * 8 + 100, NoiseModel(2.4, gain=8.0, offset=100.0))
    np.testing.assert_allclose(scaled, expected * 8 + 100, rtol=1e-6)


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
def test_units_of_sums_and_back(side):
    """Blocks of pixels are summed; on the way back a smooth image has these sums again."""
    image = CLEAN[:21, :30, None] * [1.0, 5.0] + 40
    units = PoissonUnits([(1.0, 0.0, 0.0)] * 2, Round("fast", side), image.shape)
    stabilized = units.forward(image)
    assert stabilized.shape == (-(-21 // side), -(-30 // side), 2)
    again = units.inverse(stabilized)
    assert again.shape == image.shape
    whole = 20 // side * side
    sums, expected = (
        part[:whole, :whole].reshape(whole // side, side, whole // side, side, 2).sum(axis=(1, 3))
        for part in (again, image)
    )
    # A stabilized pixel stands for the intensity whose mean it is, a little above its own.
    np.testing.assert_allclose(sums, expected + 1 / 4, rtol=3e-3)


def test_unit_noise():
    counts = np.random.default_rng(5).poisson(6.0, (240, 240, 1)) * 3.0 + 10
    for side in (2, 4):
        units = PoissonUnits([(3.0, 0.0, 10.0)], Round("fast", side), counts.shape)
        assert units.forward(counts).std() == pytest.approx(1, abs=0.03)


def test_effective_counts():
    assert effective_counts(30, 10, 0, 10) == pytest.approx(2)
    assert effective_counts(30, 1, np.sqrt(20), 10) == pytest.approx(10)
    assert effective_counts(30, 1, 0, 40) == 0


def test_rounds():
    assert rounds_for("fast", 100) == [Round("fast", 1, 1.0)]
    assert [r.side for r in rounds_for("fast", 5)] == [2, 1]
    assert [r.side for r in rounds_for("best", 0.5)] == [4, 2, 1]
    assert [r.method for r in rounds_for("best", 3)] == ["best", "fast", "best"]
    shares = [rounds_for("fast", counts)[-1].share for counts in (0, 0.5, 1, 2, 4, 8)]
    assert shares == sorted(shares)
