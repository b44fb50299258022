"""Exact NNK weights on an image graph whose neighbours have been found already."""

from dataclasses import replace

import numpy as np

from nnk_image.neighbors.model import NeighborhoodModel


def nnk_weighted(graph, pixels, directed, n_jobs=None):
    """An image graph with the weights of non-negative kernel regression.

    Parameters
    ----------
    graph : ImageGraph
        As each pixel chose its neighbours: directed.
    pixels : (H, W, C) ndarray
        The image it is of; masked pixels may hold anything.
    directed : bool
        Keep the weights each pixel chose.  Default: of two weights the larger.
    n_jobs : int or None

    Returns
    -------
    ImageGraph
        Neighbours of weight 0 are none.
    """
    solved = solve_on(graph, pixels, n_jobs)
    adjacency = (
        solved.neighborhoods(n_jobs).to_csr() if directed else solved.undirected("max", n_jobs)
    )
    adjacency = adjacency.astype(graph.adjacency.dtype)
    adjacency.eliminate_zeros()  # weights too small for float32 have become 0
    return replace(graph, adjacency=adjacency, directed=directed, n_underflow=0)


def solve_on(graph, pixels, n_jobs):
    """Weights of each pixel on its neighbours in the graph: the kernel is the bilateral one."""
    valid = np.ones(graph.shape, bool) if graph.valid is None else graph.valid
    places = graph.positions() / graph.sigma_d
    levels = np.where(valid[..., None], pixels, 0).astype(np.float64) / graph.sigma_f
    features = np.hstack([places, levels.reshape(graph.n_nodes, -1)])
    most = int(np.diff(graph.adjacency.indptr).max(initial=1))
    model = NeighborhoodModel(
        features, max(1, most), sigma=1.0, neighbors=graph.adjacency, n_jobs=n_jobs
    )
    return model.solve()
