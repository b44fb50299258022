"""Tests of noise that is correlated across the slices of a volume."""

import numpy as np
import pytest
from scipy.ndimage import correlate1d

import nnk_image
from nnk_image import NoiseModel, denoise, estimate_noise

KERNELS = {"white": [1.0], "two slices": [0.5, 1.0], "three slices": [0.5, 1.0, 0.5]}


def picture(side=96):
    return nnk_image.standard_image("camera")[80 : 80 + side, 60 : 60 + side].astype(float)


def moving(depth):
    """Return a volume in which an image moves by one pixel per slice along both axes."""
    whole = nnk_image.standard_image("camera").astype(float)
    return np.stack([whole[40 + z : 136 + z, 60 + z : 156 + z] for z in range(depth)])


def noise_of(shape, kernel, sigma, seed=0):
    white = np.random.default_rng(seed).normal(0, sigma, (shape[0] + 2, *shape[1:]))
    kernel = np.pad(kernel, (0, 1 - len(kernel) % 2)) / np.linalg.norm(kernel)
    return correlate1d(white, kernel, 0)[1:-1]


def correlation_of(kernel):
    kernel = np.array(kernel) / np.linalg.norm(kernel)
    return np.correlate(kernel, kernel, "full")


def across(model):
    """Return the correlation of a model across slices, [1] if it has none."""
    if model.correlation is None or model.correlation.ndim < 3:
        return np.ones(1)
    _, height, width = model.correlation.shape
    return model.correlation[:, height // 2, width // 2]


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("scene", ["moving", "the same in all slices, with weak noise"])
def test_correlation_across_slices_is_estimated(scene, kernel):
    clean, sigma = moving(20), 15
    if scene != "moving":
        clean, sigma = np.repeat(picture()[None], 20, axis=0), 1
    model = estimate_noise(clean + noise_of(clean.shape, kernel, sigma), spacing=1)
    truth, found = correlation_of(kernel), across(model)
    assert len(found) == len(truth)
    np.testing.assert_allclose(found, truth, atol=0.1)


def test_constant_background_and_masked_pixels_are_ignored():
    clean = moving(16)
    noisy = clean + noise_of(clean.shape, KERNELS["three slices"], 15)
    mask = np.full(noisy.shape, True)
    mask[:, :, 64:] = False
    for value, given in ((0, None), (np.nan, mask)):
        noisy[~mask] = value
        found = across(estimate_noise(noisy, spacing=1, mask=given))
        np.testing.assert_allclose(found, correlation_of([0.5, 1, 0.5]), atol=0.1)


def test_clipped_noise_is_ignored():
    """It is less correlated."""
    clean = np.zeros((16, 96, 96))
    clean[:, :, 64:] = 100
    noisy = (clean + noise_of(clean.shape, KERNELS["three slices"], 15)).clip(0)
    found = across(estimate_noise(noisy, spacing=1))
    np.testing.assert_allclose(found, correlation_of([0.5, 1, 0.5]), atol=0.05)


@pytest.mark.parametrize("kind", ["white", "poisson"])
def test_white_and_poisson_kinds_have_no_correlation(kind):
    clean = moving(12)
    noisy = clean + noise_of(clean.shape, KERNELS["three slices"], 15)
    assert estimate_noise(noisy, spacing=1, kind=kind).correlation is None


def test_few_slices_and_a_sequence_of_volumes():
    clean = moving(16)
    noisy = clean + noise_of(clean.shape, KERNELS["three slices"], 15)
    assert len(across(estimate_noise(noisy[:4], spacing=1))) == 1
    sequence = noisy.reshape(2, 8, *noisy.shape[1:])
    found = across(estimate_noise(sequence, spacing=1))
    np.testing.assert_allclose(found, correlation_of([0.5, 1, 0.5]), atol=0.1)


def test_blind_result_is_nearly_as_good_as_with_known_correlation():
    clean = moving(12)[:, :64, :64]
    kernel = KERNELS["three slices"]
    noisy = clean + noise_of(clean.shape, kernel, 15)
    model = NoiseModel(15, correlation=correlation_of(kernel)[:, None, None])
    scores = [
        -10 * np.log10(np.mean((denoise(noisy, noise, spacing=1) - clean) ** 2))
        for noise in (None, model, 15)
    ]
    assert scores[0] > scores[1] - 0.3
    assert scores[0] > scores[2] + 1


def test_some_blocks_of_large_slices_are_enough(monkeypatch):
    monkeypatch.setattr("nnk_image.noise.slices._MOST_PIXELS", 5 * 240 * 240 // 3)
    clean = np.repeat(nnk_image.standard_image("camera")[None, :240, :240].astype(float), 6, axis=0)
    noisy = clean + noise_of(clean.shape, KERNELS["two slices"], 15)
    found = across(estimate_noise(noisy, spacing=1))
    np.testing.assert_allclose(found, correlation_of(KERNELS["two slices"]), atol=0.2)


def test_noise_of_running_means_is_estimated():
    """A mean of four slices decays in proportion to the distance, as moving edges do, but to 0."""
    noisy = moving(24) + noise_of((24, 96, 96), [1.0, 1, 1, 1], 10)
    np.testing.assert_allclose(
        across(estimate_noise(noisy, spacing=1)), correlation_of([1, 1, 1, 1]), atol=0.1
    )


def test_structure_and_repeated_slices_are_not_taken_for_correlated_noise():
    equal = np.repeat(picture()[None], 12, axis=0)
    # The mean of twelve slices of fine texture correlates by 1 - d / 12 at a distance of d.
    texture = np.random.default_rng(0).normal(size=(23, 96, 96))
    slow = 100 + 6 * np.stack([texture[z : z + 12].sum(axis=0) for z in range(12)])
    # A film of 15 frames per second may be stored with 30.
    repeated = np.repeat(moving(12) + noise_of((12, 96, 96), [1.0], 10), 2, axis=0)
    models = [
        estimate_noise(volume, spacing=1)
        for volume in (equal, slow + noise_of(slow.shape, [1.0], 8, seed=1), repeated)
    ]
    assert [len(across(model)) for model in models] == [1, 1, 1]
    assert models[2].sigma[0] == pytest.approx(10, rel=0.1)


def test_brightness_that_alternates_between_slices():
    """The noise of a difference grows with the light of both slices, not of the first alone."""
    rng, light = np.random.default_rng(0), np.where(np.arange(16) % 2, 0.4, 1.6)[:, None, None]
    counts = 3 * rng.poisson(light * np.repeat(picture()[None], 16, axis=0) / 3).astype(float)
    noisy = counts + rng.normal(0, 1, counts.shape)
    assert estimate_noise(noisy, spacing=1).gain[0] == pytest.approx(3, rel=0.15)


@pytest.mark.parametrize("name", ["grass", "gravel"])
def test_texture_that_slices_share_is_no_noise(name):
    clean = np.repeat(nnk_image.standard_image(name)[None, :96, :96].astype(float), 8, axis=0)
    kernel = np.array([1, 2, 1]) / np.sqrt(6)
    noise = np.random.default_rng(5).normal(0, 12, clean.shape)
    noisy = clean + correlate1d(correlate1d(noise, kernel, 1), kernel, 2)
    correlation = np.convolve(kernel, kernel)
    known = NoiseModel(12, correlation=np.outer(correlation, correlation))
    assert estimate_noise(noisy, spacing=1).sigma[0] == pytest.approx(12, rel=0.2)
    errors = [np.mean((denoise(noisy, m, spacing=1) - clean) ** 2) for m in (None, known)]
    assert errors[0] < 1.1 * errors[1]


def test_slices_that_show_no_difference():
    slices = moving(12) + noise_of((12, 96, 96), [1.0], 10)
    every_other_empty = slices * (np.arange(12) % 2)[:, None, None]
    for volume in (every_other_empty, np.repeat(slices[:1], 12, axis=0)):
        assert estimate_noise(volume, spacing=1).sigma[0] == pytest.approx(10, rel=0.15)


@pytest.mark.parametrize("chosen", [[11], [0], [1, 5], range(0, 12, 2)])
def test_slices_without_a_valid_neighbor(chosen):
    volume = moving(12) + noise_of((12, 96, 96), [1.0], 10)
    mask = np.zeros(volume.shape, bool)
    mask[list(chosen)] = True
    found = estimate_noise(volume, spacing=1, mask=mask).sigma[0]
    assert found == pytest.approx(10, rel=0.15)


def test_the_level_in_color_and_of_white_noise_does_not_depend_on_the_correlation():
    kernel = KERNELS["three slices"]
    color = moving(12)[..., None] + np.stack(
        [noise_of((12, 96, 96), kernel, 10, seed) for seed in range(3)], axis=-1
    )
    assert estimate_noise(color, channel_axis=-1).sigma == pytest.approx([10] * 3, rel=0.2)
    found = estimate_noise(color[..., 0], spacing=1, kind="white").sigma[0]
    assert found == pytest.approx(10, rel=0.15)
