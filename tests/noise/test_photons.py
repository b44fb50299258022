"""Tests that photon counts are recognized, and other images with few values are not."""

import numpy as np
import pytest
from pictures import psnr
from skimage import data, draw, morphology
from skimage.filters import gaussian

from nnk_image import NoiseModel, denoise, estimate_noise, standard_image
from nnk_image.base.image import check_image
from nnk_image.noise.photons import photon_noise


def hopper(channels=slice(1, 2)):
    """Return a (256, 256, C) image with values from 0 to 1."""
    return standard_image("hopper")[60:316, 130:386, channels] / 255


def counts(clean, peak):
    return np.random.default_rng(0).poisson(peak * clean)


@pytest.mark.parametrize("peak", [0.03, 0.3, 1.0, 4.0, 16.0])
def test_counts_are_denoised_as_if_their_gain_were_known(peak):
    clean = hopper()[..., 0]
    noisy = counts(clean, peak)
    assert estimate_noise(noisy).gain == (1.0,)
    np.testing.assert_array_equal(denoise(noisy), denoise(noisy, NoiseModel(gain=1.0)))
    assert psnr(peak * clean, denoise(noisy), peak) > psnr(peak * clean, noisy, peak) + 10


@pytest.mark.parametrize(
    ("dtype", "gain"), [("u1", 1), ("f2", 1), ("f4", 0.0037), ("f8", 0.0037), ("g", 1)]
)
def test_counts_of_any_dtype_are_recognized(dtype, gain):
    noisy = (gain * counts(hopper(), 2.0)).astype(dtype)
    assert photon_noise(check_image(noisy[..., 0])).gain == pytest.approx((gain,))


def test_each_channel_has_its_own_gain_and_may_be_black():
    noisy = counts(hopper(slice(None)), 3.0) * [2, 0, 0.5]
    model = estimate_noise(noisy, channel_axis=-1)
    assert model.gain == (2.0, 0.0, 0.5)
    assert not np.any(denoise(noisy, channel_axis=-1)[..., 1])


def test_masked_pixels_are_ignored():
    noisy = counts(hopper()[..., 0], 2.0).astype(float)
    mask = np.hypot(*(np.indices(noisy.shape) - 128)) < 100
    noisy[~mask] = np.nan
    assert estimate_noise(noisy, mask=mask).gain == (1.0,)


@pytest.mark.parametrize("depth", [1, 6])
@pytest.mark.parametrize("change", [0.05, 0.3])
@pytest.mark.parametrize("peak", [0.5, 4.0])
def test_counts_divided_by_exposures(peak, change, depth):
    """Pixels without a photon are no pixels without data, though a gap separates them."""
    rng = np.random.default_rng(11)
    clean = np.repeat(hopper()[None, :160, :160, 0] ** 2, depth, axis=0)
    exposures = 1 + change * rng.uniform(-1, 1, clean.shape[-2:])
    noisy = np.squeeze(rng.poisson(peak * clean * exposures) / exposures)
    assert estimate_noise(noisy).gain == pytest.approx((1.0,), rel=0.15)
    best = psnr(peak * clean, denoise(noisy, NoiseModel(gain=1.0)).reshape(clean.shape), peak)
    assert psnr(peak * clean, denoise(noisy).reshape(clean.shape), peak) > best - 0.5


def test_counts_in_a_volume():
    _, y, x = np.indices((12, 64, 64)) - 32
    noisy = counts(np.exp(-(x**2 + y**2) / 400) + 0.05, 1.5)
    assert estimate_noise(noisy).gain == (1.0,)


def beads(number, radius):
    image = np.zeros((256, 256))
    for center in np.random.default_rng(2).integers(10, 246, (number, 2)):
        image[draw.disk(center, radius)] = 1
    return image


