"""Levels of noise in the output of the commands."""

import numpy as np
import pytest

from nnk_image import NoiseModel
from nnk_image.cli.common import level_text, range_of


@pytest.mark.parametrize(
    ("noise", "text"),
    [
        (NoiseModel(0.0), "noise 0 of 255 (0.0 %)"),
        (NoiseModel(2.44, curve=[[0, 255], [3.0, 1.5]]), "noise 2.4 of 255 (1.0 %)"),
        (NoiseModel(0.0, rows=120.0, columns=2.14),
         "noise 0 of 255 (0.0 %), rows 1.2e+02, columns 2.1"),
        (NoiseModel([50.0, 50.0, 50.0]), "noise 50 of 255 (19.6 %)"),
        (NoiseModel(1234.0), "noise 1200 of 255 (483.9 %)"),
        (NoiseModel(gain=2.0), "noise 16 of 255 (6.3 %)"),
        (NoiseModel(levels=np.array([[1.0, 5.0]])), "noise 3.6 of 255 (1.4 %)"),
    ],
)  # fmt: skip
def test_text_of_noise_models(noise, text):
    assert level_text(noise, 0, 255) == text


def test_text_of_noise_in_a_constant_image():
    assert level_text(NoiseModel(3.0), 7, 7) == "noise 3"


@pytest.mark.parametrize(("high", "extent"), [(63.713, "63.7"), (62708.4, "62708"), (0.5, "0.5")])
def test_the_range_has_no_more_digits_than_needed(high, extent):
    assert f" of {extent} (" in level_text(NoiseModel(0.1), 0, high)


def test_hot_pixels_do_not_extend_the_range():
    frame = np.random.default_rng(0).normal(130, 9, (100, 100))
    low, high = range_of(frame)
    frame[5, 5], frame[6, 6] = 65535, np.nan
    assert range_of(frame) == pytest.approx((low, high), abs=0.5)
    assert range_of(np.zeros((4, 4), np.uint8)) == (0, 255)
