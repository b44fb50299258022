"""Tests of the pixel grid as a graph."""

import numpy as np
import pytest
from brute_force import window_pairs

from nnk_image.graph import grid_graph


@pytest.mark.parametrize(
    ("shape", "window"),
    [
        ((5, 7), 3),
        ((6, 4), 11),
        ((1, 9), (1, 5)),
        ((9, 1), (5, 1)),
        ((1, 40), (1, 63)),
        ((3, 4, 5), (1, 3, 5)),
        ((3, 3, 3, 2), 3),
    ],
)
@pytest.mark.parametrize("masked", [False, True])
def test_links_are_those_of_the_window(shape, window, masked):
    mask = np.random.default_rng(0).random(shape) < 0.8 if masked else None
    found = grid_graph(shape, window, mask=mask)
    expected = window_pairs(shape, window, mask.ravel() if masked else None)
    np.testing.assert_array_equal(found.toarray(), expected)


def test_no_link_is_lost_in_the_largest_window():
    assert grid_graph((63, 63), 63)[[63 * 31 + 31]].nnz == 63 * 63 - 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("ab",), TypeError, "shape must be a tuple of integers"),
        ((5,), TypeError, "shape must be a tuple of integers"),
        (((4.0, 4),), TypeError, "shape must be a tuple of integers"),
        (((4,),), ValueError, "2 to 4 sides"),
        (((4, 0),), ValueError, "at least 1 pixel"),
        (((4, 4), 4), ValueError, "window=4 must be odd"),
    ],
)
def test_bad_input_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        grid_graph(*arguments)
    with pytest.raises(ValueError, match="mask"):
        grid_graph((4, 4), mask=np.ones((4, 5), bool))