@pytest.mark.parametrize("value", [1.0, 1.7])
@pytest.mark.parametrize("peak", [2.0, 10.0, 30.0, 60.0])
@pytest.mark.parametrize("light", [beads(25, 7) + 0.01, gaussian(beads(15, 9), 1.5) + 0.02])
def test_counts_of_sharp_and_blurred_beads(light, peak, value):
    """Slopes add far more to the squares of sums of pixels than edges do."""
    assert estimate_noise(value * counts(light, peak)).gain == pytest.approx((value,))


def filaments(width):
    """Return thin crossing lines, which cover about a tenth of the image, from 0 to 1."""
    image = np.zeros((200, 200))
    for start, end in np.random.default_rng(41).integers(0, 200, (30, 2)):
        image[draw.line(start, 0, end, 199)] = 1
    image = gaussian(image, width)
    return image / image.max()


@pytest.mark.parametrize("value", [1, 1 / 4095])
@pytest.mark.parametrize("peak", [4.0, 30.0, 120.0])
@pytest.mark.parametrize(
    "light", [filaments(1.2), gaussian(beads(12, 4), 2)], ids=["lines", "beads"]
)
def test_counts_with_an_empty_background(light, peak, value):
    """They may have more than 64 values, and constant areas everywhere."""
    clean = peak * value * light
    noisy = value * np.random.default_rng(42).poisson(peak * light)
    result = denoise(noisy)
    assert psnr(clean, result) == pytest.approx(
        psnr(clean, denoise(noisy, NoiseModel(gain=value))), abs=1
    )
    assert result.mean() == pytest.approx(noisy.mean(), rel=0.05)


def blobs():
    return data.binary_blobs(256, volume_fraction=0.2, rng=1)


def halftone():
    thresholds = np.random.default_rng(3).permutation(16).reshape(4, 4) / 16
    return hopper()[..., 0] > np.kron(np.ones((64, 64)), thresholds)


def shaded(most):
    """Return a texture with many dark pixels, some of them black."""
    grass = standard_image("grass").astype(float)
    return np.rint(most * ((grass - grass.min()) / np.ptp(grass)) ** 2)


def dark(sigma):
    noise = np.random.default_rng(5).normal(0, sigma, (256, 256))
    return np.clip(np.rint(40 * hopper()[..., 0] + noise), 0, 255)


Y, X = np.mgrid[:64, :64]
OTHERS = {
    "blobs": blobs,
    "labels": lambda: morphology.label(blobs()),
    "skeletons": lambda: morphology.skeletonize(blobs()),
    "halftone": halftone,
    "phantom": lambda: np.rint(10 * data.shepp_logan_phantom()),
    "chessboard": lambda: (Y + X) % 2,
    "brighter chessboard": lambda: 60 * ((Y + X) % 2) + 100,
    "dots": lambda: (X % 2) * (Y % 2),
    **{f"grass up to {most}": lambda n=most: shaded(n) for most in (16, 32, 64, 128)},
    **{
        f"{n} grays": lambda n=n: np.rint((n - 1) * hopper()[..., 0])
        for n in (2, 3, 5, 9, 17, 33, 64)
    },
    **{f"noise of {sigma}": lambda sigma=sigma: dark(sigma) for sigma in (1, 2, 4, 8)},
}
"""Noiseless images with few values, some of them as sparse as counts, and Gaussian noise."""


@pytest.mark.parametrize("image", OTHERS.values(), ids=OTHERS)
def test_images_with_few_values_are_not_taken_for_counts(image):
    assert photon_noise(check_image(image().astype(float))) is None


@pytest.mark.parametrize("offset", [100, -50])
@pytest.mark.parametrize("peak", [0.3, 3.0])
def test_counts_with_an_offset_are_recognized_if_many_pixels_have_no_photon(peak, offset):
    noisy = counts(hopper()[..., 0], peak)
    shifted = estimate_noise(noisy + offset)
    assert (shifted.gain, shifted.offset) == ((1.0,), (offset,))
    np.testing.assert_allclose(denoise(noisy + offset), denoise(noisy) + offset, atol=1e-4)
