"""Graph and wavelets tile by tile: the bits of the whole image."""

import pickle

import numpy as np
import pytest
from laplacians import wavelets_of

from nnk_image import image_graph
from nnk_image.base.tile_plan import TilePlan
from nnk_image.graph.laplacian import KINDS
from nnk_image.wavelets import TiledWavelets


def random_case(seed):
    """A random image, and options of its graph and its wavelets."""
    rng = np.random.default_rng(seed)
    axes = 3 if seed % 4 == 3 else 2
    shape = tuple(rng.integers(*((6, 30) if axes == 3 else (30, 190)), axes).tolist())
    dtype = (np.float32, np.uint8, np.float64)[seed % 3]
    channels = (None, 3)[seed % 5 == 0]
    image = rng.uniform(0, 255, shape if channels is None else (*shape, channels)).astype(dtype)
    window = int(rng.choice([3, 5])) if axes == 3 else int(rng.choice([3, 7, 11]))
    options = {"sigma_f": float(rng.uniform(10, 90)), "window": window}
    options["channel_axis"] = None if channels is None else -1
    options["spacing"] = (2.0, 1.0, 1.0) if axes == 3 else None
    return image, shape, options


def small_tiles(tiled, seed):
    """Give it tiles of random sizes, also smaller than their borders."""
    rng = np.random.default_rng(seed)
    sides = [max(8, int(rng.integers(1, n + 1)) // 8 * 8) for n in tiled.shape]
    tiled.plan = TilePlan(tiled.shape, tuple(sides), tiled.plan.reach)
    near = tiled.tiles_of_bound.reach
    tiled.tiles_of_bound = TilePlan(tiled.shape, tuple(sides), near)


@pytest.mark.parametrize("seed", range(12))
def test_rows_are_those_of_the_graph(seed):
    image, shape, options = random_case(seed)
    tiled = TiledWavelets(image, order=4, **options)
    small_tiles(tiled, seed)
    whole = image_graph(image, **options).adjacency
    seen = []
    for tile in tiled.plan:
        numbers, rows = tiled.rows(tile)
        expected = whole[numbers]
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(rows, name), getattr(expected, name))
        assert rows.shape == expected.shape
        seen.append(numbers)
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)), np.arange(np.prod(shape)))


@pytest.mark.parametrize("seed", range(12))
def test_bands_and_filters_are_those_of_the_whole(seed):
    image, _, options = random_case(seed)
    kind = KINDS[seed % len(KINDS)]
    transform = {"order": 1 + seed % 9, "laplacian": kind, "n_scales": 2}
    transform |= {"tau": 3.0} if kind == "regularized" else {}
    tiled = TiledWavelets(image, **options, **transform)
    small_tiles(tiled, seed)
    tiled = pickle.loads(pickle.dumps(tiled))
    whole = wavelets_of(image, **options, **transform)
    assert tiled.bound == whole._operator.bound
    bands, smooth = whole.analyze(image), whole.filter(image, lambda x: np.exp(-x))
    for tile in tiled.plan:
        np.testing.assert_array_equal(tiled.analyze(tile), bands[(slice(None), *tile.core)])
        found = tiled.filter(tile, lambda x: np.exp(-x))
        np.testing.assert_array_equal(found, smooth[tile.core])


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"laplacian": "regularized"}, ValueError, "needs tau="),
        ({"laplacian": "heavy"}, ValueError, "heavy"),
        ({"lmax": "lanczos"}, ValueError, "must be a number or None in tiles"),
        ({"max_memory": "1MB"}, MemoryError, "allow more memory"),
        ({"window": 4}, ValueError, "window"),
    ],
)
def test_bad_options_are_explained(options, error, says):
    with pytest.raises(error, match=says):
        TiledWavelets(np.zeros((500, 600)), 10, **options)
