"""Tests of statistics of a whole image that are computed from those of its parts."""

import numpy as np
import pytest

from nnk_image import NoiseModel, standard_image
from nnk_image.base.image import check_image
from nnk_image.denoising.parts import TiledDenoising, merge_statistics
from nnk_image.denoising.statistics import Statistics


def test_statistics_of_parts_add_up():
    clean = standard_image("camera")[:200, :150, None] * np.linspace(0.8, 1, 3)
    image = (clean + np.random.default_rng(0).normal(0, 20, clean.shape)).clip(0)
    noise = NoiseModel([1.0, 0.0, 2.0], gain=[1.0, 2.0, 0.0], offset=-5.0).for_channels(3)
    parts = [check_image(p, -1) for p in np.array_split(image, 7)]
    found = merge_statistics([Statistics.of(part, noise) for part in parts])
    whole = Statistics.of(check_image(image, -1), noise)
    assert found.limits == whole.limits
    np.testing.assert_allclose(found.means, whole.means, rtol=1e-12)
    np.testing.assert_allclose(found.squares, whole.squares, rtol=1e-12)
    np.testing.assert_array_equal(found.extremes.clipped, whole.extremes.clipped)
    assert np.isfinite(found.extremes.clipped[0]).all()


def test_negative_values_are_refused_only_if_rician_noise_was_given():
    """Estimated noise may be Rician where the samples have no negative value."""
    noise = NoiseModel(2.0, rician=1)
    parts = [Statistics.of(check_image(np.array([[low, 9.0]])), noise) for low in (0, -1)]
    assert merge_statistics(parts).limits[0] == -1
    with pytest.raises(ValueError, match="magnitudes cannot be negative"):
        merge_statistics(parts, noise)


def test_values_far_below_the_offset_count_as_dark():
    image, valid = np.random.default_rng(1).poisson(30, (40, 50)) + 100.0, np.ones((40, 50), bool)
    image[:15], valid[:15] = 0, False
    noise = NoiseModel(2.0, gain=1.0, offset=100.0)
    lit = Statistics.of(check_image(image, None, valid), noise)
    (mean,) = Statistics.of(check_image(image), noise).means
    assert mean - 100 == pytest.approx((lit.means[0] - 100) * valid.mean())
    assert Statistics.of(check_image(image), NoiseModel(2.0)).means == (image.mean(),)


def test_tiles_that_are_small_beside_their_overlap_are_announced():
    def tiles(megabytes):
        image = np.zeros((400, 300), np.float32)
        return TiledDenoising(image, 9.0, "sgw", None, None, 1.0, megabytes * 10**6).tiles

    assert len(tiles(35)) == 1
    with pytest.warns(UserWarning, match="times as long as the whole image: give a larger"):
        tiles(9)
