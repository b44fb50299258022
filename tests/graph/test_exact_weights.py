"""Tests of exact NNK weights on image graphs."""

import numpy as np
import pytest
from exact import kernel_by_nnls

from nnk_image import image_graph, standard_image

IMAGE = standard_image("camera")[80:104, 90:120]
OPTIONS = {"window": 5, "sigma_d": 1.5, "sigma_f": 25}
CASES = {
    "gray": (IMAGE, {}),
    "color": (np.dstack([IMAGE, 255 - IMAGE, IMAGE // 2]), {"channel_axis": -1}),
    "volume": (IMAGE.reshape(6, 8, 15), {"window": 3, "spacing": (1, 2, 1)}),
}


@pytest.mark.parametrize(("image", "options"), CASES.values(), ids=CASES)
def test_weights_match_scipy_nnls(image, options):
    options = OPTIONS | options
    kernel = image_graph(image, directed=True, **options)
    directed = image_graph(image, directed=True, weights="nnk", **options)
    assert directed.directed
    for node in range(0, kernel.n_nodes, 37):
        for other, theta in kernel_by_nnls(kernel, image, node).items():
            assert directed.adjacency[node, other] == pytest.approx(theta, abs=1e-8)
    undirected = image_graph(image, weights="nnk", **options).adjacency
    assert abs(undirected - directed.adjacency.maximum(directed.adjacency.T)).max() == 0


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
