"""Tests of the summary of a graph: correct figures, also as JSON and as text."""

import json

import numpy as np
import pytest

from nnk_image import bilateral_graph, image_graph
from nnk_image.graph.summary import lines_of, summary

RNG = np.random.default_rng(3)
IMAGE = RNG.random((7, 10))
HOLES = RNG.random((7, 10)) > 0.3
GRAPHS = {
    "nnk": image_graph(IMAGE, 5),
    "bilateral": bilateral_graph(IMAGE, 5, sigma_f=1),
    "directed": image_graph(IMAGE, 5, directed=True),
    "masked": image_graph(IMAGE, 5, mask=HOLES),
    "wide window": bilateral_graph(IMAGE, 19, sigma_f=1),
    "one pixel": image_graph([[1.0]], 5),
    "float32": image_graph(IMAGE.astype(np.float32), 5, sigma_f=0.02),
}
every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def pairs_within_window(graph):
    """Count ordered pairs of valid pixels that are at most half a window apart."""
    y, x = np.nonzero(np.ones(graph.shape, bool) if graph.valid is None else graph.valid)
    far = np.maximum(abs(y[:, None] - y), abs(x[:, None] - x))
    return int(((far > 0) & (far <= graph.window // 2)).sum())


@every_graph
def test_figures_of_the_summary(graph):
    figures = summary(graph)
    dense = graph.adjacency.toarray()
    nodes = slice(None) if graph.valid is None else graph.valid.ravel()
    counts = np.count_nonzero(dense, axis=1)[nodes]
    assert figures["n_edges"] == graph.n_edges
    assert figures["neighbors"]["mean"] == pytest.approx(counts.mean())
    assert (figures["neighbors"]["min"], figures["neighbors"]["max"]) == (
        min(counts),
        max(counts),
    )
    assert figures["degree"]["mean"] == pytest.approx(dense.sum(axis=1)[nodes].mean(), rel=1e-6)
    assert figures["n_isolated"] == (counts == 0).sum()
    assert figures["n_masked"] == (0 if graph.valid is None else (~graph.valid).sum())
    pairs = pairs_within_window(graph)
    assert figures["reduction"] == pytest.approx(1 - graph.adjacency.nnz / pairs if pairs else 0)
    assert json.loads(json.dumps(figures)) == figures | {"shape": list(graph.shape)}


def test_the_bilateral_graph_has_no_reduction():
    for name in ("bilateral", "wide window"):
        assert summary(GRAPHS[name])["reduction"] == 0
        assert "fewer" not in lines_of(GRAPHS[name])["edges"]


def test_lines_mention_special_properties():
    assert "directed" in lines_of(GRAPHS["directed"])["graph"]
    assert lines_of(GRAPHS["masked"])["masked"] == f"{(~HOLES).sum()} pixels"
    assert lines_of(GRAPHS["one pixel"])["isolated"] == "1 pixels without neighbors"
    n_lost = GRAPHS["float32"].n_underflow
    assert n_lost > 0
    assert lines_of(GRAPHS["float32"])["left out"] == f"{n_lost} edges, too weak for float32"
    assert not {"masked", "isolated", "left out"} & set(lines_of(GRAPHS["bilateral"]))
