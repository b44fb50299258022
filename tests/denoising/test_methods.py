"""Tests of all denoising methods: invariances, any sigma, extreme values, progress.

The fuzzer (tests/fuzz/differential.py) checks that threads and SIMD variants do not matter.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import progress_of

from nnk_image import NoiseModel, denoise, estimate_noise, standard_image

RNG = np.random.default_rng(13)
NOISE = RNG.random((21, 18)) * 255
COLOR = RNG.random((17, 19, 3)) * 255


# --- invariances -------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 1e308), st.booleans())
def test_constant_images_are_unchanged(method, value, sigma, color):
    image = np.full((7, 9, 3) if color else (7, 9), value)
    ours = denoise(image, sigma, method=method, channel_axis=2 if color else None)
    np.testing.assert_array_equal(ours, image)
    assert not np.shares_memory(ours, image)


@settings(max_examples=30)
@given(st.integers(-900, 900), st.sampled_from([-1, 1]), st.integers(0, 99))
def test_scaling_by_powers_of_two_is_exact(method, exponent, sign, seed):
    image = np.random.default_rng(seed).random((12, 11)) * 255
    factor = sign * 2.0**exponent
    ours = denoise(image * factor, 25 * abs(factor), method=method)
    np.testing.assert_array_equal(ours, denoise(image, 25, method=method) * factor)


@settings(max_examples=30)
@given(st.floats(1e-100, 1e100), st.floats(-1e6, 1e6), st.integers(0, 99))
def test_scale_and_shift_of_the_units_do_not_matter(method, scale, shift, seed):
    image = np.random.default_rng(seed).random((12, 11)) * 255
    expected = denoise(image, 25, method=method)
    ours = denoise(image * scale + shift * scale, 25 * scale, method=method) / scale - shift
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9 * (255 + abs(shift)))


@pytest.mark.parametrize("turn", [np.transpose, np.fliplr, np.flipud, np.rot90])
def test_orientation_does_not_matter(turn):
    ours, expected = denoise(turn(NOISE), 25, method="sgw"), turn(denoise(NOISE, 25, method="sgw"))
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-4)  # float32


# --- sigma -------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0, np.float32(0), 5e-324, 1e-30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_no_noise_gives_a_copy(dtype, sigma):
    image = NOISE.astype(dtype)
    for method in ("fast", "sgw"):
        ours = denoise(image, sigma, method=method)
        np.testing.assert_array_equal(ours, image)
        assert not np.shares_memory(ours, image)
        assert ours.flags.writeable


@pytest.mark.parametrize("sigma", [1e-12, 1e-6, 1e-3, 1])
def test_little_noise_changes_little(method, sigma):
    change = denoise(NOISE, sigma, method=method) - NOISE
    assert np.sqrt(np.mean(change**2)) <= 2 * sigma + 1e-12
    if method != "sgw":  # compares neighborhoods, so single pixels may change more
        assert abs(change).max() <= 10 * sigma + 1e-12


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_default_noise_is_the_estimated_one(method, dtype):
    color = np.random.default_rng(5).normal(128, 20, (40, 44, 3))
    for image, axis in ((NOISE.astype(dtype), None), (color.astype(dtype), -1)):
        noise = estimate_noise(image, channel_axis=axis)
        ours = denoise(image, method=method, channel_axis=axis)
        expected = denoise(image, noise, method=method, channel_axis=axis)
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize(
    ("sigma", "error"),
    [
        *((bad, ValueError) for bad in (-1, -1e-300, np.nan, np.inf, -np.inf, [-1], (np.nan,))),
        *((bad, ValueError) for bad in ([], (5, 5), np.ones(3), np.ones((1, 1)))),
        *((bad, TypeError) for bad in (True, "25", 25j, ["25"], [None], {25}, b"25")),
    ],
)
def test_bad_sigma_is_refused(sigma, error):
    with pytest.raises(error, match="sigma"):
        denoise(NOISE, sigma)
    if np.ndim(sigma) == 0:
        with pytest.raises(error, match="sigma"):
            denoise(COLOR, [25, sigma, 25], channel_axis=-1)


def test_one_sigma_per_channel(method):
    def run(sigma):
        return denoise(COLOR, sigma, method=method, channel_axis=-1)

    np.testing.assert_array_equal(run([25, 25, 25]), run(25))
    np.testing.assert_array_equal(run([0, 0, 0]), COLOR)
    sigma = np.array([0, 5, 60])
    clean = np.add.outer(np.linspace(0, 200, 30), np.linspace(20, 90, 30))[..., None]
    noisy = clean + np.random.default_rng(3).normal(0, 1, (30, 30, 3)) * sigma
    uneven = denoise(noisy, sigma, method=method, channel_axis=-1)
    np.testing.assert_array_equal(uneven[..., 0], noisy[..., 0])
    removed = (uneven - noisy).std(axis=(0, 1))
    np.testing.assert_allclose(removed[1:], sigma[1:], rtol=0.45)


@pytest.mark.parametrize("scale", [0.01, 1e-3])
def test_channel_in_other_units_is_denoised_equally_well(method, scale):
    clean = standard_image("coffee")[40:136, 60:156].astype(float)
    noisy = clean + np.random.default_rng(2).normal(0, 20, clean.shape)
    units = np.array([1, 1, scale])
    for sigma in (20 * units, None):
        result = denoise(noisy * units, sigma, method=method, channel_axis=-1) / units
        assert np.all((result - clean).std(axis=(0, 1)) < 0.6 * 20)


def test_noise_that_is_equal_in_all_channels():
    """The differences of the channels then have no noise at all."""
    kernel = np.outer([0.5, 1, 0.5], [0.5, 1, 0.5])
    model = NoiseModel([20.0] * 3, correlation=np.broadcast_to(kernel, (3, 3, 3, 3)))
    noise = np.random.default_rng(4).normal(0, 20, (90, 90))
    gray = standard_image("camera")[80:170, 90:180] + noise
    color = denoise(np.stack([gray] * 3, axis=-1), model, channel_axis=-1)
    assert np.ptp(color, axis=-1).max() < 0.1
    expected = denoise(gray, NoiseModel(20.0, correlation=kernel))
    assert np.std(color[..., 0] - expected) < 0.3 * np.std(gray - expected)


def test_unknown_method_is_refused():
    with pytest.raises(ValueError, match=r"method=\['fast'\] is unknown.*'best'"):
        denoise(np.zeros((16, 16)), 5, method=["fast"])
    with pytest.raises(ValueError, match=r"'bm3d' is unknown.*sgw"):
        denoise(NOISE, 25, method="bm3d")


# --- extremes ----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*more than the whole range")
@pytest.mark.parametrize(
    ("dtype", "scale"), [("f8", 5e-324), ("f8", 3e305), ("f4", 1e-45), ("f4", 6e35)]
)
@pytest.mark.parametrize("relative_sigma", [25, 1000])
def test_values_at_the_limits_of_a_dtype(method, dtype, scale, relative_sigma):
    """Values of both signs, from the smallest subnormal number to the limit of the dtype."""
    image = (np.rint(2 * NOISE - 255) * scale).astype(dtype)
    ours = denoise(image, min(relative_sigma * scale, 1.7e308), method=method)
    assert ours.dtype == image.dtype
    assert np.isfinite(ours).all()
    limit = float(abs(image.astype("f8")).max())
    assert float(abs(ours).max()) <= 1.2 * min(limit, 1e308)


# --- progress ----------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.2, 25, NoiseModel(0.1, gain=50.0, rows=0.3), [20, 0, 20]])
@pytest.mark.parametrize("channels", [1, 3])
def test_progress_rises_to_a_total_known_from_the_start(method, channels, sigma):
    """Weights may underflow, which takes another pass; low counts take several rounds."""
    image, sigma = COLOR[..., :channels], sigma[:channels] if type(sigma) is list else sigma
    for n_jobs in (1, 3):
        options = {"method": method, "channel_axis": -1, "n_jobs": n_jobs}
        progress_of(lambda report, given=options: denoise(image, sigma, progress=report, **given))
