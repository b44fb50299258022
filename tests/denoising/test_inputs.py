"""Tests of `denoise` with any dtype, shape, channel axis and mask.

The fuzzer (tests/fuzz/differential.py) checks that memory layouts do not matter.
"""

import numpy as np
import pytest
from pictures import progress_of

from nnk_image import NoiseModel, denoise, denoise_bands, standard_image
from nnk_image.base import memory
from nnk_image.denoising.methods import METHODS

RNG = np.random.default_rng(13)
NOISE = RNG.random((21, 18)) * 255
TINY = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (1, 64), (64, 1), (4, 7), (10, 10)]
TINY += [(2, 9, 11), (9, 2, 2), (40, 1, 3), (5, 1, 1), (2, 2, 2)]


two_methods = pytest.mark.parametrize("method", ["fast", "sgw"])
"""For what does not depend on the steps of a method."""

# --- dtypes ------------------------------------------------------------------------------


@two_methods
@pytest.mark.parametrize(
    "dtype", ["?", "u1", "i1", "u2", "i2", "i4", "u4", "i8", "u8", "f2", "f8", "g"]
)
def test_any_real_dtype_gives_the_result_of_a_nested_list_or_of_float32(method, dtype):
    image = (NOISE > 128 if dtype == "?" else np.rint(NOISE) % 128).astype(dtype)
    sigma = 0.4 if dtype == "?" else 20
    same = image.astype(np.float32) if dtype == "f2" else image.astype(float).tolist()
    expected = denoise(same, sigma, method=method)
    assert expected.dtype == (np.float32 if dtype == "f2" else np.float64)
    np.testing.assert_array_equal(denoise(image, sigma, method=method), expected, strict=True)


def test_float32_stays_float32_and_is_close(method):
    clean = standard_image("camera")[60:140, 60:140].astype(float)
    noisy = clean + np.random.default_rng(15).normal(0, 25, clean.shape)
    ours, expected = (
        denoise(noisy.astype("f4"), 25, method=method),
        denoise(noisy, 25, method=method),
    )
    assert ours.dtype == np.float32
    error = abs(ours - expected)
    assert np.median(error) < 1e-4
    assert np.sqrt((error**2).mean()) < 0.1  # larger where float32 rounding decides ties


# --- shapes and channels -----------------------------------------------------------------


@pytest.mark.parametrize("shape", TINY)
def test_tiny_images_and_volumes(method, shape):
    image = np.random.default_rng(16).normal(100, 10, (*shape, 3))
    for noisy, axis in ((image[..., 0], None), (image, -1)):
        ours = denoise(noisy, 10, method=method, channel_axis=axis, spacing=1)
        assert ours.shape == noisy.shape
        assert np.isfinite(ours).all()
        # Without similar pixels little changes.
        assert axis == -1 or ours.std() <= noisy.std() * (1 + 1e-6)


@two_methods
@pytest.mark.parametrize(("channels", "dtype"), [(1, "f4"), (2, "u1"), (3, "f8"), (5, "f4")])
def test_channel_axis_does_not_matter(method, channels, dtype):
    image = (np.random.default_rng(17).random((13, 11, channels)) * 255).astype(dtype)
    expected = denoise(image, 25, method=method, channel_axis=-1)
    assert expected.shape == image.shape
    for axis in (0, 1, 2, -3, -2):
        ours = denoise(np.moveaxis(image, -1, axis), 25, method=method, channel_axis=axis)
        np.testing.assert_array_equal(np.moveaxis(ours, axis, -1), expected)
    if channels == 1:
        gray = denoise(image[..., 0], 25, method=method)
        np.testing.assert_array_equal(expected[..., 0], gray)


def test_channels_are_compared_together():
    """An edge in one channel keeps the others from being smoothed across it."""
    right = np.zeros((16, 16))
    right[:, 8:] = 1
    image, step = NOISE[:16, :16], 1000 * right
    ours, higher = (
        denoise(np.dstack([first, 1e4 * right]), 25, method="sgw", channel_axis=-1)[..., 0]
        for first in (image, image + step)
    )
    np.testing.assert_allclose(higher, ours + step, rtol=0, atol=1e-8)
    assert abs(denoise(image + 20 * right, 25, method="sgw") - ours - 20 * right).max() > 1


