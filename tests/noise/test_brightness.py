"""Tests of the noise level by brightness: fitted lines, and levels of brightness bins."""

from types import SimpleNamespace

import numpy as np
import pytest

from nnk_image.noise.brightness import Line, weighted_medians
from nnk_image.noise.fit import by_brightness

BRIGHTNESS = np.linspace(-0.9, 0.9, 8)
LINES = [(0.01, 0.02), (0.0, 0.01), (-0.005, 0.01), (2e4, 3e4), (1e-9, 2e-9)]


def line_through(slope, intercept, brightness=BRIGHTNESS, factors=1.0):
    return Line.through(brightness, factors * (slope * brightness + intercept))


@pytest.mark.parametrize(("slope", "intercept"), LINES)
def test_exact_lines_are_recovered(slope, intercept):
    line = line_through(slope, intercept)
    assert line.slope == pytest.approx(slope, rel=1e-6, abs=1e-9 * intercept)
    assert line.intercept == pytest.approx(intercept, rel=1e-6)
    assert line.deviation < 1e-6
    np.testing.assert_allclose(line.at(BRIGHTNESS), slope * BRIGHTNESS + intercept)


@pytest.mark.parametrize("factor", [2, 5, 50])
@pytest.mark.parametrize(("slope", "intercept"), LINES)
@pytest.mark.parametrize("bins", [[0], [3], [7], [0, 1], [2, 5], [6, 7]])
def test_bins_with_texture_are_ignored(slope, intercept, bins, factor):
    factors = np.ones(8)
    factors[bins] = factor
    line = line_through(slope, intercept, factors=factors)
    expected = slope * BRIGHTNESS + intercept
    np.testing.assert_allclose(line.at(BRIGHTNESS), expected, rtol=0.02)
    assert line.deviation > 0.3
    assert not line.grows(*BRIGHTNESS[[0, -1]])


@pytest.mark.parametrize("bins", [[2, 3, 4, 5, 6], [0, 1, 2, 3], [4, 5, 6, 7]])
def test_uncertain_bins_do_not_tilt_the_line(bins):
    """On a page of text, only the few bins of the paper show the noise."""
    variances, certainty = np.full(8, 0.01), np.ones(8)
    variances[bins], certainty[bins] = np.geomspace(0.5, 2, len(bins)), 0.1
    line = Line.through(BRIGHTNESS, variances, certainty)
    np.testing.assert_allclose(line.at(BRIGHTNESS), 0.01, rtol=0.05)


def test_without_texture_high_variances_are_not_discounted():
    """In bins without texture, variances above the line are due to noise."""
    variances = 0.01 * np.exp(3 * BRIGHTNESS)
    envelope, fitted = (Line.through(BRIGHTNESS, variances, texture=t) for t in (1.0, 0.0))
    brightest = BRIGHTNESS[-1:]
    assert envelope.at(brightest) < fitted.at(brightest) < 1.5 * variances[-1]


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


def test_errors_are_relative():
    """The line fits weak noise as closely as strong noise."""
    rng, found = np.random.default_rng(0), []
    brightness = np.linspace(0, 1, 8)
    for _ in range(200):
        factors = np.exp(rng.normal(0, 0.05, 8))
        line = line_through(1.0, 0.1, brightness, factors)
        found.append([line.at(brightness)[0] / 0.1, line.at(brightness)[-1] / 1.1])
    assert np.mean(found) == pytest.approx(1, abs=0.02)
    assert np.all(np.std(found, axis=0) < 0.08)


def test_fitted_variances_are_positive():
    line = Line(slope=1.0, intercept=0.2, power=1, deviation=0.0)
    found = line.at(BRIGHTNESS)
    assert np.all(found > 0)
    np.testing.assert_allclose(found[BRIGHTNESS > 0], BRIGHTNESS[BRIGHTNESS > 0] + 0.2)


def test_line_through_a_single_bin():
    line = Line.through(np.array([0.3]), np.array([0.02]))
    assert line.at(np.array([0.3])) == pytest.approx(0.02)
    assert not line.grows(0.3, 0.3)


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


# --- levels of bins ----------------------------------------------------------------------


def measured(levels, white):
    """Return a stand-in for a Scale with these variances: what `by_brightness` reads of it."""
    levels, white = np.atleast_2d(levels), np.atleast_2d(white)
    return SimpleNamespace(
        levels=levels,
        white=white,
        typical=np.median(levels, axis=1),
        typical_white=np.median(white, axis=1),
    )


def test_white_noise_follows_its_own_variances():
    white = np.linspace(1, 3, 7)
    found = by_brightness(measured(np.ones(7), white), 5.0, 0.0, np.inf)
    np.testing.assert_allclose(found, 5 * white / 2)
    rising = by_brightness(measured(white, np.ones(7)), 5.0, 4.0, np.inf)
    assert np.all(np.diff(rising) > 0)
    assert rising[3] == pytest.approx(9)


def test_levels_of_all_bins_are_positive():
    found = by_brightness(measured(np.ones(7), [0.0, 0, 0, 1, 1, 1, 1]), 5.0, 0.0, np.inf)
    assert np.all(found > 0)


def test_weighted_medians():
    values = np.array([[5.0, 1.0, 3.0], [2.0, 2.0, 9.0]])
    np.testing.assert_allclose(weighted_medians(values, np.ones(3)), [3, 2])
    np.testing.assert_allclose(weighted_medians(values, np.array([1.0, 0, 0])), [5, 2])


def test_an_uncertain_bin_does_not_hide_a_line():
    """Nor do bright bins that seem to be texture, if a line through all of them fits."""
    brightness = np.array([-0.91, -0.9, -0.9, -0.9, -0.9, -0.69, -0.2, 0.32])
    variances = 1 + 21.4 * (brightness + 0.91)
    certainty = np.where(brightness == -0.69, 0.6, 1)
    texture = np.array([0, 0, 0, 0, 0.4, 0.5, 0.8, 1])
    line = Line.through(brightness, variances, certainty, texture)
    assert line.grows(-0.91, 0.32)
    np.testing.assert_allclose(line.at(brightness), variances, rtol=0.02)
