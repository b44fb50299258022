"""Tests of `check_residual`, which compares what was removed with noise."""

import numpy as np
import pytest
from pictures import as_jpeg, mean_square, rms
from rendered import page_of_text
from scipy.ndimage import correlate1d, gaussian_filter
from scipy.stats import kurtosis

from nnk_image import NoiseModel, check_residual, denoise, estimate_noise, standard_image
from nnk_image.denoising.residual import ResidualCheck, is_noise

RNG = np.random.default_rng(8)


@pytest.mark.parametrize("name", ["coffee_grey", "gravel", "text"])
def test_removed_noise_has_no_structure(name):
    clean = standard_image(name).astype(float)
    noisy = clean + RNG.normal(0, 10, clean.shape)
    assert check_residual(noisy, clean).structure == pytest.approx(1, abs=0.1)
    assert check_residual(noisy, denoise(noisy, 10)).structure < 1.2


def scene(contrast):
    """Return an image with a dark flat half and a bright half with texture."""
    clean = np.full((128, 256), 30.0)
    clean[:, 128:] = 150 + contrast * np.sin(np.arange(128) / 3)
    return clean


@pytest.mark.parametrize("channels", ["gray", "green"])
def test_noise_that_grows_with_the_brightness(channels):
    """Without a noise model, stronger noise in bright areas counts as structure."""
    clean = scene(40)
    noisy = 4.0 * RNG.poisson(clean / 4)
    model, axis = NoiseModel(gain=4.0), None
    if channels == "green":
        noisy, clean = (np.stack([0 * a, a, 0 * a], axis=-1) for a in (noisy, clean))
        model, axis = NoiseModel(gain=(0, 4.0, 0)), -1
    assert check_residual(noisy, clean, channel_axis=axis).structure > 4
    found = check_residual(noisy, clean, model, channel_axis=axis).structure
    assert found == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("kind", ["curve", "levels"])
def test_noise_levels_by_brightness_and_by_pixel(kind):
    clean = scene(40)
    levels = np.interp(clean, [30, 150], [2, 20])
    noisy = clean + levels * RNG.normal(size=clean.shape)
    model = NoiseModel(curve=[[30, 150], [2, 20]]) if kind == "curve" else levels
    assert check_residual(noisy, clean).structure > 10
    assert check_residual(noisy, clean, model).structure == pytest.approx(1, abs=0.3)
    assert check_residual(noisy, scene(8), model).structure > 1.5
    with pytest.raises(ValueError, match="sigma has levels of shape"):
        check_residual(noisy, clean, np.ones((4, 4)))


def test_removed_structure_is_detected():
    clean = standard_image("coffee").astype(float)
    noisy = clean + RNG.normal(0, 10, clean.shape)
    blurred = (noisy + noisy[::-1, ::-1]) / 2  # mixed with the rotated image
    assert check_residual(noisy, blurred, channel_axis=-1).structure > 1.5
    assert check_residual(noisy, clean, channel_axis=-1).structure == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("kind", ["unknown", "white", "curve", "levels"])
@pytest.mark.parametrize("unit", [2.0**-990, 64, 2.0**990])
def test_units_and_memory_order_do_not_matter(kind, unit):
    clean = standard_image("camera").astype(float)
    noisy = clean + RNG.normal(0, 5, clean.shape)
    result, levels = denoise(noisy, 25), np.linspace(20, 30, 256) * np.ones((256, 1))

    def model(unit):
        return {
            "unknown": None,
            "white": 25 * unit,
            "curve": NoiseModel(curve=np.array([[0, 255], [10, 40]]) * unit),
            "levels": levels * unit,
        }[kind]

    expected = check_residual(noisy, result, model(1.0))
    assert (kind == "unknown") == np.isnan(expected.amount)
    found = check_residual(noisy * unit, result * unit, model(unit))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    shifted = check_residual(noisy - 3, result - 3).structure
    assert shifted == pytest.approx(check_residual(noisy, result).structure)
    turned = np.asfortranarray(noisy), np.asfortranarray(result)
    found = check_residual(*turned, model(1.0))
    assert found.structure == expected.structure
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("masked", [np.s_[:, :, :100], 1], ids=["columns", "one slice"])
def test_masked_pixels_are_ignored(masked):
    clean = np.stack([standard_image("camera").astype(float)] * 3)
    noisy = clean + RNG.normal(0, 10, clean.shape)
    mask = np.ones(clean.shape, bool)
    mask[masked] = False
    result = np.where(mask, clean, 0)
    assert check_residual(noisy, result, mask=mask).structure == pytest.approx(1, abs=0.1)