# --- masked pixels -----------------------------------------------------------------------


@two_methods
@pytest.mark.parametrize(
    "sigma", [25, None, 0, NoiseModel(3.0, gain=2.0), NoiseModel(curve=[[0, 255], [10, 40]])]
)
@pytest.mark.parametrize("channel_axis", [None, 2])
def test_masked_pixels_are_unchanged_and_ignored(method, channel_axis, sigma):
    image = np.random.default_rng(17).random((36, 40, 3)) * 255
    image = image if channel_axis else np.ascontiguousarray(image[..., 0])
    mask = np.ones(image.shape[:2], bool)
    mask[25:, 20:] = mask[3, 5] = mask[0] = False
    results = []
    for fill in (np.nan, 1e300, image[~mask]):
        image[~mask] = fill
        kept = image.copy()
        ours = denoise(image, sigma, method=method, channel_axis=channel_axis, mask=mask)
        np.testing.assert_array_equal(image, kept)
        np.testing.assert_array_equal(ours[~mask], image[~mask])
        results.append(ours[mask])
    hidden = np.broadcast_to(~mask if channel_axis is None else ~mask[..., None], image.shape)
    masked = np.ma.array(image, mask=hidden)
    array = denoise(masked, sigma, method=method, channel_axis=channel_axis)
    np.testing.assert_array_equal(array, ours)
    assert np.isfinite(results).all()
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


# --- memory ------------------------------------------------------------------------------


def test_little_memory_changes_nothing_and_too_little_is_refused(method, monkeypatch):
    """The memory needed is the largest single request, of `denoise` or of a graph operator."""
    image, asked = np.tile(NOISE, (6, 7)), []
    with monkeypatch.context() as patch:
        patch.setattr(memory, "require", lambda n_bytes, *_: asked.append(n_bytes))
        expected = denoise(image, 25, method=method)
    monkeypatch.setattr(memory, "SMALL", 0)
    assert asked[0] == image.size * METHODS[method].bytes_per_pixel(1, 4, 2)
    monkeypatch.setattr(memory, "available", lambda: int(1.2 * max(asked)))
    np.testing.assert_array_equal(denoise(image, 25, method=method), expected)
    monkeypatch.setattr(memory, "available", lambda: int(0.9 * asked[0]))
    with pytest.raises(MemoryError, match=rf"denoise\(method='{method}'\).*denoise_tiles"):
        denoise(image, 25, method=method)


# --- units -------------------------------------------------------------------------------


def test_sigma_beyond_the_range_of_the_image_is_warned_about():
    image = NOISE / 255
    with pytest.warns(UserWarning, match=r"sigma=20 is more .* give .*: 20/255 if 1 is white"):
        denoise(image, 20, method="sgw")
    denoise(image, 20 / 255, method="sgw")  # no warning: it would be an error
    denoise(30 * image, 20, method="sgw")
    with pytest.warns(UserWarning, match=r"sigma=2000 .* 0 to 255; give sigma in the units"):
        denoise(np.uint8([[0, 255], [9, 8]]), 2000, method="sgw")
    with pytest.warns(UserWarning, match="more than the whole range"):
        denoise(NOISE > 128, 20, method="sgw")


def test_noise_that_values_for_missing_data_make_negligible_is_warned_about():
    image = np.float32(NOISE)
    image[:5] = -3.4e38
    with pytest.warns(UserWarning, match=r"sigma=20 counts as 0, .* leave them out") as caught:
        np.testing.assert_array_equal(denoise(image, 20), image)
    assert caught[0].filename == __file__
    denoise(image, 20, mask=image > -1e38)  # no warning
    image[:5] = 1e20
    with pytest.warns(UserWarning, match="gain=2 counts as 0, .* leave them out"):
        np.testing.assert_array_equal(denoise(image, NoiseModel(2, gain=2)), image)
    cube = np.stack([image, 2 * image, 3 * image])
    with pytest.warns(UserWarning, match="sigma=20 counts as 0, .* leave them out"):
        np.testing.assert_array_equal(denoise_bands(cube, 20, axis=0), cube)
    denoise_bands(cube, 20, axis=0, mask=image < 1e20)  # no warning


