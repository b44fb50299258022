"""Statistics of an image graph, as numbers and as text."""

import numpy as np
from scipy.ndimage import correlate1d

from nnk_image.graph.window import sides_of


def summary(graph):
    """Return the statistics of a graph as plain numbers, for JSON.

    Among them is ``reduction``: the fraction of the pairs within the window that are not linked,
    0 for the bilateral graph unless weights underflow.
    """
    counts, degrees = graph.neighbor_counts, graph.degrees
    matrix = graph.adjacency
    present = slice(None) if graph.valid is None else graph.valid
    return {
        "kind": graph.kind,
        "shape": graph.shape,
        "window": graph.window,
        "sigma_d": graph.sigma_d,
        "sigma_f": graph.sigma_f,
        "directed": graph.directed,
        "dtype": str(matrix.dtype),
        "n_nodes": graph.n_nodes,
        "n_edges": graph.n_edges,
        "reduction": _reduction(graph),
        "neighbors": _mean_min_max(counts[present]),
        "degree": _mean_min_max(degrees[present]),
        "n_isolated": int((counts[present] == 0).sum()),
        "n_masked": 0 if graph.valid is None else int((~graph.valid).sum()),
        "n_underflow": graph.n_underflow,
        "n_bytes": matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes,
    }


def _mean_min_max(values):
    return {
        "mean": float(values.mean(dtype=float)),
        "min": values.min().item(),
        "max": values.max().item(),
    }


def _reduction(graph):
    """Return the fraction of the pairs of pixels within the window that are not linked."""
    valid = np.ones(graph.shape, int) if graph.valid is None else graph.valid.astype(int)
    in_window = valid
    for axis, side in enumerate(sides_of(graph.window, valid.ndim)):
        in_window = correlate1d(in_window, np.ones(side), axis, mode="constant")
    pairs = int((valid * (in_window - 1)).sum())  # each in both directions
    return 1 - graph.adjacency.nnz / pairs if pairs else 0.0


def lines_of(graph):
    """Return the statistics of a graph as lines of text, by name."""
    figures = summary(graph)
    least, most = figures["neighbors"]["min"], figures["neighbors"]["max"]
    degree = figures["degree"]
    fewer = f", {100 * figures['reduction']:.1f} % fewer than bilateral"
    direction = "directed" if graph.directed else "undirected"
    lines = {
        "graph": f"{graph.kind}, {direction}, {figures['dtype']}",
        "image": f"{'x'.join(map(str, graph.shape))}, {graph.n_nodes:,} nodes",
        "edges": f"{graph.n_edges:,}" + (fewer if graph.kind != "bilateral" else ""),
        "neighbors": f"{figures['neighbors']['mean']:.2f} per pixel, {least} to {most}",
        "degree": f"{degree['mean']:.4g} on average, {degree['min']:.4g} to {degree['max']:.4g}",
        "kernel": f"window {graph.window}, sigma_d {graph.sigma_d:g}, sigma_f {graph.sigma_f:g}",
        "memory": f"{figures['n_bytes'] / 2**20:,.1f} MiB",
    }
    if figures["n_masked"]:
        lines["masked"] = f"{figures['n_masked']:,} pixels"
    if figures["n_isolated"]:
        lines["isolated"] = f"{figures['n_isolated']:,} pixels without neighbors"
    if figures["n_underflow"]:
        lines["left out"] = f"{figures['n_underflow']:,} edges, too weak for {figures['dtype']}"
    return lines