def test_clipped_pixels_are_ignored():
    """Nothing is removed where the photograph is overexposed: these areas would seem flattest."""
    scene, rng = 1.6 * standard_image("camera"), np.random.default_rng(0)
    noisy = np.clip(scene + rng.normal(0, 10, scene.shape), 0, 255)
    clean, clipped = np.minimum(scene, 255), noisy == 255
    assert clipped.mean() > 0.3
    assert check_residual(noisy, clean).structure == pytest.approx(1, abs=0.2)
    different = noisy + 1e-3 * clipped * rng.random(noisy.shape)  # not recognized as clipped
    assert check_residual(different, clean).structure > 100


@pytest.mark.parametrize("offset", [-5, 0, 3])
def test_clipped_noise_is_noise(offset):
    """It has a large kurtosis, unless the clipped share of each block is taken into account."""
    noisy = np.random.default_rng(2).normal(-offset, 10, (128, 128)).clip(0)
    check = check_residual(noisy, np.full_like(noisy, noisy.mean()), 10)
    assert check.kurtosis == pytest.approx(3, abs=0.5)
    assert check.is_noise
    noisy[4::32, 4::32] += 300  # hot pixels do not count
    assert check_residual(noisy, np.full_like(noisy, noisy.mean())).kurtosis < 4


@pytest.mark.parametrize("value", [-50.0, 120.0, 400.0])
def test_constant_border_is_ignored(value):
    clean = standard_image("camera").astype(float)
    noisy = clean + RNG.normal(0, 10, clean.shape)
    result = denoise(noisy, 10)
    noisy_in, result_in = (np.pad(a, 40, constant_values=value) for a in (noisy, result))
    expected = check_residual(noisy, result).structure
    assert check_residual(noisy_in, result_in).structure == pytest.approx(expected, rel=0.1)


def test_too_few_blocks_give_nan():
    image = RNG.random((24, 40))
    assert np.isnan(check_residual(image, image / 2).structure)
    assert np.isnan(check_residual(np.ones((64, 64)), np.ones((64, 64))).structure)


def test_volumes_too_narrow_for_blocks_have_an_amount():
    noise = NoiseModel(curve=([0, 255], [5, 20]))
    noisy, clean = np.random.default_rng(0).uniform(50, 200, (2, 9, 30, 5))
    check = check_residual(noisy, clean, noise)
    assert np.isnan(check.structure)
    assert check.amount > 1


def test_bad_shapes_are_refused():
    image = RNG.random((64, 64, 3))
    with pytest.raises(ValueError, match="may be a color image or a volume"):
        check_residual(image, image / 2)
    with pytest.raises(ValueError, match=r"same shape, not \(20, 20\) and \(20, 21\)"):
        check_residual(np.ones((20, 20)), np.ones((20, 21)))


def test_texture_mistaken_for_correlated_noise_is_kept():
    """The image shows bricks without noise, and is stored as JPEG."""
    bricks = as_jpeg(standard_image("brick"), 90)
    model = estimate_noise(bricks)
    assert model.correlation is not None
    with_texture_lost = denoise(bricks, model)
    assert check_residual(bricks, with_texture_lost).structure > 2
    change = np.sqrt(np.mean((denoise(bricks) - bricks) ** 2))
    assert change < 0.5 * np.sqrt(np.mean((with_texture_lost - bricks) ** 2))
    np.testing.assert_array_equal(
        denoise(bricks, strength=1.01), denoise(bricks, model, strength=1.01)
    )


