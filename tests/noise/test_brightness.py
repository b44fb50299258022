"""Tests of the noise level by brightness: fitted lines."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from nnk_image.noise.brightness import Line, nonnegative_fit

BRIGHTNESS = np.linspace(-0.9, 0.9, 8)
LINES = [(0.01, 0.02), (0.0, 0.01), (-0.005, 0.01), (2e4, 3e4), (1e-9, 2e-9)]
BINS = [[0], [3], [7], [0, 1], [2, 5], [6, 7]]


def line_through(slope, intercept, factors=1.0):
    return Line.through(BRIGHTNESS, factors * (slope * BRIGHTNESS + intercept))


@pytest.mark.parametrize(("slope", "intercept"), LINES)
def test_exact_lines_are_recovered(slope, intercept):
    line = line_through(slope, intercept)
    assert line.slope == pytest.approx(slope, rel=1e-6, abs=1e-9 * intercept)
    assert line.intercept == pytest.approx(intercept, rel=1e-6)
    assert line.deviation < 1e-6
    np.testing.assert_allclose(line.at(BRIGHTNESS), slope * BRIGHTNESS + intercept)


@pytest.mark.parametrize(
    ("slope", "intercept", "bins", "factor"),
    [
        *((*LINES[0], bins, factor) for bins in BINS for factor in (2, 50)),
        *((*line, bins, 2) for line, bins in zip(LINES[1:], BINS[1:5], strict=True)),
    ],
)
def test_bins_with_texture_are_ignored(slope, intercept, bins, factor):
    factors = np.ones(8)
    factors[bins] = factor
    line = line_through(slope, intercept, factors=factors)
    expected = slope * BRIGHTNESS + intercept
    np.testing.assert_allclose(line.at(BRIGHTNESS), expected, rtol=0.02)
    assert line.deviation > 0.3
    assert not line.grows(*BRIGHTNESS[[0, -1]])


@pytest.mark.parametrize("read", [0.0, 0.5, 5.0])
def test_noise_proportional_to_the_brightness(read):
    """The variance is quadratic; that of shot noise with a small proportional part is linear."""
    light = np.array([20, 30, 40, 50, 70, 110, 130, 150])
    variances = (0.2 * light + read) ** 2
    line = Line.through(light, variances)
    assert line.power == 2
    assert not line.grows(20, 150)
    np.testing.assert_allclose(line.at(light), variances, rtol=1e-6)
    assert Line.through(light, 2.0 * light + (0.05 * light) ** 2).power == 1
    assert Line.through(light, variances, powers=(1,)).power == 1


@pytest.mark.parametrize("n_zeros", [1, 4, 7, 8])
def test_bins_without_noise(n_zeros):
    variances = np.where(np.arange(8) < n_zeros, 0, 0.01)
    line = Line.through(BRIGHTNESS, variances)
    assert np.all(np.isfinite([line.slope, line.intercept, line.deviation]))
    found = line.at(BRIGHTNESS)
    assert np.all(np.isfinite(found))
    assert np.all(found >= 0)
    assert not line.grows(*BRIGHTNESS[[0, -1]])


@pytest.mark.parametrize(
    ("slope", "intercept", "grows"),
    [(0.01, 0.012, True), (0.0, 0.01, False), (0.0005, 0.01, False), (-0.01, 0.012, False)],
)
def test_noise_that_grows_with_the_brightness(slope, intercept, grows):
    assert line_through(slope, intercept).grows(*BRIGHTNESS[[0, -1]]) == grows


def test_uncertain_bins_do_not_make_a_slope():
    """On a page, most bins are paper of one brightness, and the dark ones are text."""
    brightness = np.array([0.41, 0.76, 0.844, 0.847, 0.849, 0.851, 0.853, 0.857])
    variances = np.array([56, 12, 1, 1, 1, 1, 1, 1])
    certainty, texture = np.array([0.2, 0.1, 1, 1, 1, 1, 1, 1]), brightness == 0.76
    line = Line.through(brightness, variances, certainty, texture)
    np.testing.assert_allclose(line.at(brightness[2:]), 1, rtol=0.1)
    assert line.at(brightness)[0] < 5


@pytest.mark.parametrize("seed", range(40))
def test_coefficients_that_are_not_negative(seed):
    rng = np.random.default_rng(seed)
    columns = rng.random((rng.integers(1, 9), 2))
    values = rng.random(len(columns)) * (rng.random(len(columns)) < 0.7)
    if seed % 4 == 0:  # proportional columns, one of which may be 0
        columns[:, 1] = seed % 3 * columns[:, 0]
    found = nonnegative_fit(columns, values)
    best = lsq_linear(columns, values, bounds=(0, np.inf), tol=1e-13).cost
    assert found.min() >= 0
    assert np.sum((columns @ found - values) ** 2) / 2 <= best + 1e-9
