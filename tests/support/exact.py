"""Exact NNK weights, computed by scipy."""

import numpy as np
from scipy.optimize import nnls


def nnls_weights(K, b):
    """Return the NNK weights for a kernel matrix and the similarities of a query."""
    lower = np.linalg.cholesky(K)
    return nnls(lower.T, np.linalg.solve(lower, b), maxiter=100 * len(b) + 100)[0]


def kernel_by_nnls(graph, image, node):
    """Return a pixel's NNK weights of the candidates in its row of a graph, by scipy."""
    candidates = graph.adjacency[[node]].indices
    nodes = np.append(candidates, node)
    places = np.stack(np.unravel_index(nodes, graph.shape), axis=1) * (graph.spacing or 1)
    features = places / graph.sigma_d
    levels = image.reshape(graph.n_nodes, -1)[nodes].astype(float) / graph.sigma_f
    features = np.column_stack([features, levels])
    kernel = np.exp(-((features[:, None] - features[None]) ** 2).sum(-1) / 2)
    theta = nnls_weights(kernel[:-1, :-1], kernel[:-1, -1])
    return dict(zip(candidates.tolist(), theta, strict=True))
