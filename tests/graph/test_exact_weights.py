"""Exact NNK on image graphs."""

import numpy as np
import pytest
from scipy.optimize import nnls

from nnk_image import SpectralGraphWavelets, bilateral_graph, image_graph, standard_image
from nnk_image.graph.agreement import window_agreement

IMAGE = standard_image("camera")[80:104, 90:120]
OPTIONS = {"window": 5, "sigma_d": 1.5, "sigma_f": 25}


def kernel_by_nnls(graph, image, node):
    """NNK weights of a pixel on its row of a graph, by scipy."""
    candidates = graph.adjacency[[node]].indices
    nodes = np.append(candidates, node)
    y, x = np.divmod(nodes, graph.shape[1])
    features = np.column_stack([y, x]) / graph.sigma_d
    levels = image.reshape(graph.n_nodes, -1)[nodes].astype(float) / graph.sigma_f
    features = np.column_stack([features, levels])
    kernel = np.exp(-((features[:, None] - features[None]) ** 2).sum(-1) / 2)
    lower = np.linalg.cholesky(kernel[:-1, :-1])
    theta = nnls(lower.T, np.linalg.solve(lower, kernel[:-1, -1]))[0]
    return dict(zip(candidates.tolist(), theta, strict=True))


@pytest.mark.parametrize("colour", [False, True])
def test_weights_are_those_of_nnls(colour):
    image = np.dstack([IMAGE, 255 - IMAGE, IMAGE // 2]) if colour else IMAGE
    options = OPTIONS | ({"channel_axis": -1} if colour else {})
    kernel = image_graph(image, directed=True, **options)
    exact = image_graph(image, directed=True, weights="nnk", **options)
    assert exact.directed
    for node in range(0, kernel.n_nodes, 37):
        for other, theta in kernel_by_nnls(kernel, image, node).items():
            assert exact.adjacency[node, other] == pytest.approx(theta, abs=1e-8)


def test_undirected_weights_are_the_larger():
    directed = image_graph(IMAGE, directed=True, weights="nnk", **OPTIONS).adjacency
    graph = image_graph(IMAGE, weights="nnk", **OPTIONS)
    assert abs(graph.adjacency - directed.maximum(directed.T)).max() == 0
    bands = SpectralGraphWavelets(graph).analyze(IMAGE)
    assert np.isfinite(bands).all()


def test_masks_and_types():
    image = np.where(IMAGE > 200, np.nan, IMAGE).astype(np.float32)
    graph = image_graph(image, mask=np.isfinite(image), weights="nnk", **OPTIONS)
    assert graph.adjacency.dtype == np.float32
    assert (graph.degrees[IMAGE > 200] == 0).all()
    whole = image_graph(IMAGE.astype(np.float32), weights="nnk", **OPTIONS)
    assert whole.adjacency.dtype == np.float32


def test_agreement_counts_neighbours():
    agreement = window_agreement(IMAGE, **OPTIONS)
    found = image_graph(IMAGE, directed=True, **OPTIONS).adjacency
    whole = bilateral_graph(IMAGE, **OPTIONS)
    exact, both = 0, 0
    nodes = range(0, whole.n_nodes, 7)
    for node in nodes:
        theta = kernel_by_nnls(whole, IMAGE, node)
        neighbours = {j for j, w in theta.items() if w > 1e-8 * max(theta.values())}
        exact += len(neighbours)
        both += len(neighbours & set(found[[node]].indices.tolist()))
    assert both / exact == pytest.approx(agreement.recall, abs=0.03)
    assert exact / len(nodes) == pytest.approx(agreement.exact, rel=0.06)
    assert agreement.jaccard <= min(agreement.recall, agreement.precision)
    assert agreement.found == pytest.approx(found.nnz / whole.n_nodes)


def test_bad_weights():
    with pytest.raises(ValueError, match="weights='exact' is unknown"):
        image_graph(IMAGE, weights="exact")