def test_kurtosis_is_the_mean_over_complete_blocks_weighted_by_variance():
    rng = np.random.default_rng(8)  # no block has a kurtosis above 16, which would not count
    noise, mask = rng.laplace(0, 5, (64, 96)), np.ones((64, 96), bool)
    mask[10, 20] = mask[40:50, 8:30] = False
    complete, values = (
        a.reshape(8, 8, 12, 8).swapaxes(1, 2).reshape(-1, 64) for a in (mask, noise)
    )
    values = values[complete.all(axis=1)]
    expected = np.average(kurtosis(values, axis=1, fisher=False), weights=values.var(axis=1))
    clean = np.linspace(0, 255, 96) * np.ones((64, 1))
    noisy = np.where(mask, clean + noise, np.nan)
    assert check_residual(noisy, clean, mask=mask).kurtosis == pytest.approx(expected)
    normal = rng.normal(0, 5, (256, 256))
    found = check_residual(normal, np.zeros_like(normal)).kurtosis
    assert found == pytest.approx(3 * 63 / 65, abs=0.05)
    padded = np.pad(normal, ((0, 0), (0, 256))) + 0.01 * rng.laplace(0, 1, (256, 512))
    assert check_residual(padded, 0 * padded).kurtosis == pytest.approx(found, rel=0.01)
    assert np.isnan(check_residual(noise, noise).kurtosis)
    assert np.isnan(check_residual(noise[:24, :40], np.zeros((24, 40))).kurtosis)


CORRELATED = NoiseModel(5.0, correlation=[[0, 0.3, 0], [0.3, 1, 0.3], [0, 0.3, 0]])
NOISES = {"white": NoiseModel(5.0), "poisson": NoiseModel(gain=1.0)}
NOISES |= {"correlated": CORRELATED, "unknown": None}
INDEPENDENT = {"white", "poisson"}


@pytest.mark.parametrize(
    ("structure", "kurtosis", "amount", "accepted"),
    [
        (2.4, 3.0, np.nan, set(NOISES)),
        (2.6, 3.0, np.nan, INDEPENDENT),
        (2.4, 4.5, np.nan, INDEPENDENT),
        (2.6, 4.5, np.nan, set()),
        (2.6, 2.0, np.nan, set()),
        (2.4, 2.0, np.nan, INDEPENDENT),
        (np.nan, 3.0, np.nan, set(NOISES)),
        (np.nan, 4.5, np.nan, set()),
        (2.4, np.nan, np.nan, set(NOISES)),
        (2.6, np.nan, np.nan, set()),
        (np.nan, np.nan, np.nan, set(NOISES)),
        # The kurtosis of low counts may be high, if there is as much noise as the model says.
        (np.nan, 9.0, 0.9, {"poisson"}),
        (np.nan, 9.0, 1.1, {"poisson"}),
        (np.nan, 9.0, 0.8, set()),
        (np.nan, 9.0, 1.3, set()),
        (1.0, 9.0, 0.6, INDEPENDENT),
        (0.3, 9.0, 0.6, INDEPENDENT),
        (2.6, 9.0, 0.9, {"poisson"}),
        (2.6, 9.0, 0.8, set()),
    ],
)
def test_limits_of_noise(structure, kurtosis, amount, accepted):
    """White noise must pass one of the two, correlated and unknown noise both, unless it is NaN."""
    check = ResidualCheck(structure, kurtosis, amount, np.nan, False)
    assert {name for name, noise in NOISES.items() if is_noise(check, noise)} == accepted


@pytest.mark.parametrize("angle", [0, 15, 45])
@pytest.mark.parametrize("period", [4, 6, 9])
def test_screens_of_print_are_no_noise(angle, period):
    y, x = np.mgrid[:128, :128]
    turned = [
        np.cos(np.radians(angle + a)) * x + np.sin(np.radians(angle + a)) * y for a in (0, 90)
    ]
    screen = sum(np.cos(2 * np.pi * t / period) for t in turned)
    noise = np.random.default_rng(0).normal(size=(128, 128))
    image, flat = 100 + 10 * screen + 5 * noise, np.full((128, 128), 100.0)
    check = check_residual(image, flat)
    power = 100 / 125  # of the screen, whose own correlation over whole periods is 1
    assert 0.3 < check.periodicity < power
    assert not check.is_noise
    for model in (None, 11.0, CORRELATED.scaled(2.2)):
        assert not check_residual(image, flat, model).is_noise


