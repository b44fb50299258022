"""Tests of `denoise` on volumes, image sequences and sequences of volumes."""

import numpy as np
import pytest
from pictures import psnr

import nnk_image
from nnk_image import NoiseModel, denoise, estimate_noise
from nnk_image.noise.autocovariance import patch_covariance

RNG = np.random.default_rng(40)
CAMERA = nnk_image.standard_image("camera").astype(float)


def moving(n=8, side=48):
    """Return a sequence in which an image moves by one pixel per frame."""
    return np.stack([CAMERA[70 + t : 70 + t + side, 90 : 90 + side] for t in range(n)])


def noisy_sequence(sigma, **options):
    clean = moving(**options)
    return clean, clean + np.random.default_rng(1).normal(0, sigma, clean.shape)


# --- consistency with images --------------------------------------------------------------


def test_volume_of_one_slice_is_denoised_like_an_image(method):
    image = CAMERA[60:100, 90:135] + RNG.normal(0, 20, (40, 45))
    expected = denoise(image, 20, method=method)
    for shape in [(1, 40, 45), (1, 1, 40, 45)]:
        volume = denoise(image.reshape(shape), 20, method=method)
        np.testing.assert_array_equal(volume, expected.reshape(shape))


def test_one_slice_with_noise_levels_mask_and_channels():
    image = CAMERA[60:100, 90:135, None] + RNG.normal(0, 20, (40, 45, 2))
    levels, mask = RNG.uniform(10, 30, (40, 45)), RNG.random((40, 45)) < 0.9
    expected = denoise(image, levels, channel_axis=-1, mask=mask)
    volume = denoise(image[None], levels[None], channel_axis=-1, mask=mask[None])
    np.testing.assert_array_equal(volume[0], expected)


# --- quality ------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "least"), [("sgw", 27.55), ("fast", 33.10), ("best", 33.34)])
def test_psnr_of_a_sequence(method, least):
    """The limits are 0.05 dB below the results; frame by frame, these are 26.6, 27.2 and 27.1."""
    clean, noisy = noisy_sequence(25, n=12, side=64)
    assert psnr(clean, denoise(noisy, 25, method=method)) >= least


def test_color_volumes_with_any_channel_axis():
    clean = np.stack([moving(), moving()[:, ::-1]], axis=-1)
    noisy = clean + RNG.normal(0, 25, clean.shape)
    result = denoise(noisy, 25, channel_axis=-1)
    assert psnr(clean, result) > psnr(clean, noisy) + 7
    np.testing.assert_array_equal(
        denoise(np.moveaxis(noisy, -1, 0), 25, channel_axis=0), np.moveaxis(result, -1, 0)
    )


@pytest.mark.parametrize("method", ["fast", "best"])
def test_slices_far_apart_are_at_least_as_good_as_each_by_itself(method):
    clean, noisy = noisy_sequence(25)
    each = np.stack([denoise(frame, 25, method=method) for frame in noisy])
    for distance in (10, 20, 1000):
        found = denoise(noisy, 25, method=method, spacing=(distance, 1, 1))
        assert psnr(clean, found) > psnr(clean, each)


@pytest.mark.parametrize("spacing", [(3, 1, 1), (1, 1, 1e6), (1e-9, 1, 1)])
def test_only_ratios_of_the_spacing_matter(spacing):
    clean, noisy = noisy_sequence(25, side=32)
    result = denoise(noisy, 25, spacing=spacing)
    assert psnr(clean, result) > psnr(clean, noisy) + 4
    np.testing.assert_array_equal(
        result, denoise(noisy, 25, spacing=tuple(0.25 * s for s in spacing))
    )


# --- noise models -------------------------------------------------------------------------


def test_noise_of_a_sequence_is_estimated():
    clean, noisy = noisy_sequence(25, n=12, side=96)
    model = estimate_noise(noisy)
    assert model.sigma[0] == pytest.approx(25, rel=0.06)
    known = psnr(clean, denoise(noisy, 25))
    assert psnr(clean, denoise(noisy)) > known - 0.2


@pytest.mark.parametrize("peak", [2.0, 20.0])
def test_poisson_noise(peak):
    clean = moving() / 255 * peak
    counts = RNG.poisson(clean).astype(float)
    result = denoise(counts, NoiseModel(gain=1.0))
    assert result.mean() == pytest.approx(counts.mean(), rel=1e-3)
    white = max(psnr(clean, denoise(counts, s * counts.std())) for s in (0.3, 0.5, 0.7))
    assert psnr(clean, result) > white + 0.3


def smoothed(white, axes):
    """Smooth white noise along the given axes, and scale it to variance 1."""
    result = white
    for axis in axes:
        result = result + np.roll(result, 1, axis)
    return result / result.std()


def binomial(n):
    """Return the correlation, by offset, of noise that was smoothed along n axes."""
    line = np.array([0.5, 1.0, 0.5])
    return line if n == 1 else np.multiply.outer(line, binomial(n - 1))


@pytest.mark.parametrize("axes", [(1, 2), (0, 1, 2)])
def test_correlated_noise(axes):
    """If it is smoothed along two axes only, the noise of each slice is independent."""
    clean = moving()
    noisy = clean + 25 * smoothed(RNG.normal(size=clean.shape), axes)
    model = NoiseModel(25.0, correlation=binomial(len(axes)))
    assert psnr(clean, denoise(noisy, model)) > psnr(clean, denoise(noisy, 25)) + 1


def test_covariance_of_a_patch_with_three_axes():
    correlation, patch = binomial(3), (2, 3, 2)
    places = np.indices(patch).reshape(3, -1).T

    def rho(offsets):
        inside = (abs(offsets) <= 1).all(-1)
        return np.where(inside, correlation[tuple(np.clip(offsets, -1, 1).T + 1)].T, 0)

    covariance = rho(places[None] - places[:, None])
    np.testing.assert_allclose(patch_covariance(correlation, patch), covariance)


# --- refused input ------------------------------------------------------------------------


def test_color_images_and_volumes_must_be_distinguished():
    for shape in [(3, 20, 20), (20, 20, 4)]:
        with pytest.raises(ValueError, match=r"color image or a volume.*channel_axis.*spacing"):
            denoise(np.zeros(shape), 5)
        assert denoise(np.zeros(shape), 5, spacing=1).shape == shape


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": np.ones((20, 20))}, r"sigma has levels of shape \(20, 20\).*\(6, 20, 20\)"),
        (
            {"sigma": NoiseModel(5, rows=3)},
            r"row and column noise .* denoise its slices one by one",
        ),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        denoise(RNG.normal(0, 9, (6, 20, 20)), **{"sigma": 5, **options})


def test_noise_model_of_a_volume_is_refused_for_an_image():
    model = NoiseModel(1.0, correlation=binomial(3))
    assert "3x3x3" in repr(model)
    assert NoiseModel.from_json(model.to_json()) == model
    with pytest.raises(ValueError, match="has 3 axes, for volumes"):
        denoise(CAMERA[:30, :30], model)
