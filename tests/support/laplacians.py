"""Random graphs and polynomials, and calls of Laplacian operators of either layout."""

from dataclasses import replace

import numpy as np

from nnk_image import SpectralGraphWavelets, image_graph
from nnk_image.base.parallel import RowExecutor
from nnk_image.spectral.operator import LaplacianOperator


def random_graph(height, width, window=5, build=image_graph, seed=0, dtype=float, mask=False):
    rng = np.random.default_rng(seed)
    image = rng.random((height, width)).astype(dtype)
    valid = rng.random(image.shape) < 0.8 if mask else None
    if mask:
        valid[0, 0] = True
    return build(image, window, sigma_f=0.3, mask=valid)


def random_bank(n_bands, order, seed=0):
    return np.random.default_rng(seed).standard_normal((n_bands, order + 1))


def stored(graph, dtype=None):
    """Return the graph with its edges as a matrix instead of planes, optionally in `dtype`."""
    return replace(graph, edges=graph.adjacency.astype(dtype or graph.dtype))


def wavelets_of(image, window=None, sigma_d=2.0, sigma_f=None, **options):
    """Return wavelets on the NNK graph of an image."""
    names = ("channel_axis", "mask", "spacing")
    of_graph = {name: options.pop(name) for name in names if name in options}
    graph = image_graph(image, window, sigma_d, sigma_f, **of_graph)
    return SpectralGraphWavelets(graph, **options)


def both_layouts(graph, kind, dtype=np.float64):
    """Yield the operator on the pixel grid, and the one on the CSR matrix."""
    with RowExecutor() as executor:
        for layout in (graph, graph.adjacency):
            yield LaplacianOperator.of_graph(layout, kind, executor, dtype=dtype)


def run(operator, method, values, coefficients, n_jobs=1, bound=None):
    """Run `analyze` or `synthesize` on flat signals, and return flat results."""
    lead = (len(coefficients),) if method == "synthesize" else ()
    values = values.astype(operator.dtype).reshape(*lead, *operator.shape)
    bound = bound or operator.bound
    with RowExecutor(n_jobs) as executor:
        result = getattr(operator, method)(values, coefficients, bound, executor)
    lead = (len(coefficients),) if method == "analyze" else ()
    assert result.shape == (*lead, *operator.shape)
    assert result.dtype == operator.dtype
    return result.reshape(*lead, -1)
