"""Correlated noise is found in an image, and neither white noise nor texture is taken for it."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from skimage import data

import nnk_image
from nnk_image import NoiseModel, estimate_noise, estimate_sigma
from nnk_image.noise import flat_blocks

KERNELS = {
    "binomial": np.outer([1.0, 2.0, 1.0], [1.0, 2.0, 1.0]),
    "mild": np.outer([0.25, 1.0, 0.25], [0.25, 1.0, 0.25]),
    "wide along rows": np.outer([0.5, 1.0, 0.5], [1.0, 2.0, 3.0, 2.0, 1.0]),
}


def correlated(kernel, shape, seed):
    """Noise of variance 1: white noise, moved and summed with the weights of a kernel."""
    kernel = kernel / np.sqrt((kernel**2).sum())
    white = np.random.default_rng(seed).normal(size=shape)
    moved = (weight * np.roll(white, (y, x), (0, 1)) for (y, x), weight in np.ndenumerate(kernel))
    return sum(moved)


def true_correlation(kernel):
    """Of neighbours, down and to the right."""
    square = (kernel**2).sum()
    return (kernel[1:] * kernel[:-1]).sum() / square, (
        kernel[:, 1:] * kernel[:, :-1]
    ).sum() / square


def picture(name):
    return nnk_image.standard_image(name).astype(float)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["camera", "astronaut_grey", "retina"])
@pytest.mark.parametrize("sigma", [12, 30])
def test_level_and_correlation_are_found(kernel, name, sigma):
    clean = picture(name)
    clean = clean if clean.ndim == 2 else clean.mean(axis=2)
    model = estimate_noise(clean + sigma * correlated(KERNELS[kernel], clean.shape, 4))
    assert model.sigma[0] == pytest.approx(sigma, rel=0.12)
    found = model.neighbor_correlation()
    assert found == pytest.approx(true_correlation(KERNELS[kernel]), abs=0.15)


def test_channels_with_noise_of_their_own():
    clean = picture("astronaut")
    kernel = KERNELS["binomial"]
    noise = np.stack([correlated(kernel, clean.shape[:2], seed) for seed in range(3)], axis=-1)
    model = estimate_noise(clean + 20 * noise, channel_axis=-1)
    assert model.correlation.shape[:2] == (3, 3)
    assert np.all(np.array(model.sigma) > 18)
    assert np.all(np.array(model.sigma) < 32)  # there is a margin in colour
    assert model.neighbor_correlation() == pytest.approx(true_correlation(kernel), abs=0.1)


@pytest.mark.parametrize("sigma", [2, 5, 10, 25, 50])
@pytest.mark.parametrize("name", ["camera", "astronaut", "brick", "coffee_grey", "cell", "horse"])
def test_white_noise_is_white(name, sigma):
    clean = picture(name)
    noisy = clean + np.random.default_rng(sigma).normal(0, sigma, clean.shape)
    assert estimate_noise(noisy, channel_axis=-1 if clean.ndim == 3 else None).correlation is None


@pytest.mark.parametrize("name", ["grass", "gravel", "brick", "text", "astronaut", "chelsea"])
def test_texture_is_no_noise(name):
    image = nnk_image.standard_image(name)
    assert estimate_noise(image, channel_axis=-1 if image.ndim == 3 else None).correlation is None


def fading(texture):
    """The texture, strong in some places and weak in others, as those of photographs are."""
    strength = np.exp(3 * correlated(np.ones((41, 41)), texture.shape, 3))
    return texture * strength / strength.mean()


@pytest.mark.parametrize("kernel", ["binomial", "mild"])
def test_texture_that_fades_has_no_sharp_edge(kernel):
    shape = (256, 256)
    noise, everywhere = correlated(KERNELS[kernel], shape, 1), np.ones(shape, bool)
    texture = fading(correlated(KERNELS["binomial"], shape, 2))
    alone, beneath = (
        flat_blocks.measure((texture + more)[None], everywhere) for more in (0, 0.3 * noise)
    )
    assert alone.sharpness < 0.6
    assert beneath.sharpness > 0.8
    assert beneath.corrected().quiet[0] == pytest.approx(0.3, rel=0.2)
    assert not alone.is_correlated_noise(0)
    assert beneath.is_correlated_noise(0)


def test_noise_is_found_where_black_cuts_it_off():
    dark = picture("astronaut") / 16
    noise = np.stack([correlated(KERNELS["mild"], dark.shape[:2], s) for s in range(3)], axis=-1)
    seen = np.rint(dark + 12 * noise).clip(0, 255).astype(np.uint8)
    assert np.mean(seen == 0) > 0.2
    model = estimate_noise(seen, channel_axis=-1)
    assert model.correlation is not None
    assert 6 < model.sigma[1] < 20  # less than half of the distribution is cut off


def test_absent_pixels_do_not_matter():
    clean = picture("camera")
    noisy = clean + 20 * correlated(KERNELS["mild"], clean.shape, 1)
    mask = np.ones(clean.shape, bool)
    mask[30:60, 40:200] = False
    model = estimate_noise(noisy, mask=mask)
    assert model.sigma[0] == pytest.approx(20, rel=0.15)
    assert estimate_noise(np.where(mask, noisy, np.nan), mask=mask) == model


def test_small_images_are_told_white():
    noisy = 100 + 5 * correlated(KERNELS["binomial"], (60, 300), 1)
    assert estimate_noise(noisy).correlation is None


def test_what_measuring_does_is_taken_off():
    noise = correlated(KERNELS["binomial"], (256, 256), 9)[None]
    raw = flat_blocks.measure(noise, np.ones((256, 256), bool), flat_blocks.SMALL)
    better = raw.corrected()
    (true, _), middle = true_correlation(KERNELS["binomial"]), flat_blocks.LARGE // 2
    errors = [abs(flat.correlations[0, middle + 1, middle] - true) for flat in (raw, better)]
    assert errors[1] < errors[0]
    assert errors[1] < 0.08
    assert better.levels[0] == pytest.approx(1, rel=0.06)
    assert better.quiet[0] == pytest.approx(1, rel=0.08)


@pytest.mark.parametrize("width", [2, 4, 10, 30])
def test_noise_that_varies_in_few_directions_of_patch_space(width):
    """What is wider than a patch has nearly all of its variance in its slopes, or in its mean."""
    wide = gaussian_filter(np.random.default_rng(5).normal(size=(200, 220)), width, mode="wrap")
    wide /= wide.std()
    everywhere, offsets = np.ones(wide.shape, bool), np.arange(-5 * width, 5 * width + 1)
    along = np.exp(-(offsets**2) / (4 * width**2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flat = flat_blocks.measure(wide[None], everywhere)
        found = flat_blocks._whitened_levels(wide, np.outer(along, along), everywhere)
        estimate_noise(100 + 10 * wide)
    assert 0 < flat.sharpness < 2
    for values in (*found[1:], flat.levels, flat.quiet):
        assert np.all((values > 0) & (values < np.inf))


def test_estimate_sigma_warns_where_it_reads_too_little():
    clean = picture("camera")
    noisy = clean + 20 * correlated(KERNELS["binomial"], clean.shape, 1)
    with pytest.warns(UserWarning, match="correlated between neighbors"):
        assert estimate_sigma(noisy) < 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate_sigma(clean + np.random.default_rng(0).normal(0, 20, clean.shape))


def test_denoising_blind_is_nearly_as_good_as_knowing():
    clean = picture("camera")
    noisy = clean + 20 * correlated(KERNELS["binomial"], clean.shape, 2)
    kernel = KERNELS["binomial"] / np.sqrt((KERNELS["binomial"] ** 2).sum())
    covariance = np.zeros((5, 5))
    for (y, x), weight in np.ndenumerate(kernel):
        covariance[2 - y : 5 - y, 2 - x : 5 - x] += weight * kernel * 400
    known = nnk_image.denoise(noisy, NoiseModel.from_autocovariance(covariance))
    blind = nnk_image.denoise(noisy)
    errors = [np.mean((result - clean) ** 2) for result in (known, blind)]
    assert errors[1] < 1.2 * errors[0]
    assert errors[0] < 0.35 * np.mean((noisy - clean) ** 2)


def pink(shape, seed):
    """Noise of power 1/f, and its correlation at the offsets (1, 0) and (2, 0)."""
    frequency = np.hypot(*np.meshgrid(*map(np.fft.fftfreq, shape), indexing="ij"))
    frequency[0, 0] = np.inf
    waves = np.fft.fft2(np.random.default_rng(seed).normal(size=shape))
    noise = np.fft.ifft2(waves / np.sqrt(frequency)).real
    covariance = np.fft.ifft2(1 / frequency).real
    return noise / noise.std(), covariance[1:3, 0] / covariance[0, 0]


def test_strong_noise_is_measured_in_large_blocks():
    """Small ones would miss most of what is wider than they are."""
    clean = picture("camera")
    noise, true = pink(clean.shape, 6)
    seen = clean + 50 * noise
    model = estimate_noise(seen)
    assert model.sigma[0] == pytest.approx(50, rel=0.06)
    assert np.mean(model.neighbor_correlation()) == pytest.approx(true[0], abs=0.05)
    everywhere, middle = np.ones(seen.shape, bool), flat_blocks.LARGE // 2
    small, best = (
        flat_blocks.measure(seen[None], everywhere, n) for n in (flat_blocks.SMALL, None)
    )
    errors = [
        np.abs(flat.correlations[0, middle + 1 : middle + 3, middle] - true)
        for flat in (small, best)
    ]
    assert np.all(errors[1] < errors[0])


def side_of_blocks(image):
    """The side of the blocks that the noise of a grey image is measured in."""
    return flat_blocks.measure(image[None] / 255, np.ones(image.shape, bool)).side


def test_blocks_are_as_large_as_texture_lets_them_be():
    clean, (noise, _) = picture("camera"), pink((256, 256), 6)
    assert side_of_blocks(noise) == flat_blocks.LARGE
    assert side_of_blocks(clean + 5 * noise) == flat_blocks.SMALL


@pytest.fixture(scope="module")
def colour_noise():
    """What is measured in a colour photograph with correlated noise: all signs tell of noise."""
    clean = picture("astronaut") / 255
    noise = [correlated(KERNELS["mild"], clean.shape[:2], seed) for seed in range(3)]
    channels = np.moveaxis(clean, -1, 0) + 0.1 * np.array(noise)
    flat = flat_blocks.measure(channels, np.ones(clean.shape[:2], bool))
    return replace(flat, sharpness=1.0, quiet=0.9 * flat.levels, kurtosis=3.0)


@pytest.mark.parametrize(
    ("sign", "values"),
    [
        ("sharpness", (1.0, 0.9, 0.8, 0.7)),
        ("kurtosis", (3.0, 4.2, 4.6, 5.0)),
        ("quiet", (0.9, 0.8, 0.7, 0.6)),
    ],
)
@pytest.mark.parametrize("neighbors", [0.45, 0.62, 0.75])
def test_the_less_it_looks_like_noise_the_less_is_removed(colour_noise, neighbors, sign, values):
    flat = replace(colour_noise, neighbors=np.full(flat_blocks.BINS, neighbors))
    if sign == "quiet":
        values = [value * flat.levels for value in values]
    found = [replace(flat, **{sign: value}).denoising_levels() for value in values]
    assert np.all(np.diff(found, axis=0) <= 1e-12)
    assert np.all(found[-1] > 0)


@pytest.mark.parametrize("name", ["immunohistochemistry", "hubble_deep_field"])
def test_dense_texture_is_left_alone(name):
    """Tissue and stars, at half their size and so without noise, with a little of it and none."""
    scene = getattr(data, name)()[:400, :400].astype(float)
    clean = scene.reshape(200, 2, 200, 2, 3).mean(axis=(1, 3))
    noise = [correlated(KERNELS["binomial"], clean.shape[:2], seed) for seed in range(3)]
    for level in (0, 2):
        seen = np.rint(clean + level * np.stack(noise, axis=-1)).clip(0, 255).astype(np.uint8)
        assert max(estimate_noise(seen, channel_axis=-1).sigma) < 4


def counted(light, seed):
    """What a sensor reads: counts of the light that a pixel gets, and noise of its own."""
    rng = np.random.default_rng(seed)
    return rng.poisson(light) + rng.normal(0, 3, light.shape)


@pytest.mark.parametrize("seed", [0, 1])
def test_counted_light_of_fine_fur_is_no_correlated_noise(seed):
    """The fur seems to be correlated noise, but the line of counted light is certain."""
    red = picture("chelsea")[:300, :450, 0].reshape(150, 2, 225, 2).mean(axis=(1, 3))
    light = (red[11:139, 40:168] / 255) ** 2.2 * 500
    model = estimate_noise(counted(light, seed))
    assert model.correlation is None
    assert model.gain[0] == pytest.approx(1, rel=0.4)


def test_a_few_bins_of_texture_are_no_correlated_noise():
    light = (picture("astronaut_grey")[::2, ::2] / 255) ** 2.2 * 2000
    model = estimate_noise(counted(light, 0))
    assert model.correlation is None
    assert model.gain[0] == pytest.approx(1, rel=0.2)
