"""Tests of the window: its size, and offsets that are left out.

The tests against brute force check its geometry.
"""

import numpy as np
import pytest

from nnk_image.graph.window import check_window, stencil_on


@pytest.mark.parametrize("shape", [(500, 1), (1, 500), (500, 1, 1)])
def test_offsets_longer_than_an_axis_are_left_out(shape):
    stencil = stencil_on(shape, 63, (1.0,) * len(shape))
    assert len(stencil.offsets) == 62


@pytest.mark.parametrize("size", [3, np.int64(11), np.uint8(63)])
def test_valid_window_sizes(size):
    checked = check_window(size)
    assert checked == size
    assert type(checked) is int


def test_window_sides_for_each_axis():
    assert check_window((1, 3, 5), 3) == (1, 3, 5)
    assert check_window([3, 3, 5, 1], 4) == (3, 3, 5, 1)


NO_INTEGERS = (5.0, 2.5, np.float64(11), True, "11", None, np.array([5]))


@pytest.mark.parametrize(
    ("size", "axes", "error", "says"),
    [
        *((size, 2, ValueError, "odd, from 3 to 63") for size in (-3, 0, 1, 2, 4, 65, 10**9 + 1)),
        (np.int16(6), 2, ValueError, "window=6 must be odd, from 3 to 63"),
        *((size, 2, TypeError, "must be an odd integer, the side in") for size in NO_INTEGERS),
        ((3, 5), 3, ValueError, "window has 2 sides, the image 3 axes"),
        ((3, 4, 5), 3, ValueError, "must be odd, from 1 to 63"),
        ((1, 1, 1), 3, ValueError, "contains no neighbor"),
        ((3, 5.0, 3), 3, TypeError, "window must be an odd integer"),
        (17, 3, ValueError, "holds 4913 pixels in 3 axes, but at most 3969"),
    ],
)
def test_bad_window_sizes_are_refused(size, axes, error, says):
    with pytest.raises(error, match=says):
        check_window(size, axes)
