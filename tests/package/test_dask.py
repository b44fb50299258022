"""Dask arrays: lazy, any chunks, the same bits."""

import numpy as np
import pytest
from laplacians import wavelets_of

from nnk_image import (
    denoise,
    denoise_tiles,
    estimate_noise,
    image_graph,
    standard_image,
)

cloudpickle = pytest.importorskip("cloudpickle")
da = pytest.importorskip("dask.array")
delayed = pytest.importorskip("dask").delayed
nnk_dask = pytest.importorskip("nnk_image.dask")

CAMERA = standard_image("camera_512").astype(np.float32)
RNG = np.random.default_rng(0)
IMAGE = CAMERA[:250, :301] + RNG.normal(0, 20, (250, 301)).astype(np.float32)


@pytest.mark.parametrize("chunks", [(250, 301), 64, ((7, 1, 240, 2), (300, 1))])
def test_any_chunks_give_the_whole(chunks):
    lazy = nnk_dask.denoise(da.from_array(IMAGE, chunks=chunks), 20, method="sgw", max_memory="4MB")
    assert lazy.chunks == da.from_array(IMAGE, chunks=chunks).chunks
    assert lazy.dtype == np.float32
    np.testing.assert_array_equal(lazy.compute(), denoise(IMAGE, 20, method="sgw"))


def test_nothing_is_read_before_compute():
    read = []

    def block(block_info=None):
        (top, bottom), (left, right) = block_info[None]["array-location"]
        read.append((top, left))
        return IMAGE[top:bottom, left:right]

    chunks = (100, 100, 50), (100, 100, 101)
    array = da.map_blocks(block, chunks=chunks, dtype=np.float32, meta=IMAGE[:0, :0])
    for sigma in (20, None):
        lazy = nnk_dask.denoise(array, sigma, method="quick")
        assert not read
    lazy.compute(scheduler="sync")
    assert len(set(read)) == 9


@pytest.mark.parametrize("method", ["sgw", "fast"])
def test_what_a_scheduler_is_sent_does_not_grow_with_the_pixels(method):
    image = da.zeros((6000, 6000), chunks=3000, dtype=np.float32)
    lazy = [nnk_dask.denoise(image, 20, method=method), nnk_dask.filter(image, 30, np.exp)]
    for array in lazy:
        assert len(cloudpickle.dumps(array)) < 1e6  # the pixels are 144 MB


def test_colours_and_noise_that_is_found():
    image = IMAGE[None, :150, :160] * np.array([0.9, 1, 0.8], np.float32)[:, None, None]
    lazy = nnk_dask.denoise(da.from_array(image, chunks=70), channel_axis=0)
    expected = np.empty_like(image)
    denoise_tiles(image, expected, channel_axis=0)
    np.testing.assert_array_equal(lazy.compute(), expected)
    told = estimate_noise(image, channel_axis=0).with_stripes(0, 0)
    np.testing.assert_array_equal(expected, denoise(image, told, channel_axis=0))


def test_arrays_that_are_not_lazy_are_refused():
    with pytest.raises(TypeError, match=r"must be a dask array, not ndarray: use dask\.array"):
        nnk_dask.denoise(IMAGE, 20)


def test_bands_filters_and_rows():
    array = da.from_array(IMAGE, chunks=(93, 150))
    options = {"sigma_f": 30, "window": 5}
    whole = wavelets_of(IMAGE, order=8, **options)
    tiled = {**options, "order": 8, "max_memory": "8MB"}
    bands = nnk_dask.analyze(array, **tiled)
    assert bands.numblocks != (1, 1, 1)
    np.testing.assert_array_equal(bands.compute(), whole.analyze(IMAGE))
    smooth = nnk_dask.filter(array, lambda x: 1 / (1 + x), **tiled)
    np.testing.assert_array_equal(smooth.compute(), whole.filter(IMAGE, lambda x: 1 / (1 + x)))
    graph = image_graph(IMAGE, **options).adjacency
    for numbers, rows in delayed(nnk_dask.graph_rows(array, **tiled)).compute():
        assert (rows != graph[numbers]).nnz == 0


def test_bands_of_colours():
    colours = np.stack([IMAGE[:90, :100]] * 3, -1) * np.array([1, 0.9, 0.8], np.float32)
    options = {"sigma_f": 30, "window": 3, "channel_axis": -1, "order": 5}
    lazy = nnk_dask.analyze(da.from_array(colours, chunks=40), max_memory="1MB", **options)
    whole = wavelets_of(colours, **options)
    np.testing.assert_array_equal(lazy.compute(), whole.analyze(colours))
