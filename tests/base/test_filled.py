"""Tests of the values that masked pixels get while an image is processed."""

import numpy as np
import pytest

from nnk_image.base.image import check_image


def filled(pixels, valid):
    return check_image(pixels, -1, valid).filled(pixels)


@pytest.mark.parametrize("widths", [[(3, 0), (0, 5)], [(4, 2), (6, 1)], [(1, 2), (3, 3), (0, 4)]])
def test_borders_are_mirrored(widths):
    shape = [6 + axis for axis in range(len(widths))]
    inside = np.random.default_rng(0).normal(size=(*shape, 2))
    valid = np.pad(np.full(shape, True), widths)
    pixels = np.pad(inside, [*widths, (0, 0)], constant_values=np.nan)
    mirrored = np.pad(inside, [*widths, (0, 0)], mode="symmetric")
    np.testing.assert_array_equal(filled(pixels, valid), mirrored)


def test_beyond_the_mirror_image_the_nearest_pixel_is_repeated():
    pixels = np.array([[1, 2, 3, 0, 0, 0, 0, 0]])[..., None]
    pixels.flags.writeable = False
    found = filled(pixels, np.arange(8)[None] < 3)
    np.testing.assert_array_equal(found[0, :, 0], [1, 2, 3, 3, 2, 1, 3, 3])


def test_scattered_pixels_get_the_value_of_a_neighbor():
    pixels = np.arange(900.0).reshape(30, 30, 1)
    valid = np.full((30, 30), True)
    valid[2::4, 1::3] = False
    found = filled(pixels, valid)
    steps = np.abs(found - pixels)[~valid]
    assert set(steps.ravel()) <= {1, 30}
    np.testing.assert_array_equal(found[valid], pixels[valid])
    assert filled(pixels, None) is pixels
