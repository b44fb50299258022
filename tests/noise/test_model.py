"""Tests of `NoiseModel`: serialization, equality, representation and refused arguments."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import nnk_image
from nnk_image import NoiseModel, denoise
from nnk_image.noise.model import deviations

CLEAN = nnk_image.standard_image("camera")[:96, 100:200].astype(float)
BINOMIAL = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 36.0
AMONG = np.array([[4.0, 1, 0], [1, 9, 2], [0, 2, 1]])[..., None, None]
LONG = np.pad(np.outer([0.2, 1, 0.2], [0.3, 1, 0.3]), 30)  # with row noise
LONG[31] += 0.5
with_covariance = NoiseModel.from_autocovariance

MODELS = [
    NoiseModel(12.0),
    NoiseModel([3.0, 4.0, 5.0]),
    NoiseModel(2.0, gain=1.5, offset=-3.0, uncertainty=0.04),
    with_covariance(BINOMIAL, 9.0),
    with_covariance(BINOMIAL, gain=[1.0, 2.0, 1.0]),
    with_covariance(AMONG * BINOMIAL),
    with_covariance(7 * LONG),
    with_covariance(7 * LONG.T, 3.0),
    NoiseModel(5.0, rows=2.0, columns=0.1),
    NoiseModel(levels=np.linspace(1, 9, 20).reshape(4, 5)),
    NoiseModel(levels=np.linspace(1, 9, 20).reshape(4, 5), correlation=BINOMIAL),
    NoiseModel(curve=[[0, 100, 255], [3, 9, 4]]),
    NoiseModel(3.0, rician=True),
    NoiseModel(levels=np.linspace(1, 9, 20).reshape(4, 5), rician=8),
    with_covariance(49 * BINOMIAL, curve=[[0, 255], [1, 2]]),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_json_round_trip(model):
    again = NoiseModel.from_json(model.to_json())
    assert again == model
    assert hash(again) == hash(model)
    assert repr(again) == repr(model)
    assert again.to_json() == model.to_json()
    assert model == replace(model)
    assert sum(model == other for other in MODELS) == 1


def test_a_model_is_a_frozen_value():
    levels = np.linspace(1, 9, 20).reshape(4, 5)
    model = NoiseModel(levels=levels)
    levels[0] = 77
    assert model.levels[0, 0] == 1
    with pytest.raises(FrozenInstanceError):
        model.sigma = 3
    with pytest.raises(ValueError, match="read-only"):
        model.levels[0] = 3
    assert len({model, replace(model), NoiseModel(12.0), NoiseModel(12)}) == 2
    assert NoiseModel(12.0) != 12.0


def test_signs_of_zeros_do_not_matter():
    assert NoiseModel(1, rows=-0.0) == NoiseModel(1)


def test_scaled_multiplies_all_standard_deviations():
    for model in MODELS:
        twice = model.scaled(2)
        assert twice.sigma == tuple(2 * s for s in model.sigma)
        assert twice.gain == tuple(4 * g for g in model.gain)
        assert (twice.rows, twice.columns) == (2 * model.rows, 2 * model.columns)
        assert twice.scaled(0.5) == model


def test_noise_level_combines_poisson_and_read_noise():
    noise = NoiseModel([3.0, 4.0], gain=[2.0, 0.0], offset=[10.0, 0.0])
    intensity = np.array([0.0, 10.0, 110.0])
    expected = [np.sqrt(9 + 2 * np.array([0, 0, 100])), [4, 4, 4]]
    np.testing.assert_allclose(deviations(noise, intensity), expected)


@pytest.mark.parametrize("shape", [(8, 8), (9, 8), (16, 13)])
def test_oriented_psd_by_a_formula(shape):
    """At the Nyquist frequency, a spectrum given by a formula is not symmetric."""
    down, right = np.meshgrid(*map(np.fft.fftfreq, shape), indexing="ij")
    down, right = NoiseModel.from_psd((down + 2 * right) ** 2).neighbor_correlation()
    assert right < down < 0


def test_psd_and_autocovariance_agree():
    psd = 25 * abs(np.fft.fft2(np.outer([1, 2, 1], [1, 2, 1]) / 6.0, (64, 80))) ** 2
    by_psd, by_covariance = NoiseModel.from_psd(psd), with_covariance(25 * BINOMIAL)
    assert by_psd.sigma == pytest.approx(by_covariance.sigma)
    middle = tuple(slice(n // 2 - 2, n // 2 + 3) for n in by_psd.correlation.shape)
    np.testing.assert_allclose(by_psd.correlation[middle], by_covariance.correlation, atol=1e-12)
    rest = by_psd.correlation.copy()
    rest[middle] = 0
    assert abs(rest).max() < 1e-12


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NoiseModel(-1), "sigma=-1 must be"),
        (lambda: NoiseModel(gain=-0.5), "gain=-0.5 must be"),
        (lambda: NoiseModel([1, 2], gain=[1, 2, 3]), "have 2, 3 and 1 values"),
        (lambda: NoiseModel.from_psd(-np.ones((5, 5))), "psd .* nowhere negative, .* is -1"),
        (lambda: NoiseModel.from_psd(np.fft.fftshift(np.eye(1, 9))), "psd differs .*ifftshift"),
        (lambda: NoiseModel.from_psd(np.tile(np.arange(9, 0, -1), (9, 1))), "psd .* of rfft2"),
        (lambda: with_covariance(np.ones((2, 3))), "odd height and width"),
        (lambda: with_covariance(np.full((3, 3), np.inf)), "up to inf"),
        (lambda: with_covariance(np.full((3, 3), np.nan)), "up to nan"),
        (lambda: with_covariance(np.zeros((3, 3))), "0 in the middle: it must be finite, positive"),
        (lambda: with_covariance([[1, 9, 2]]), "and its opposite"),
        (lambda: with_covariance(np.ones((2, 3, 3, 3))), "C channels"),
        (lambda: with_covariance(np.fft.ifftshift(BINOMIAL)), "nowhere larger.*fftshift"),
        (lambda: NoiseModel(levels=[[1.0, 0.0]]), "1 of 2 levels are not above 0.*row 0, column 1"),
        (lambda: NoiseModel(levels=[[1.0, np.nan]]), r"column 1 \(nan\)"),
        (lambda: NoiseModel(gain=3, levels=np.ones((2, 2))), "gain cannot be combined"),
        (lambda: NoiseModel(levels=[[1, 2]], curve=[[1, 2], [3, 3]]), "levels cannot be combined"),
        (lambda: NoiseModel(correlation=4 * BINOMIAL), "correlation must be 1 in the middle"),
        (lambda: NoiseModel(rows=-1), "rows=-1 must be"),
        (lambda: NoiseModel(columns=-1), "columns=-1 must be"),
        (lambda: NoiseModel(curve=[[2, 1], [3, 3]]), "intensities that rise"),
        (lambda: NoiseModel.from_json("{1"), "Expecting property name"),
        (lambda: NoiseModel.from_json("a.json"), "'a.json' is not JSON"),
        (lambda: NoiseModel.from_json("{}"), "not a noise model of format 2"),
        (lambda: NoiseModel.from_json('{"noise_model": 1}'), "not a noise model of format 2"),
        (lambda: NoiseModel.from_json('{"noise_model": 2, "sigmas": 3}'), "unknown entries"),
        (lambda: denoise(CLEAN, np.ones((5, 5))), r"sigma has levels of shape \(5, 5\)"),
        (lambda: denoise(CLEAN, np.ones((*CLEAN.shape, 1))), "each pixel, the same for all"),
        (lambda: denoise(CLEAN, NoiseModel([1, 2])), "2 values, but the image has 1 channel:"),
        (lambda: denoise(CLEAN, NoiseModel(gain=[1, 2])), "gain has 2 values"),
        (lambda: denoise(CLEAN, NoiseModel(levels=np.ones((3, 3)))), r"levels of shape \(3, 3\)"),
        (lambda: denoise(CLEAN, 5, strength=0), "strength=0 must be"),
    ],
)  # fmt: skip
def test_error_messages(make, message):
    with pytest.raises(ValueError, match=message):
        make()
