"""Tests that the dtype, channel axis and scale of an image do not change its graph."""

import numpy as np
import pytest
from graph_checks import (
    COLOR,
    GRAY,
    assert_equal,
    assert_matches_brute_force,
    every_kind,
)
from random_images import options

from nnk_image import image_graph

# --- dtypes and channel axes -------------------------------------------------------------


@every_kind
@pytest.mark.filterwarnings("ignore:sigma_f=.* range of the image, 0 to 1")  # 10 for booleans
@pytest.mark.parametrize("image", [GRAY, COLOR], ids=["gray", "color"])
@pytest.mark.parametrize(
    "dtype", ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", ">u2", ">i4", ">f8", "f8"]
)
def test_integers_give_the_graph_of_their_float64_copy(dtype, image, build):
    values = image // 128 if dtype == "?" else image // 2 if dtype == "i1" else image
    for sigma_f in (0.7, 10.0, 25.4):
        given = options(image, window=9, sigma_d=2.0, sigma_f=sigma_f)
        expected = build(values.astype(np.float64), **given).adjacency
        assert expected.dtype == np.float64
        assert_equal(build(values.astype(dtype), **given).adjacency, expected)


def test_more_channels_than_float32_sums_exactly():
    rng = np.random.default_rng(7)
    image = rng.integers(0, 2, (6, 7, 65), dtype=np.uint8) * 255
    for channels in (64, 65):
        given = {"window": 5, "sigma_d": 2.0, "sigma_f": 900.0, "channel_axis": -1}
        exact = image_graph(image[..., :channels], **given)
        assert_equal(exact.adjacency, image_graph(image[..., :channels] / 1.0, **given).adjacency)


def test_float16_and_longdouble():
    half, long = (GRAY / 255).astype(np.float16), (GRAY / 255).astype(np.longdouble)
    for image, dtype in ((half, np.float32), (long, np.float64)):
        expected = image_graph(image.astype(dtype)).adjacency
        assert expected.dtype == dtype
        assert_equal(image_graph(image).adjacency, expected)


@pytest.mark.parametrize("channel_axis", [0, 1, 2, -1, -2, -3])
def test_channel_axis(channel_axis):
    moved = np.moveaxis(COLOR, -1, channel_axis)
    expected = image_graph(COLOR, channel_axis=-1)
    found = image_graph(moved, channel_axis=channel_axis)
    assert found.shape == expected.shape == (12, 14)
    assert_equal(found.adjacency, expected.adjacency)
    one = image_graph(np.expand_dims(GRAY, channel_axis), channel_axis=channel_axis)
    assert_equal(one.adjacency, image_graph(GRAY).adjacency)


# --- limits of the dtypes ----------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 13), (np.float64, 37.5)])
def test_weights_that_underflow_are_left_out(dtype, far, simd):
    # Differences of 0, 1 and about 13 (37) sigma_f: weights on both sides of the limit.
    levels = np.array([0, 1, far - 0.1, far + 0.1, 60])
    image = levels[np.random.default_rng(9).integers(0, 5, (4, 67))].astype(dtype)
    assert_matches_brute_force(image, 5, 1.5, 1.0)


WITHIN = {np.float32: (-59, -30, 30, 64), np.float64: (-507, -400, 400, 512)}
BEYOND = {np.float32: (-145, -100, -60, 65, 80, 127), np.float64: (-1060, -508, 513, 1020)}


@pytest.mark.parametrize("dtype", WITHIN)
@every_kind
def test_scale_does_not_matter_or_is_refused(build, dtype):
    def scaled(exponent):
        image = np.ldexp((GRAY / 256).astype(dtype), exponent)
        return build(image, 7, 2.0, 2.0 ** (exponent - 3)).adjacency

    for exponent in WITHIN[dtype]:
        assert_equal(scaled(exponent), scaled(0))
    for exponent in BEYOND[dtype]:
        with pytest.raises(ValueError, match="multiply image and sigma_f by the same factor"):
            scaled(exponent)
