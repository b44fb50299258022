"""Tests of variance stabilization, against exact sums and random counts."""

import numpy as np
import pytest
from scipy.stats import poisson

from nnk_image.noise.stabilization import Stabilizer

LEVELS = np.array([0, 0.01, 0.1, 0.5, 1, 3, 10, 30, 49, 51, 80])
MODELS = [(1, 0, 0, 1), (1, 0, 0, 0.4), (2, 1, -3, 1), (0.5, 0.6, 10, 0.6), (4, 10, 0, 1)]


def mean_by_sums(counts, read, share):
    """Return the mean stabilized value, by summing over counts and a fine Gaussian grid."""
    lift = 3 / 8 + (read / share) ** 2
    k = np.arange(int(counts + 12 * np.sqrt(counts)) + 30)
    n = np.linspace(-9, 9, 4001) if read else np.zeros(1)
    gauss = np.exp(-(n**2) / 2)
    mixed = k[:, None] / share + (1 - share) * counts / share**2 + read / share * n
    roots = 2 * np.sqrt(np.maximum(mixed + lift, 0)) - 2 * np.sqrt(lift)
    return poisson.pmf(k, counts) @ roots @ gauss / gauss.sum()


@pytest.mark.parametrize("model", MODELS)
def test_mean_matches_exact_sums(model):
    gain, read, offset, share = model
    found = Stabilizer(*model).mean(offset + gain * LEVELS)
    truth = [mean_by_sums(counts, read / gain, share) for counts in LEVELS]
    np.testing.assert_allclose(found, truth, atol=3e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [*MODELS, (1e-4, 12, 0, 1), (1, 7.5, 0, 1), (1, 0.2, 0, 0.9)])
def test_inverse_of_the_mean_is_the_intensity(model, dtype):
    gain, _, offset, _ = model
    counts = np.concatenate([LEVELS, np.geomspace(100, 1e6, 20)])
    stabilizer = Stabilizer(*model)
    d = stabilizer.mean(offset + gain * counts).astype(dtype)
    back = stabilizer.inverse(d)
    assert back.dtype == dtype
    room = 1e-3 if dtype == np.float64 else 1e-3 * max(1, model[1] / gain)
    np.testing.assert_allclose((back - offset) / gain, counts, rtol=1e-4, atol=room)


@pytest.mark.parametrize(("gain", "read", "share"), [(1, 0, 1), (3, 2, 1), (2, 1, 0.5)])
def test_stabilized_noise_has_unit_level(gain, read, share):
    rng = np.random.default_rng(0)
    for x in (15.0, 60.0, 400.0):
        z = 7 + gain * rng.poisson(x, 200_000) + read * rng.normal(size=200_000)
        mixture = share * z + (1 - share) * (7 + gain * x)
        assert Stabilizer(gain, read, 7, share).forward(mixture).std() == pytest.approx(1, rel=0.02)


def test_scale_and_offset_do_not_matter():
    z = np.random.default_rng(2).poisson(3, (20, 30)) * 1.0
    unit = Stabilizer(1, 0.5).forward(z)
    scaled = Stabilizer(1e-3, 5e-4, 9)
    np.testing.assert_allclose(scaled.forward(z * 1e-3 + 9), unit, atol=1e-9)
    expected = Stabilizer(1, 0.5).inverse(unit) * 1e-3 + 9
    np.testing.assert_allclose(scaled.inverse(unit), expected, rtol=1e-12)


def test_read_noise_alone_is_only_scaled():
    z = np.linspace(-20, 300, 50)
    unit = Stabilizer(1e-7, 12).forward(z)
    np.testing.assert_allclose(unit, z / 12, atol=1e-5)
    np.testing.assert_allclose(Stabilizer(1e-7, 12).inverse(unit), np.maximum(z, 0), atol=1e-4)


def test_dark_and_nan_pixels():
    stabilizer = Stabilizer(2, 1, 10)
    d = stabilizer.forward(np.array([[-1e6, 10, np.nan]]))
    assert d[0, 1] == 0
    assert np.isnan(d[0, 2])
    np.testing.assert_array_equal(stabilizer.inverse(d)[0, :1], [10])
