"""Tests of int64 indices, used for more than 2^31 entries: all results stay the same."""

from dataclasses import replace

import numpy as np
import pytest
from laplacians import stored
from whole_chain import COLOR, GRAY, checksum, graph_sum, wavelet_sum

from nnk_image import ImageGraph, SpectralGraphWavelets, bilateral_graph, image_graph
from nnk_image.base import memory


def directed_graph(image, **options):
    return image_graph(image, directed=True, **options)


@pytest.fixture
def low_limit(monkeypatch):
    """Return a function that makes graphs of 100 entries or more use int64 indices."""

    def lower():
        monkeypatch.setattr(memory, "INDEX32_LIMIT", 100)

    return lower


@pytest.mark.parametrize("build", [image_graph, directed_graph, bilateral_graph])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize(
    ("image", "options"),
    [(GRAY, {"sigma_f": 10}), (COLOR * 255, {"sigma_f": 20, "channel_axis": 2})],
    ids=["gray", "color"],
)
def test_int64_graphs_equal_int32_graphs(low_limit, image, options, dtype, build):
    expected = build(image.astype(dtype), **options)
    low_limit()
    for n_jobs in (1, 3):
        wide = build(image.astype(dtype), **options, n_jobs=n_jobs)
        assert wide.adjacency.indices.dtype == wide.adjacency.indptr.dtype == np.int64
        assert wide.adjacency.data.dtype == expected.adjacency.data.dtype
        for name in ("indptr", "indices", "data"):
            found = getattr(wide.adjacency, name)
            np.testing.assert_array_equal(found, getattr(expected.adjacency, name))
        np.testing.assert_array_equal(wide.degrees, expected.degrees)


@pytest.mark.parametrize("laplacian", ["combinatorial", "normalized", "random_walk", "regularized"])
@pytest.mark.parametrize("build", [image_graph, bilateral_graph])
def test_wavelets_of_int64_graphs(low_limit, build, laplacian):
    def results(graph):
        directed = replace(graph, directed=True)  # its edges are symmetric anyway
        for given in (graph, stored(graph, "f4"), directed, graph.adjacency):
            wavelets = SpectralGraphWavelets(given, order=20, laplacian=laplacian)
            yield wavelets.lmax, wavelet_sum(wavelets, GRAY.reshape(wavelets.shape))
        yield checksum(graph.laplacian(laplacian).data)

    expected = list(results(build(GRAY, window=5)))
    low_limit()
    wide = build(GRAY, window=5)
    assert wide.adjacency.indices.dtype == np.int64
    assert list(results(wide)) == expected


def test_int64_graphs_are_saved_and_loaded(low_limit, tmp_path):
    low_limit()
    graph = image_graph(GRAY)
    graph.save(tmp_path / "graph.npz")
    back = ImageGraph.load(tmp_path / "graph.npz")
    assert back.adjacency.indices.dtype == np.int64
    assert graph_sum(back) == graph_sum(graph)
