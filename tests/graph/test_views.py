"""Tests of the attributes and repr of a graph, and of its conversion for other libraries."""

import contextlib
import sys
from dataclasses import replace

import networkx
import numpy as np
import pytest

from nnk_image import bilateral_graph, image_graph

RNG = np.random.default_rng(77)
IMAGE = RNG.random((7, 10))
HOLES = RNG.random((7, 10)) < 0.5
GRAPHS = {
    "nnk": image_graph(IMAGE, 7),
    "bilateral": bilateral_graph(IMAGE, 5),
    "float32": image_graph(IMAGE.astype(np.float32), 7),
    "isolated": image_graph(IMAGE, 3, mask=HOLES),
    "no edges": image_graph(np.arange(12.0).reshape(3, 4) * 1e9, sigma_f=1.0),
    "one pixel": image_graph(np.zeros((1, 1))),
}
DIRECTED = image_graph(IMAGE, 7, directed=True)

every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


# --- numbers -----------------------------------------------------------------------------


@every_graph
def test_counts_and_degrees(graph):
    dense = graph.adjacency.toarray()
    assert graph.n_nodes == len(dense) == graph.shape[0] * graph.shape[1]
    assert graph.n_edges == np.count_nonzero(np.triu(dense))
    assert graph.degrees.shape == graph.shape
    assert graph.degrees.dtype == dense.dtype
    tolerance = 50 * np.finfo(dense.dtype).eps
    np.testing.assert_allclose(graph.degrees.ravel(), dense.sum(axis=1), rtol=tolerance)
    assert graph.degrees is graph.degrees
    expected = np.count_nonzero(dense, axis=1).reshape(graph.shape)
    np.testing.assert_array_equal(graph.neighbor_counts, expected)


def test_counts_of_a_directed_graph():
    assert DIRECTED.n_edges == DIRECTED.adjacency.nnz
    np.testing.assert_allclose(DIRECTED.degrees.ravel(), DIRECTED.adjacency.sum(axis=1))


def test_attributes_are_the_given_parameters():
    graph = bilateral_graph(IMAGE, np.int32(9), 3, np.float32(0.5), mask=HOLES)
    assert (graph.kind, graph.window, graph.sigma_d, graph.sigma_f) == ("bilateral", 9, 3.0, 0.5)
    assert graph.directed is False
    np.testing.assert_array_equal(graph.valid, HOLES)
    assert image_graph(IMAGE).valid is None
    assert DIRECTED.directed is True
    with pytest.raises(AttributeError):
        graph.window = 3


def test_repr():
    graph = GRAPHS["nnk"]
    assert repr(graph) == (
        f"<ImageGraph nnk 7x10: 70 nodes, {graph.n_edges} edges "
        f"({graph.adjacency.nnz / 70:.2f} neighbors per pixel), window=7, sigma_d=2, "
        "sigma_f=0.0392157, float64>"
    )
    assert "directed edges" in repr(DIRECTED)
    assert "float32>" in repr(GRAPHS["float32"])
    assert f", {(~HOLES).sum()} pixels masked>" in repr(GRAPHS["isolated"])
    assert "1 nodes, 0 edges (0.00 " in repr(GRAPHS["one pixel"])


# --- other libraries ---------------------------------------------------------------------


@every_graph
def test_to_pygsp(graph):
    there = graph.to_pygsp()
    assert graph.n_nodes == there.N
    assert (graph.adjacency != there.W).nnz == 0
    assert not np.shares_memory(graph.adjacency.data, there.W.data)
    y, x = np.divmod(np.arange(graph.n_nodes), graph.shape[1])
    np.testing.assert_array_equal(there.coords, np.stack([x, -y], axis=1))
    assert not there.is_directed()


@pytest.mark.parametrize("graph", [*GRAPHS.values(), DIRECTED], ids=[*GRAPHS, "directed"])
def test_to_networkx(graph):
    there = graph.to_networkx()
    assert there.is_directed() == graph.directed
    assert list(there.nodes) == list(range(graph.n_nodes))
    assert there.number_of_edges() == graph.n_edges
    back = networkx.to_scipy_sparse_array(there, dtype=graph.adjacency.dtype)
    assert (back != graph.adjacency).nnz == 0


def test_to_networkx_without_networkx(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=r"pip install 'nnk_image\[networkx\]'"):
        GRAPHS["nnk"].to_networkx()


# --- the matrix is kept, and read-only ---------------------------------------------------


@pytest.mark.parametrize("weights", ["kernel", "nnk"])
def test_the_adjacency_is_made_once(weights):
    graph = image_graph(IMAGE, 7, weights=weights)
    assert np.shares_memory(graph.adjacency.data, graph.adjacency.data)


@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
@pytest.mark.parametrize("kind", ["planes", "matrix"])
def test_the_adjacency_cannot_be_changed(kind):
    graph = image_graph(IMAGE, 7, weights="kernel" if kind == "planes" else "nnk")
    before, degrees = graph.adjacency.copy(), graph.degrees.copy()
    changes = (
        lambda matrix: matrix.setdiag(9),
        lambda matrix: matrix.resize((2, 2)),
        lambda matrix: matrix.__setitem__((0, 1), 7),
        lambda matrix: matrix.__setitem__((0, 69), 7),
        lambda matrix: matrix.eliminate_zeros(),
        lambda matrix: matrix.data.fill(1),
        lambda matrix: matrix.indices.fill(1),
        lambda matrix: matrix.indptr.fill(0),
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
