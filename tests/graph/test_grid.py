"""Tests of the pixel grid as a graph."""

import numpy as np
import pytest

from nnk_image.graph import grid_graph


def by_distance(shape, radii):
    """Return the adjacency of all pixels that are within the radii of each other."""
    places = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
    apart = np.abs(places[:, None] - places)
    return (apart <= radii).all(axis=2) & (apart > 0).any(axis=2)


@pytest.mark.parametrize(
    ("shape", "window", "radii"),
    [
        ((5, 7), 3, (1, 1)),
        ((6, 4), 11, (5, 5)),
        ((1, 9), (1, 5), (0, 2)),
        ((9, 1), (5, 1), (2, 0)),
        ((3, 4, 5), (1, 3, 5), (0, 1, 2)),
        ((3, 3, 3, 2), 3, (1, 1, 1, 1)),
    ],
)
def test_links_are_those_of_the_window(shape, window, radii):
    found = grid_graph(shape, window)
    np.testing.assert_array_equal(found.toarray(), by_distance(shape, radii))


def test_no_link_is_lost_in_the_largest_window():
    assert grid_graph((1, 40), (1, 63)).nnz == by_distance((1, 40), (0, 31)).sum()
    assert grid_graph((63, 63), 63)[[63 * 31 + 31]].nnz == 63 * 63 - 1


def test_masked_pixels_have_no_links():
    mask = np.ones((4, 5), bool)
    mask[1, 2] = mask[3, 4] = False
    kept = mask.ravel()
    expected = by_distance((4, 5), (1, 1)) & kept & kept[:, None]
    np.testing.assert_array_equal(grid_graph((4, 5), mask=mask).toarray(), expected)


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