def test_periodicity_of_noise():
    """It is about 0, also if noise is correlated or shared by rows, and in slices by themselves."""
    rng = np.random.default_rng(0)
    noise = correlate1d(rng.normal(size=(128, 128)), [1, 2, 3, 2, 1], axis=1)
    slices = np.repeat(rng.normal(size=(40, 16, 16)), 2, axis=0)  # the same noise in two slices
    for image in (noise, slices):
        assert check_residual(image, np.zeros_like(image)).periodicity < 0.1
    rows = noise[:64, :64] + 20 * rng.normal(size=(64, 1))
    for image, model in ((rows, NoiseModel(4, rows=20)), (rows.T, NoiseModel(4, columns=20))):
        assert check_residual(image, np.zeros_like(image), model).periodicity < 0.15
    magnitudes = abs(np.linspace(0, 90, 128) + noise)
    assert np.isnan(check_residual(magnitudes, magnitudes - 5, NoiseModel(3, rician=1)).periodicity)
    wide = NoiseModel.from_autocovariance(np.exp(-np.hypot(*np.mgrid[-30:31, -30:31]) / 20))
    assert np.isnan(check_residual(noise, 0 * noise, wide).periodicity)
    assert np.isnan(check_residual(noise[:24, :32], 0 * noise[:24, :32]).periodicity)
    assert np.isnan(check_residual(np.full((64, 64), 5.0), np.full((64, 64), -2.3)).periodicity)


@pytest.mark.parametrize("side", [40, 64])
def test_masked_pixels_do_not_repeat(side):
    """They are filled with copies of others, which must not look like a pattern."""
    rng = np.random.default_rng(1)
    noisy = standard_image("camera_512")[:256, :256] + rng.normal(0, 15, (256, 256))
    mask = np.zeros((256, 256), bool)
    mask[100 : 100 + side, 90 : 90 + side] = True
    removed = rng.normal(size=(256, 256))
    assert check_residual(removed, 0 * removed, mask=mask).periodicity < 0.15
    result = denoise(noisy, mask=mask)
    assert np.std((result - noisy)[mask]) > 10


def test_the_middle_of_a_large_image_is_checked():
    image = np.random.default_rng(2).normal(size=(700, 900))
    image[94:-94, 194:-194] += 5 * np.cos(np.add(*np.mgrid[:512, :512]) * 0.6)
    assert check_residual(image, 0 * image).periodicity > 0.5


def test_verdict_follows_the_noise():
    noisy = np.random.default_rng(0).normal(100, 5, (64, 64))
    flat = np.full((64, 64), 100.0)
    assert check_residual(noisy, flat)[:2] == check_residual(noisy, flat, CORRELATED)[:2]
    assert check_residual(noisy, flat).is_noise is True
    noisy[np.random.default_rng(1).random((64, 64)) < 1 / 16] = 0  # dots, of high kurtosis
    assert check_residual(noisy, flat).kurtosis > 5
    strong = CORRELATED.scaled(30)
    for noise, verdict in (
        (None, False),
        (strong, False),
        (26.0, False),  # nearly all blocks have a clipped dot: only the kurtosis is checked
        (NOISES["poisson"].scaled(30), False),  # far more than was removed
        (NOISES["poisson"].scaled(2.7), True),
    ):
        assert check_residual(noisy, flat, noise).is_noise is verdict
    expected = pytest.approx((np.nan,) * 4 + (True,), nan_ok=True)
    assert check_residual(noisy, noisy) == expected


@pytest.mark.parametrize(
    ("size", "spacing", "sigma", "quality"), [(13, 40, 4, 95), (16, 30, 2, 95), (16, 30, 8, 95)]
)
def test_bright_text_on_black_is_kept(size, spacing, sigma, quality):
    """It resembles counts of photons, which are stronger where it is bright."""
    clean = 255 - page_of_text(size, spacing)
    noisy = clean + np.random.default_rng(5).normal(0, sigma, clean.shape)
    stored = as_jpeg(noisy, quality).astype(float)
    assert mean_square(denoise(stored), clean) <= mean_square(stored, clean)


