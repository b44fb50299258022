"""Tests of a graph's figures, and of its conversion for other libraries."""

import contextlib
from dataclasses import replace

import networkx
import numpy as np
import pytest

from nnk_image import bilateral_graph, image_graph

RNG = np.random.default_rng(77)
IMAGE = RNG.random((7, 10))
VOLUME = RNG.random((3, 4, 5))
HOLES = RNG.random((7, 10)) < 0.5
GRAPHS = {
    "nnk": image_graph(IMAGE, 7),
    "directed": image_graph(IMAGE, 7, directed=True),
    "bilateral": bilateral_graph(IMAGE, 5, sigma_f=1),
    "wide window": bilateral_graph(IMAGE, 19, sigma_f=1),
    "float32": image_graph(IMAGE.astype(np.float32), 5, sigma_f=0.02),
    "masked": image_graph(IMAGE, 3, mask=HOLES),
    "no edges": image_graph(np.arange(12.0).reshape(3, 4) * 1e9, sigma_f=1.0),
    "one pixel": image_graph(np.zeros((1, 1))),
    "volume": image_graph(VOLUME, 3, sigma_f=1, spacing=(2, 1, 1)),
}

every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


# --- figures -----------------------------------------------------------------------------


@every_graph
def test_counts_and_degrees(graph):
    dense = graph.adjacency.toarray()
    assert graph.n_nodes == len(dense) == np.prod(graph.shape)
    assert graph.n_edges == np.count_nonzero(dense if graph.directed else np.triu(dense))
    assert graph.degrees.shape == graph.shape
    assert graph.degrees.dtype == dense.dtype
    tolerance = 50 * np.finfo(dense.dtype).eps
    np.testing.assert_allclose(graph.degrees.ravel(), dense.sum(axis=1), rtol=tolerance)
    assert graph.degrees is graph.degrees
    expected = np.count_nonzero(dense, axis=1).reshape(graph.shape)
    np.testing.assert_array_equal(graph.neighbor_counts, expected)


def test_attributes_are_the_given_parameters():
    graph = bilateral_graph(IMAGE, np.int32(9), 3, np.float32(0.5), mask=HOLES)
    assert (graph.kind, graph.window, graph.sigma_d, graph.sigma_f) == ("bilateral", 9, 3.0, 0.5)
    assert graph.directed is False
    np.testing.assert_array_equal(graph.valid, HOLES)
    assert image_graph(IMAGE).valid is None
    assert GRAPHS["directed"].directed is True
    with pytest.raises(AttributeError):
        graph.window = 3


# --- other libraries ---------------------------------------------------------------------


@every_graph
def test_to_pygsp(graph):
    there = graph.to_pygsp()
    assert graph.n_nodes == there.N
    assert (graph.adjacency != there.W).nnz == 0
    assert not np.shares_memory(graph.adjacency.data, there.W.data)
    z, y, x = np.unravel_index(np.arange(graph.n_nodes), (1, 1, 1, *graph.shape)[-3:])
    expected = np.stack([x, -y, 2 * z], axis=1)  # the spacing of the volume is (2, 1, 1)
    np.testing.assert_array_equal(there.coords, expected[:, : len(graph.shape)])
    assert there.is_directed() == graph.directed


@every_graph
def test_to_networkx(graph):
    there = graph.to_networkx()
    assert there.is_directed() == graph.directed
    assert list(there.nodes) == list(range(graph.n_nodes))
    assert there.number_of_edges() == graph.n_edges
    back = networkx.to_scipy_sparse_array(there, dtype=graph.adjacency.dtype)
    assert (back != graph.adjacency).nnz == 0


# --- the matrix is kept, and read-only ---------------------------------------------------


@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
@pytest.mark.parametrize("weights", ["kernel", "nnk"])  # edges as planes, and as a matrix
def test_the_adjacency_is_made_once_and_cannot_be_changed(weights):
    graph = image_graph(IMAGE, 7, weights=weights)
    assert np.shares_memory(graph.adjacency.data, graph.adjacency.data)
    before, degrees = graph.adjacency.copy(), graph.degrees.copy()
    changes = (
        lambda matrix: matrix.setdiag(9),
        lambda matrix: matrix.resize((2, 2)),
        lambda matrix: matrix.data.fill(1),
        lambda matrix: matrix.indices.fill(1),
    )
    for change in changes:
        with contextlib.suppress(ValueError):  # read-only, or applied to a copy
            change(graph.adjacency)
        assert (graph.adjacency != before).nnz == 0
    assert graph.adjacency.has_canonical_format
    np.testing.assert_array_equal(replace(graph).degrees, degrees)
    changed = graph.adjacency.copy()
    changed.setdiag(1)
    assert changed.diagonal().all()
