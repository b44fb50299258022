"""Exact NNK weights on an image graph whose neighbors have been chosen already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nnk_image.base.image import Array
from nnk_image.graph.pixel_graph import ImageGraph
from nnk_image.graph.planes import StoredEdges
from nnk_image.neighbors.model import NeighborhoodModel


def nnk_weighted(
    graph: ImageGraph, pixels: Array, directed: bool, n_jobs: int | None = None
) -> ImageGraph:
    """Replace an image graph's weights by those of non-negative kernel regression.

    The given graph is directed: row i holds the neighbors that pixel i of the (H, W, C) image
    chose. Values of masked pixels do not matter. Each end of an edge yields a weight for it; unless
    `directed`, the edge gets the larger one. Edges of weight 0 are left out.
    """
    valid = np.ones(graph.shape, bool) if graph.valid is None else graph.valid
    places = graph.positions() / graph.sigma_d
    intensities = np.where(valid[..., None], pixels, 0).astype(np.float64) / graph.sigma_f
    features = np.hstack([places, intensities.reshape(graph.n_nodes, -1)])
    max_neighbors = int(np.diff(graph.adjacency.indptr).max(initial=1))
    options: dict[str, Any] = {"sigma": 1.0, "neighbors": graph.adjacency, "n_jobs": n_jobs}
    solved = NeighborhoodModel(features, max_neighbors, **options).solve()
    adjacency = solved.graph(None if directed else "max")
    adjacency = adjacency.astype(graph.adjacency.dtype)
    adjacency.eliminate_zeros()  # weights too small for float32 have become 0
    return replace(graph, edges=StoredEdges(adjacency), directed=directed)