@pytest.mark.parametrize("side", [2, 3])
def test_random_patterns_of_two_values_are_kept(side):
    rng = np.random.default_rng(5)
    clean = np.kron(rng.integers(0, 2, (64, 64)), np.full((side, side), 255.0))
    noisy = np.clip(np.round(clean + rng.normal(0, 4, clean.shape)), 0, 255)
    assert mean_square(denoise(noisy), clean) <= mean_square(noisy, clean)


@pytest.mark.parametrize("gain", [5, 17, 40])
def test_low_counts_stored_in_color_are_denoised(gain):
    """In the dark, the distribution of the counts is far from normal."""
    rng = np.random.default_rng(11)
    y, x = np.mgrid[:192, :192]
    peaks, rows, columns, widths = rng.uniform(
        [[20], [0], [0], [2]], [[150], [192], [192], [9]], (4, 30)
    )
    squares = (y - rows[:, None, None]) ** 2 + (x - columns[:, None, None]) ** 2
    spots = np.exp(-squares / (2 * widths[:, None, None] ** 2))
    clean = np.tensordot(peaks, spots, 1).clip(0, 255)
    noisy = gain * rng.poisson(clean / gain) + rng.normal(0, 1, clean.shape)
    noisy = np.repeat(np.clip(np.round(noisy), 0, 255)[..., None], 3, axis=2)
    errors = [np.mean((a[..., 0] - clean) ** 2) for a in (noisy, denoise(noisy, channel_axis=-1))]
    assert errors[1] < 0.2 * errors[0]


def test_more_than_the_noise_was_removed():
    rng = np.random.default_rng(9)
    clean = standard_image("camera")
    noisy = clean + rng.normal(0, 5, clean.shape)
    good = check_residual(noisy, denoise(noisy, 5), 5)
    assert good.amount == pytest.approx(0.9, abs=0.1)
    assert good.is_noise
    for bad in (gaussian_filter(noisy, 2), denoise(noisy, 5) + 40, np.zeros_like(noisy)):
        found = check_residual(noisy, bad, 5)
        removed = np.sqrt(np.mean((noisy - bad) ** 2))
        assert found.amount == pytest.approx(removed / 5)
        assert not found.is_noise
        assert np.isnan(check_residual(noisy, bad).amount)


@pytest.mark.parametrize("noise", ["poisson", "levels", "ratios", "rows"])
def test_amount_is_that_of_the_noise_model(noise):
    rng, clean = np.random.default_rng(10), np.linspace(20, 200, 96) * np.ones((64, 1))
    levels = 1 + clean[::-1, ::-1] / 20
    model, noisy = {
        "poisson": (NoiseModel(3, gain=2), rng.normal(2 * rng.poisson(clean / 2), 3)),
        "levels": (NoiseModel(levels=levels), rng.normal(clean, levels)),
        "ratios": (NoiseModel(rms(levels), levels=9 * levels), rng.normal(clean, levels)),
        "rows": (NoiseModel(3, rows=4), rng.normal(clean + rng.normal(0, 4, (64, 1)), 3)),
    }[noise]
    assert check_residual(noisy, clean, model).amount == pytest.approx(1, abs=0.15)


def test_a_masked_image_masks_its_result():
    noisy = np.ma.masked_invalid(np.random.default_rng(11).normal(100, 5, (64, 64)))
    noisy.data[:8, :8], noisy[:8, :8] = np.nan, np.ma.masked
    result = np.full((64, 64), 100.0)
    result[:8, :8] = np.nan
    assert check_residual(noisy, result, 5).amount == pytest.approx(1, abs=0.05)


def test_unsigned_pixels_do_not_wrap_around():
    noisy = np.clip(np.rint(100 + np.random.default_rng(0).normal(0, 20, (64, 64))), 0, 255)
    found = check_residual(noisy.astype(np.uint8), np.full((64, 64), 100, np.uint8), 20.0)
    assert found.amount == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("looks", [1, 2, 4])
def test_speckle_of_few_looks_is_noise(looks):
    """It has a long tail, and bright places have far more of it."""
    light = 10.0 + 90 * (standard_image("camera")[:200, :200] / 255.0) ** 2
    noisy = light * np.random.default_rng(9).gamma(looks, 1 / looks, light.shape)
    assert np.mean((denoise(noisy) - light) ** 2) < 0.2 * np.mean((noisy - light) ** 2)
