"""Tests of the geometry of the window: offsets and threshold factors of Algorithm 4."""

import numpy as np
import pytest

from nnk_image import _core
from nnk_image.graph.window import MAX_WINDOW, N_NEAR, _pairs, check_window, pair_deltas, window_on

SIZES = (3, 5, 7, 9, 11, 13, 15, 21, MAX_WINDOW)


def window_of(side):
    """Return the `Window` of an image for the given side."""
    return window_on((99, 99), side, (1.0, 1.0))[0]


def delta_of(window):
    """Return the threshold factors of all pairs of offsets of a window."""
    return pair_deltas(window.offsets, window.spacing)


def can_prune(size):
    """True where offset j can prune offset k."""
    delta = delta_of(window_of(size))
    return (delta >= 0) & ~np.eye(len(delta), dtype=bool)


@pytest.mark.parametrize("size", SIZES)
def test_offsets_cover_the_window_in_order_of_distance(size):
    window = window_of(size)
    r = size // 2
    every = {(y, x) for y in range(-r, r + 1) for x in range(-r, r + 1)} - {(0, 0)}
    assert len(window.offsets) == len(every)
    assert {tuple(o) for o in window.offsets.tolist()} == every
    assert (np.diff((window.offsets**2).sum(axis=1)) >= 0).all()


@pytest.mark.parametrize("size", SIZES)
def test_forward_offsets_are_one_of_each_opposite_pair(size):
    window = window_of(size)
    forward = [tuple(o) for o in window.forward.tolist()]
    assert forward == sorted(o for o in map(tuple, window.offsets.tolist()) if o > (0, 0))
    np.testing.assert_array_equal(np.stack([window.dy, window.dx], axis=1), window.forward)


@pytest.mark.parametrize("size", SIZES[:-1])
def test_threshold_factors(size):
    window = window_of(size)
    delta = delta_of(window)
    j, k = window.offsets[:, None], window.offsets[None]
    np.testing.assert_array_equal(delta, ((k - j) * j).sum(axis=-1))
    assert window.max_delta == delta.max()
    squares = (window.offsets**2).sum(axis=1)
    assert (squares[None] > squares[:, None])[can_prune(size)].all()


@pytest.mark.parametrize("size", [3, 5, 7, 11, 13])
def test_near_pass_tests_each_offset_against_all_near_pruners(size):
    offsets, delta = window_of(size).offsets, delta_of(window_of(size))
    starts, pruners = _pairs((offsets**2).sum(axis=1), delta, min(N_NEAR, len(offsets)))
    assert (np.diff(starts) % _core.PAIRS_AT_ONCE == 0).all()
    for k in range(len(offsets)):
        listed = pruners[starts[k] : starts[k + 1]]
        np.testing.assert_array_equal(np.unique(listed), np.nonzero(can_prune(size)[:N_NEAR, k])[0])


@pytest.mark.parametrize("shape", [(500, 1), (1, 500), (500, 1, 1)])
def test_offsets_longer_than_an_axis_are_left_out(shape):
    window, _ = window_on(shape, 63, (1.0,) * len(shape))
    assert len(window.offsets) == 62


def test_spatial_kernel():
    window = window_of(7)
    for sigma_d in (0.5, 2.0, 13.0):
        expected = np.exp(-(window.forward**2).sum(axis=1) / (2 * sigma_d**2))
        np.testing.assert_allclose(window.spatial_kernel(sigma_d), expected, rtol=4e-16)


@pytest.mark.parametrize("size", [3, np.int64(11), np.uint8(63)])
def test_valid_window_sizes(size):
    checked = check_window(size)
    assert checked == size
    assert type(checked) is int


@pytest.mark.parametrize("size", [-3, 0, 1, 2, 4, 10, 65, 10**9 + 1, np.int16(6)])
def test_window_sizes_out_of_range_are_refused(size):
    with pytest.raises(ValueError, match=rf"window={size} must be odd, from 3 to 63"):
        check_window(size)


@pytest.mark.parametrize(
    ("size", "axes", "error", "says"),
    [
        ((3, 5), 3, ValueError, "window has 2 sides, the image 3 axes"),
        ((3, 4, 5), 3, ValueError, "must be odd, from 1 to 63"),
        ((1, 1, 1), 3, ValueError, "contains no neighbor"),
        ((3, 5.0, 3), 3, TypeError, "window must be an odd integer"),
        (17, 3, ValueError, "holds 4913 pixels in 3 axes, but at most 3969"),
    ],
)
def test_window_sides_for_each_axis(size, axes, error, says):
    with pytest.raises(error, match=says):
        check_window(size, axes)
    assert check_window((1, 3, 5), 3) == (1, 3, 5)
    assert check_window([3, 3, 5, 1], 4) == (3, 3, 5, 1)


@pytest.mark.parametrize("size", [5.0, 2.5, np.float64(11), True, "11", None, np.array([5])])
def test_window_sizes_that_are_not_integers_are_refused(size):
    with pytest.raises(TypeError, match="window must be an odd integer, the side in pixels"):
        check_window(size)
