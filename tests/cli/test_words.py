"""Descriptions of noise in words agree with the numbers."""

import numpy as np
import pytest

from nnk_image import NoiseModel
from nnk_image.cli.common import range_of
from nnk_image.cli.words import described

GRAINS = [[0.2, 0.4, 0.2], [0.4, 1.0, 0.4], [0.2, 0.4, 0.2]]
DARK = [[0, 255], [3.0, 1.5]]


@pytest.mark.parametrize(
    ("noise", "text"),
    [
        (NoiseModel(0.0), "no noise"),
        (NoiseModel(0.0, rows=2.0), "no noise but row noise of 2"),
        (NoiseModel(0.7), "very weak noise, about 0.7 of 255"),
        (NoiseModel(2.4, correlation=GRAINS, curve=DARK),
         "weak, grainy noise, about 2.4 of 255, stronger in the dark"),
        (NoiseModel(10.0, columns=2.14),
         "moderate noise, about 10 of 255, with column noise of 2.1"),
        (NoiseModel(10.0, rows=120.0, columns=1.0),
         "moderate noise, about 10 of 255, with row noise of 120 and column noise of 1"),
        (NoiseModel(25.0), "strong noise, about 25 of 255"),
        (NoiseModel(25.0, uncertainty=0.3), "strong noise, about 25 of 255 (+- 30 %)"),
        (NoiseModel([50.0, 50.0, 50.0]), "very strong noise, about 50 of 255"),
        (NoiseModel(1234.0), "very strong noise, about 1200 of 255"),
        (NoiseModel(gain=2.0), "strong noise, about 16 of 255, stronger in bright parts"),
        (NoiseModel(levels=np.array([[1.0, 5.0]])),
         "weak noise, about 3.6 of 255, stronger in some places"),
    ],
)  # fmt: skip
def test_description_of_noise_models(noise, text):
    assert described(noise, 0, 255) == text


@pytest.mark.parametrize("noise", [NoiseModel(2.0, gain=0.5), NoiseModel(12.0), NoiseModel(0.0)])
def test_description_does_not_depend_on_the_units(noise):
    text = described(noise.scaled(1.0), 0, 255).partition(",")[0]
    small = NoiseModel(noise.sigma[0] / 255, gain=noise.gain[0] / 255)
    assert described(small, 0, 1).partition(",")[0] == text


def test_description_of_noise_in_a_constant_image():
    assert described(NoiseModel(3.0), 7, 7) == "very strong noise, about 3"


def test_hot_pixels_do_not_extend_the_range():
    frame = np.random.default_rng(0).normal(130, 9, (100, 100))
    low, high = range_of(frame)
    frame[5, 5], frame[6, 6] = 65535, np.nan
    assert range_of(frame) == pytest.approx((low, high), abs=0.5)
    assert range_of(np.zeros((4, 4), np.uint8)) == (0, 255)
