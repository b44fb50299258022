"""Tiles cover the image with the required overlap."""

import math

import numpy as np
import pytest

from nnk_image.base.reach import Reach, cut, largest_side


@pytest.mark.parametrize("seed", range(40))
def test_cores_cover_the_image_once_and_have_the_required_border(seed):
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(2, 5))
    shape = tuple(rng.integers(1, 40, axes).tolist())
    reach = Reach(
        tuple(rng.integers(0, 9, axes).tolist()), tuple(rng.integers(1, 6, axes).tolist())
    )
    covered = np.zeros(shape, int)
    places = np.arange(math.prod(shape)).reshape(shape)
    for tile in cut(shape, [int(rng.integers(1, n + 1)) for n in shape], reach):
        covered[tile.core] += 1
        np.testing.assert_array_equal(places[tile.padded][tile.inside], places[tile.core])
        for part, n, core, border, unit in zip(
            tile.padded, shape, tile.core, reach.border, reach.unit, strict=True
        ):
            assert part.start <= max(0, core.start - border)
            assert part.stop >= min(n, core.stop + border)
            assert part.start % unit == 0
    assert (covered == 1).all()


def test_tiles_are_as_large_as_allowed_and_no_larger():
    reach = Reach((10, 10), (4, 8))
    assert largest_side((300, 400), reach, 120_000, 1) == (300, 400)
    for most in (2_000, 10_000, 100_000):
        tiles = cut((3000, 4000), largest_side((3000, 4000), reach, 2 * most, 2), reach)
        pixels = max(math.prod(part.stop - part.start for part in tile.padded) for tile in tiles)
        assert most / 3 < pixels <= most
    assert all(n % 128 == 0 for n in largest_side((30_000, 40_000), Reach((9, 9), (1, 8)), 2e7, 1))
    assert largest_side((5_000_000, 3), reach, 10_000, 1)[1] == 3
    with pytest.raises(MemoryError, match=r"a tile needs 2 MiB, but has 0.00019073 MiB"):
        largest_side((3000, 4000), reach, 200, 2000)
    assert largest_side((3000, 4000), reach, 1008 * 2000, 2000) == (4, 8)
