"""Tests of the transform of magnitudes, against SciPy's Rice distribution and random coils."""

import numpy as np
import pytest
from scipy.stats import ncx2, rice

from nnk_image.noise.magnitudes import magnitudes

SIGNALS = np.array([0, 0.3, 1, 2, 5, 12, 29.0])


def transformed(coils, signal, number=200_000):
    """Draw random magnitudes of a signal, and stabilize their variance."""
    squares = ncx2.rvs(2 * coils, signal**2, size=number, random_state=int(10 * signal))
    return magnitudes(coils).forward(np.sqrt(squares))


def test_variance_is_that_of_the_rice_distribution():
    np.testing.assert_allclose(magnitudes(1).variance(SIGNALS), rice.var(SIGNALS), rtol=2e-3)
    means = rice.mean(SIGNALS)
    np.testing.assert_allclose(magnitudes(1).signal_of_mean(means), SIGNALS, atol=0.02)


@pytest.mark.parametrize("coils", [1, 2, 12])
def test_stabilized_noise_has_unit_level(coils):
    for signal in (*SIGNALS, 60.0):
        weak = signal < 3
        assert transformed(coils, signal).std() == pytest.approx(1, abs=0.13 if weak else 0.03)


@pytest.mark.parametrize("coils", [1, 2, 12])
def test_inverse_of_the_mean_is_the_signal(coils):
    for signal in (*SIGNALS[2:], 60.0):
        mean = transformed(coils, signal).mean(keepdims=True)
        assert magnitudes(coils).inverse(mean)[0] == pytest.approx(signal, abs=0.03 * coils)
    assert magnitudes(coils).inverse(np.array([-3.0]))[0] == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_is_increasing_and_keeps_the_dtype(dtype):
    z = np.linspace(0, 80, 5000, dtype=dtype)
    d = magnitudes(1).forward(z)
    assert d.dtype == dtype
    assert np.all(np.diff(d[z > 0.1]) > 0)
    assert magnitudes(1).inverse(d).dtype == dtype