def test_an_offset_above_the_values_of_the_image_is_warned_about():
    counts = np.random.default_rng(1).poisson(30, (40, 40)) + 100.0
    camera = NoiseModel(gain=1.0, sigma=2.0, offset=100)
    denoise(counts, camera)  # no warning
    with pytest.warns(UserWarning, match="far below the offset=100 .* 0 only if .* mask="):
        denoise(counts - 100, camera)


# --- independent channels ----------------------------------------------------------------

STAINS = RNG.random((3, 17, 19)) * 255  # three channels, like a color image
JOINT = np.zeros((3, 3, 1, 3))
JOINT[:, :, 0, 1] = 0.2 + 0.8 * np.eye(3)
JOINT[range(3), range(3), 0, 0] = JOINT[range(3), range(3), 0, 2] = 0.1
POISSON = {"gain": (1.0, 2.0, 0.0), "offset": (0.0, 0.0, 9.0)}
NOISES = {
    "estimated": (None, [None] * 3),
    "one": (20.0, [20.0] * 3),
    "each": ((10.0, 20.0, 30.0), (10.0, 20.0, 30.0)),
    "poisson": (
        NoiseModel(2.0, **POISSON),
        [NoiseModel(2.0, gain=gain, offset=at) for gain, at in zip(*POISSON.values(), strict=True)],
    ),
    "joint": (
        NoiseModel(9.0, correlation=JOINT),
        [NoiseModel(9.0, correlation=[[0.1, 1, 0.1]])] * 3,
    ),
}
"""Noise of the stains, and that of each by itself."""


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(("noise", "own"), NOISES.values(), ids=NOISES)
def test_independent_channels_are_denoised_as_separate_images(noise, own, axis):
    expected = list(map(denoise, STAINS, own))
    image = np.moveaxis(STAINS, 0, axis)
    found = denoise(image, noise, channel_axis=axis, channels="independent")
    np.testing.assert_array_equal(np.moveaxis(found, axis, 0), expected)
    assert not np.shares_memory(found, image)


def test_independent_channels_of_thin_volumes_with_a_mask():
    volume = RNG.random((3, 2, 14, 15)) * 255  # three slices of two stains
    mask = RNG.random((3, 14, 15)) < 0.9
    options = {"channel_axis": 1, "channels": "independent", "mask": mask}
    found = denoise(volume, 20, **options)
    expected = [denoise(volume[:, c], 20, spacing=1, mask=mask) for c in range(2)]
    np.testing.assert_array_equal(found, np.stack(expected, axis=1))
    hidden = np.ma.array(volume, mask=np.stack([~mask] * 2, axis=1))
    found = denoise(hidden, 20, channel_axis=1, channels="independent")
    np.testing.assert_array_equal(found, np.stack(expected, axis=1))


def test_progress_of_independent_channels_rises_to_a_total():
    done, total = progress_of(
        lambda report: denoise(STAINS, 20, channel_axis=0, channels="independent", progress=report)
    )
    assert done[-1] == total


def test_bad_options_with_independent_channels_are_refused():
    with pytest.raises(ValueError, match="needs channel_axis"):
        denoise(NOISE, 20, channels="independent")
    with pytest.raises(ValueError, match="channels='stains' is unknown; choose one of 'colors'"):
        denoise(NOISE, 20, channels="stains")
    with pytest.raises(ValueError, match="sigma has 2 values, but the image has 3 channels"):
        denoise(STAINS, (1, 2), channel_axis=0, channels="independent")
