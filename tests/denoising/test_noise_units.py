"""Units of noise and back, and the numbers of a whole image that are handed down to its parts."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from nnk_image.denoising.noise_units import NoiseUnits

from nnk_image.base.image import check_image
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising import NoiseModel, wavelet_lowpass
from nnk_image.denoising.statistics import MODERATE, STRONG, WholeImage
from nnk_image.graph.pruning import DEFAULT_WINDOW

PIXELS = np.random.default_rng(23).random((20, 24, 3)) * 200 + 30
GREY = PIXELS[..., 0]


def limits_of(image):
    return image.low, image.high


def units_of(image, *sigma, **options):
    return NoiseUnits(NoiseModel(*sigma, **options), image, limits_of(image))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_there_and_back(dtype):
    image = check_image(PIXELS.astype(dtype), -1, None)
    units = units_of(image, [10, 12, 15])
    ((part, standard),) = units.standardize()
    assert standard.is_white
    assert standard.variances is None
    centre = (image.low + image.high) / 2
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(part.pixels, (PIXELS - centre) / [10, 12, 15], atol=200 * eps)
    assert (part.low, part.high) == (part.pixels.min(), part.pixels.max())
    np.testing.assert_allclose(units.restore([part.pixels]), image.pixels, rtol=8 * eps)


def test_channels_of_uneven_noise_go_one_by_one():
    units = units_of(check_image(PIXELS, -1, None), [1, 5, 20])
    parts = [part for part, _ in units.standardize()]
    assert [part.pixels.shape for part in parts] == [(20, 24, 1)] * 3
    again = units.restore([part.pixels for part in parts])
    np.testing.assert_allclose(again, PIXELS, rtol=1e-14)


def test_channels_without_noise_come_back_untouched():
    image = check_image(PIXELS, -1, None)
    units = units_of(image, [0, 7, 7])
    ((part, _),) = units.standardize()
    assert part.pixels.shape == (20, 24, 2)
    again = units.restore([np.zeros_like(part.pixels)])
    np.testing.assert_array_equal(again[..., 0], GREY)
    np.testing.assert_array_equal(again[..., 1:], (image.low + image.high) / 2)
    silent = units_of(image, 0)
    assert silent.standardize() == []
    np.testing.assert_array_equal(silent.restore([]), PIXELS)


def test_absent_pixels_are_filled_from_beside_and_come_back():
    pixels = GREY.copy()
    valid = np.ones(pixels.shape, bool)
    valid[5, 6] = False
    pixels[5, 6] = np.nan
    units = units_of(check_image(pixels, None, valid), 9.0)
    ((part, _),) = units.standardize()
    beside = part.pixels[[4, 6, 5, 5], [6, 6, 5, 7], 0]
    assert part.pixels[5, 6, 0] in beside
    again = units.restore([part.pixels])[..., 0]
    assert np.isnan(again[5, 6])
    np.testing.assert_allclose(again[valid], pixels[valid], rtol=1e-14)


def test_the_covariance_of_channels_is_rotated_to_opponent_colour():
    """Channels in proportion; the covariance of opponent channels against the definition."""
    rng = np.random.default_rng(4)
    mixing = rng.normal(size=(3, 3))
    among = mixing @ mixing.T
    shape = np.outer([0.2, 1, 0.2], [0.4, 1, 0.4])
    covariance = among[:, :, None, None] * shape
    image = check_image(PIXELS, -1, None)
    units = units_of(image, autocovariance=covariance)
    ((part, standard),) = units.standardize()
    scale = np.sqrt(np.trace(among) / 3)
    centre = (image.low + image.high) / 2
    np.testing.assert_allclose(part.pixels, (PIXELS - centre) / scale, rtol=1e-12)
    rotation = np.array([[1, 1, 1], [1.5**0.5, 0, -(1.5**0.5)], [0.5**0.5, -(2**0.5), 0.5**0.5]])
    own = np.diagonal(rotation @ among @ rotation.T) / 3 / scale**2
    np.testing.assert_allclose(standard.levels, np.sqrt(own), rtol=1e-12)
    for correlation in standard.correlations:
        np.testing.assert_allclose(correlation, shape, atol=0.01)
    np.testing.assert_allclose(units.restore([part.pixels]), PIXELS, rtol=1e-12)


def test_levels_become_variances_of_mean_one():
    levels = np.linspace(5, 25, GREY.size).reshape(GREY.shape)
    ((part, standard),) = units_of(check_image(GREY), levels=levels).standardize()
    assert standard.variances.mean() == pytest.approx(1)
    ratio = standard.variances[-1, -1] / standard.variances[0, 0]
    assert ratio == pytest.approx(25)
    even = units_of(check_image(GREY), levels=np.full(GREY.shape, 7.0)).standardize()
    assert even[0][1].variances is None
    assert part.pixels.shape == (20, 24, 1)


def test_photon_noise_is_stabilised_and_keeps_the_mean():
    clean = np.tile(np.linspace(20, 220, 48), (40, 1))
    counts = 3.0 * np.random.default_rng(0).poisson(clean / 3.0)
    seen = []

    def smooth(part, standard, method):
        assert standard.is_white
        assert method == "fast"
        seen.append(part.pixels.std(axis=0))
        return part.pixels

    image = check_image(counts)
    result = units_of(image, gain=3.0).denoise("fast", smooth)[..., 0]
    assert np.mean(seen) == pytest.approx(1, abs=0.05)
    assert result.mean() == pytest.approx(counts.mean(), rel=1e-12)


def test_a_whole_image_completes_only_what_is_unknown():
    noise = NoiseModel(10.0)
    channels = np.random.default_rng(1).normal(0, 3, (1, 40, 50))
    found = WholeImage(noise, (0.0, 255.0)).completed(channels)
    assert found.spread == np.ptp(channels)
    assert found.contrast == pytest.approx(1 / np.sqrt(np.var(channels) - 1))
    given = WholeImage(noise, (0.0, 255.0), contrast=0.25, spread=40.0)
    assert given.completed(channels) == given
    assert pickle.loads(pickle.dumps(found)) == found
    flags = [
        (whole.noise_is_moderate, whole.noise_is_strong)
        for whole in (replace(found, contrast=c) for c in (MODERATE / 2, MODERATE, STRONG))
    ]
    assert flags == [(False, False), (True, False), (True, True)]


def test_a_part_is_filtered_with_tau_and_bound_of_the_whole():
    """So the inside of a part is what it is in the whole image."""
    image = check_image((np.vstack([GREY] * 20) - 130) / 20, None, None)
    whole = WholeImage(NoiseModel(1.0), limits_of(image), tau=2.5, bound=2.0)
    reach = wavelet_lowpass.ORDER * (DEFAULT_WINDOW[2] // 2)
    top = check_image(image.pixels[: reach + 60, :, 0], None, None)
    with RowExecutor() as executor:
        expected = wavelet_lowpass.denoise(image, whole, executor)
        found = wavelet_lowpass.denoise(top, whole, executor)
        other = wavelet_lowpass.denoise(top, replace(whole, tau=5.0), executor)
    np.testing.assert_array_equal(found[:40], expected[:40])
    assert abs(other[:40] - found[:40]).max() > 0.01
