"""Numbers of a whole image from its parts."""

from fractions import Fraction

import numpy as np
import pytest

from nnk_image import NoiseModel, standard_image
from nnk_image.base.image import check_image, to_opponent
from nnk_image.denoising import parts
from nnk_image.denoising.pipeline import plan, standardize
from nnk_image.denoising.statistics import Statistics, mean_degree, sum_of_degrees
from nnk_image.noise.standard import StandardNoise


def test_statistics_of_parts_add_up():
    clean = standard_image("camera")[:200, :150, None] * np.linspace(0.8, 1, 3)
    image = clean + np.random.default_rng(0).normal(0, 20, clean.shape)
    noise = NoiseModel([20.0, 25.0, 30.0])
    pieces = [check_image(part, -1) for part in np.array_split(image, 7)]
    found = parts.Range.statistics([*map(parts.Range.of, pieces)], None)
    assert found.limits == (image.min(), image.max())
    np.testing.assert_allclose(found.means, image.mean(axis=(0, 1)), rtol=1e-12)
    extremes = [parts.extremes(p, None, noise, "best", found) for p in pieces]
    found = parts.with_spread(found, extremes)
    whole = check_image(image, -1)
    statistics = Statistics.of(whole)
    steps = plan(whole, noise, "best", statistics)
    _, unit_image = standardize(whole, noise, steps.groups[0], statistics.limits)
    opponent = StandardNoise.of(noise, steps.groups[0], 2).opponent
    assert found.spread == statistics.spread_of(to_opponent(unit_image.pixels, opponent))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_mean_degree_does_not_depend_on_the_parts(dtype):
    degrees = np.random.default_rng(1).gamma(2, 2, 300_001).astype(dtype)
    degrees[::100] = 0
    exact = sum(Fraction(d) for d in degrees[:1000].tolist())
    total, number, largest = sum_of_degrees(degrees[:1000])
    assert (number, largest) == (990, degrees[:1000].max())
    assert abs(Fraction(total, 2**52) - exact) <= Fraction(1000, 2**52)
    found = {mean_degree([sum_of_degrees(degrees)])}
    found |= {mean_degree([*map(sum_of_degrees, np.array_split(degrees, n))]) for n in (2, 7, 99)}
    assert len(found) == 1
    assert found.pop() == pytest.approx(degrees[degrees > 0].mean(dtype=float), rel=1e-12)
    assert mean_degree([(0, 0, 0.0)]) == 0
