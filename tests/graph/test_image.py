"""Tests of how graphs read images: masks, data ranges and refused input.

The fuzzer (tests/fuzz/differential.py) checks that memory layouts do not matter, and that images
are not modified.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from graph_checks import assert_equal
from PIL import Image

from nnk_image import bilateral_graph, image_graph

RNG = np.random.default_rng(8)
GRAY = RNG.random((9, 11))
COLOR = RNG.random((9, 11, 3))
MASK = RNG.random((9, 11)) < 0.7

both = pytest.mark.parametrize("build", [image_graph, bilateral_graph])


# --- the caller's arrays -----------------------------------------------------------------


@both
def test_masks_of_any_layout(build):
    expected = build(GRAY, mask=MASK)
    for form in (np.asfortranarray(MASK), MASK[::-1].copy()[::-1], MASK.tolist()):
        found = build(GRAY, mask=form)
        assert_equal(found.adjacency, expected.adjacency)
        np.testing.assert_array_equal(found.valid, MASK)


@both
def test_inputs_are_not_modified_and_graphs_share_no_memory(build):
    mask = MASK.copy()
    graph, again = build(GRAY, mask=mask), build(GRAY, mask=mask)
    np.testing.assert_array_equal(mask, MASK)
    assert not np.shares_memory(graph.adjacency.data, again.adjacency.data)
    mask[:] = ~mask
    np.testing.assert_array_equal(graph.valid, MASK)


# --- refused images ----------------------------------------------------------------------

EMPTY = ((0, 0), (0, 5), (5, 0), (0, 5, 5), (5, 5, 0))
NO_NUMBERS = (complex, object, str, "S4", [("gray", float)], "m8[s]", "M8[s]")


@both
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, ">f8"])
def test_pixels_that_are_not_finite_are_counted_and_located(dtype, value, build):
    image, mask = GRAY.astype(dtype), np.ones(GRAY.shape, bool)
    image[3, 7] = image[5, 2] = image[5, 3] = value
    says = rf"3 of 99 pixels are not finite, the first at row 3, column 7 \({value}\).*mask="
    with pytest.raises(ValueError, match=says):
        build(image)
    mask[3, 7] = False
    with pytest.raises(ValueError, match=r"2 of 99 pixels .* row 5, column 2"):
        build(image, mask=mask)
    assert build(image, mask=np.isfinite(image)).degrees[5, 3] == 0


@both
def test_pixels_that_are_not_finite_in_one_channel(build):
    image = COLOR.copy()
    image[2, 4, 1] = np.nan
    # For color images, the message suggests a mask of pixels, not of single values.
    with pytest.raises(ValueError, match=r"1 of 99 pixels .* row 2, column 4 \(nan\).*all\("):
        build(image, channel_axis=-1)
    with pytest.raises(ValueError, match="row 2, column 4"):
        build(np.moveaxis(image, -1, 0), channel_axis=0)
    mask = np.isfinite(image).all(axis=-1)
    assert build(image, channel_axis=-1, mask=mask).degrees[2, 4] == 0


@both
@pytest.mark.parametrize(
    ("thing", "says"),
    [
        *((GRAY.astype(kind), "an array of real numbers, not ") for kind in NO_NUMBERS),
        (None, r"not object; .* nnk_image\.io\.read"),  # as `cv2.imread` may return it
        (image_graph(GRAY), r"not a graph \(ImageGraph\): give the image first"),
        *((name, r"nnk_image\.io\.read reads a file") for name in ("a.png", Path("a.png"))),
        (Image.new("P", (8, 8)), r"mode 'P' holds numbers of colors .*convert\('RGB'\)"),
    ],
)
def test_objects_that_are_not_images_are_refused(thing, says, build):
    with pytest.raises(TypeError, match=says):
        build(thing)


@both
def test_sigma_f_beyond_the_data_range_is_warned_about(build):
    with pytest.warns(UserWarning, match="sigma_f=25 is more than 5 times .*: 25/255"):
        build(GRAY, sigma_f=25)
    build(GRAY, sigma_f=2)  # no warning: this and the next may be intended
    build(GRAY, sigma_f=1e6)
    build(255 * GRAY, sigma_f=25)
    build((GRAY > 0.5).astype(np.uint8), sigma_f=25)


@both
@pytest.mark.parametrize(
    ("shape", "channel_axis", "says"),
    [
        *((shape, None, f"no pixel: shape {re.escape(str(shape))}") for shape in EMPTY),
        *(((*shape, 3), -1, "no pixel") for shape in EMPTY),
        ((5, 5, 0), -1, "no pixel"),
        ((), None, "2 to 4 axes, this one 0"),
        ((5,), None, r"2 to 4 axes, this one 1: shape \(5,\); reshape it to two axes"),
        ((5, 5, 3), None, r"pass channel_axis= \(-1 if the channels come last\), or .*spacing="),
        ((2, 2, 5, 5, 3), None, "2 to 4 axes, this one 5: .* channel_axis= .*, or pass one image"),
        ((2, 2, 2, 2, 5, 3), None, "2 to 4 axes, this one 6: .*; pass one image at a time"),
        ((5, 5), -1, "a grayscale image of two axes has no channel axis"),
        ((2, 2, 2, 2, 2, 3), -1, "of 3 to 5 axes, this one has 6.* pass one image at a time"),
        ((5, 5, 3), 3, r"channel_axis=3 is outside .*\(5, 5, 3\)"),
        ((5, 5, 3), -4, "channel_axis=-4 is outside"),
    ],
)
def test_empty_images_and_wrong_numbers_of_axes_are_refused(shape, channel_axis, says, build):
    image = np.zeros(shape)
    for form in (image, np.ma.masked_array(image, image > 0)):
        with pytest.raises(ValueError, match=says):
            build(form, channel_axis=channel_axis)


@both
def test_channel_axis_must_be_an_integer(build):
    with pytest.raises(TypeError, match="channel_axis must be an integer or None, not"):
        build(COLOR, channel_axis="last")


@both
@pytest.mark.parametrize("image", [GRAY, np.ma.masked_array(GRAY, GRAY > 0.9)])
def test_bad_masks_are_refused(image, build):
    for mask in (np.ones(GRAY.shape, int), GRAY, np.ones(11, int)):
        with pytest.raises(TypeError, match=r"mask must be boolean \(True: the pixel takes part\)"):
            build(image, mask=mask)
    for shape in [(11, 9), (9, 11, 1), (9, 1), (11,), ()]:
        with pytest.raises(
            ValueError, match=r"mask has shape .* the image without channels \(9, 11\)"
        ):
            build(image, mask=np.ones(shape, bool))
    with pytest.raises(ValueError, match="mask is False everywhere"):
        build(image, mask=np.zeros(GRAY.shape, bool))
    with pytest.raises(ValueError, match="or all pixels are masked"):
        build(np.ma.masked_all(GRAY.shape))


@both
def test_masked_entries_of_a_mask_are_not_valid(build):
    """Such a mask is what comparing a masked array gives: masked > 0.2."""
    mask = np.ma.masked_array(GRAY, GRAY > 0.8) > 0.2
    graph = build(GRAY, mask=mask)
    np.testing.assert_array_equal(graph.valid, (GRAY > 0.2) & (GRAY <= 0.8))


# --- parameters --------------------------------------------------------------------------


@both
@pytest.mark.parametrize("name", ["sigma_d", "sigma_f"])
def test_bad_kernel_widths_are_refused(name, build):
    for value in (0, -1, -0.5, np.nan, np.inf, -np.inf, np.float32(0), 0.0):
        with pytest.raises(ValueError, match=rf"{name}=.* must be a finite number > 0 \("):
            build(GRAY, **{name: value})
    for value in ("2", np.array([1.0, 2.0]), [2.0], 1j, True, np.bool_(True)):
        with pytest.raises(TypeError, match=rf"{name} must be a number \("):
            build(GRAY, **{name: value})
    with pytest.raises(ValueError, match=f"^{name}="):
        build(GRAY, **{name: 10**400})


# --- data range --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "data_range"),
    [
        (np.eye(3, dtype=bool), 1),
        (np.eye(3, dtype=np.uint8), 255),
        (np.eye(3, dtype=np.uint16) * 8192, 65535),
        (np.eye(3, dtype=">u2") * 65535, 65535),
        (np.eye(3, dtype=np.float16), 1),
        (np.eye(3, dtype=np.float32), 1),
        (np.eye(3), 1),
        (np.zeros((3, 3)), 1),
    ],
    ids=lambda value: str(getattr(value, "dtype", value)),
)
def test_known_data_ranges(image, data_range):
    for build in (image_graph, bilateral_graph):
        assert build(image).sigma_f == data_range * 10 / 255


@both
@pytest.mark.parametrize(
    "image",
    [GRAY * 1.5, GRAY - 0.5, (GRAY * 200).astype(np.int16), (GRAY * 9).astype(np.uint32)],
    ids=["above one", "negative", "int16", "uint32"],
)
def test_unknown_data_ranges_are_refused(image, build):
    says = rf"data range of this {image.dtype} image with values from .* pass sigma_f"
    with pytest.raises(ValueError, match=says):
        build(image)
    assert build(image, sigma_f=1.0).sigma_f == 1


@both
def test_12_bit_image_in_16_bits_is_warned_about(build):
    image = (GRAY / GRAY.max() * 4095).astype(np.uint16)
    with pytest.warns(UserWarning, match="uint16 image are 4095 at most.* pass sigma_f") as found:
        build(image)
    assert found[0].filename == __file__
    build(image, sigma_f=160)


def test_masked_pixels_do_not_affect_the_data_range():
    image = GRAY.copy()
    image[2, 3] = 1000
    assert image_graph(image, mask=image <= 1).sigma_f == 10 / 255
