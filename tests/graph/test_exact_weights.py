"""Tests of exact NNK weights on image graphs."""

import numpy as np
import pytest
from exact import kernel_by_nnls

from nnk_image import SpectralGraphWavelets, image_graph, standard_image

IMAGE = standard_image("camera")[80:104, 90:120]
OPTIONS = {"window": 5, "sigma_d": 1.5, "sigma_f": 25}


@pytest.mark.parametrize("color", [False, True])
def test_weights_match_scipy_nnls(color):
    image = np.dstack([IMAGE, 255 - IMAGE, IMAGE // 2]) if color else IMAGE
    options = OPTIONS | ({"channel_axis": -1} if color else {})
    kernel = image_graph(image, directed=True, **options)
    exact = image_graph(image, directed=True, weights="nnk", **options)
    assert exact.directed
    for node in range(0, kernel.n_nodes, 37):
        for other, theta in kernel_by_nnls(kernel, image, node).items():
            assert exact.adjacency[node, other] == pytest.approx(theta, abs=1e-8)


def test_undirected_weights_are_the_larger_of_both_directions():
    directed = image_graph(IMAGE, directed=True, weights="nnk", **OPTIONS).adjacency
    graph = image_graph(IMAGE, weights="nnk", **OPTIONS)
    assert abs(graph.adjacency - directed.maximum(directed.T)).max() == 0
    bands = SpectralGraphWavelets(graph).analyze(IMAGE)
    assert np.isfinite(bands).all()


def test_masks_and_float32():
    image = np.where(IMAGE > 200, np.nan, IMAGE).astype(np.float32)
    graph = image_graph(image, mask=np.isfinite(image), weights="nnk", **OPTIONS)
    assert graph.adjacency.dtype == np.float32
    assert (graph.degrees[IMAGE > 200] == 0).all()
    whole = image_graph(IMAGE.astype(np.float32), weights="nnk", **OPTIONS)
    assert whole.adjacency.dtype == np.float32


def test_unknown_weights_are_refused():
    with pytest.raises(ValueError, match="weights='exact' is unknown"):
        image_graph(IMAGE, weights="exact")
