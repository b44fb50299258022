"""Rounds of denoising at low counts: what they gain, what they keep, and when there are several."""

import numpy as np
import pytest

import nnk_image
from nnk_image.denoising.low_counts import (
    Round,
    _spread,
    _sums,
    denoise_counts,
    effective_counts,
    rounds_for,
)

CLEAN = nnk_image.standard_image("camera")[60:157, 80:171, None] / 255


def denoise_unit(image, method):
    return nnk_image.denoise(image, 1.0, method=method, channel_axis=-1)


def psnr(image, clean):
    return 10 * np.log10(clean.max() ** 2 / np.mean((image - clean) ** 2))


@pytest.mark.parametrize("peak", [1, 4])
def test_rounds_gain_and_keep_the_mean(peak):
    clean = CLEAN * peak
    z = np.random.default_rng(peak).poisson(clean).astype(float)
    noises = [(1.0, 0.0, 0.0)]
    once = denoise_counts(z, noises, [Round("fast", 1, 1.0)], denoise_unit)
    rounds = rounds_for("fast", effective_counts(z, 1.0))
    again = denoise_counts(z, noises, rounds, denoise_unit)
    assert len(rounds) > 1
    assert psnr(again, clean) > psnr(once, clean) + (0.4 if peak == 1 else 0.2)
    assert again.mean() == pytest.approx(z.mean(), rel=1e-6)
    assert once.mean() == pytest.approx(z.mean(), rel=1e-6)


def test_scale_and_offset():
    z = np.random.default_rng(3).poisson(CLEAN * 2).astype(float)
    rounds = rounds_for("fast", effective_counts(z, 1.0))
    found = denoise_counts(z, [(1.0, 0.3, 0.0)], rounds, denoise_unit)
    scaled = denoise_counts(z * 8 + 100, [(8.0, 2.4, 100.0)], rounds, denoise_unit)
    np.testing.assert_allclose(scaled, found * 8 + 100, rtol=1e-6)


def test_channels_and_mask():
    clean = np.concatenate([CLEAN * 3, CLEAN * 9], axis=2).astype(np.float32)
    z = np.random.default_rng(4).poisson(clean).astype(np.float32)
    valid = np.ones(z.shape[:2], bool)
    valid[:10] = False
    seen = []

    def smooth(image, method):
        seen.append((image.shape, method))
        return image * 0 + image.mean(axis=(0, 1))

    rounds = [Round("fast", 4, 1.0), Round("best", 1, 0.5)]
    found = denoise_counts(z, [(1, 0, 0), (1, 0.5, 0)], rounds, smooth, valid)
    assert seen == [((25, 23, 2), "fast"), ((97, 91, 2), "best")]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[valid].mean(axis=0), z[valid].mean(axis=0), rtol=1e-4)


@pytest.mark.parametrize("side", [2, 4])
def test_spreading_keeps_sums(side):
    image = CLEAN[:21, :30] * [1.0, 5.0]
    sums = _sums(image, side)
    spread = _spread(sums, side, (sums.shape[0] * side, sums.shape[1] * side, 2))
    np.testing.assert_allclose(_sums(spread, side), sums, rtol=0.06)
    assert _spread(sums, side, image.shape).shape == image.shape


def test_effective_counts():
    z = np.full((4, 4), 30.0)
    assert effective_counts(z, 10, 0, 10) == pytest.approx(2)
    assert effective_counts(z, 1, np.sqrt(20), 10) == pytest.approx(10)
    assert effective_counts(z, 1, 0, 40) == 0


def test_rounds():
    assert rounds_for("fast", 100) == [Round("fast", 1, 1.0)]
    assert [r.side for r in rounds_for("fast", 5)] == [2, 1]
    assert [r.side for r in rounds_for("best", 0.5)] == [4, 2, 1]
    assert [r.method for r in rounds_for("best", 3)] == ["best", "fast", "best"]
    shares = [rounds_for("fast", counts)[-1].share for counts in (0, 0.5, 1, 2, 4, 8)]
    assert shares == sorted(shares)
