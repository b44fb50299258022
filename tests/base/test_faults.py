"""A failed allocation in a compiled core raises MemoryError and has no further effect."""

import os

import pytest
from child import python

OF_IMAGES = """
    import sys
    from failing import fail_each_allocation, watch
    from nnk_image import SpectralGraphWavelets, _core, bilateral_graph, denoise, image_graph
    from whole_chain import GRAY, checksum, graph_sum

    faults, n_jobs, dtype = watch(sys.argv[1], _core), int(sys.argv[2]), sys.argv[3]
    image = (GRAY / 255).astype(dtype) if dtype[0] == "f" else GRAY.astype(dtype)
    graph = image_graph(image)
    wavelets = SpectralGraphWavelets(graph, order=12, n_jobs=n_jobs)
    calls = {
        "graph": lambda: graph_sum(image_graph(image, n_jobs=n_jobs)),
        "bilateral": lambda: graph_sum(bilateral_graph(image, n_jobs=n_jobs)),
        "operator": lambda: SpectralGraphWavelets(graph, order=1, n_jobs=n_jobs).bound,
        "wavelets": lambda: checksum(wavelets.synthesize(wavelets.analyze(image))),
        "sgw": lambda: checksum(denoise(image, 25, method="sgw", n_jobs=n_jobs)),
        "fast": lambda: checksum(denoise(image, 25, method="fast", n_jobs=n_jobs)),
    }
    fail_each_allocation(faults, calls)
"""
OF_POINTS = """
    import sys
    import numpy as np
    from failing import fail_each_allocation, watch
    from nnk_image import nnk_graph, nnk_neighbors, nnk_weights
    from nnk_image.neighbors import _core

    faults, n_jobs = watch(sys.argv[1], _core), int(sys.argv[2])
    points = np.random.default_rng(0).random((3000, 5))
    lists = np.random.default_rng(1).integers(0, 3000, (3000, 20))
    K = np.eye(5) + 0.5
    calls = {
        "graph": lambda: nnk_graph(points, 20, neighbors=lists, n_jobs=n_jobs).data.sum(),
        "lnp": lambda: nnk_neighbors(points, neighbors=lists, method="lnp").weights.sum(),
        "weights": lambda: nnk_weights(K, np.ones(5), n_jobs=n_jobs).sum(),
    }
    fail_each_allocation(faults, calls)
"""


@pytest.mark.parametrize(
    ("calls", "n_calls", "options"),
    [
        (OF_IMAGES, 6, (1, "u1")),
        (OF_IMAGES, 6, (2, "f4")),
        (OF_POINTS, 3, (1,)),
        (OF_POINTS, 3, (2,)),
    ],
    ids=["images-1", "images-2", "points-1", "points-2"],
)
def test_every_failed_allocation_raises_memory_error(failing_malloc, calls, n_calls, options):
    preload = f"{failing_malloc} {os.environ.get('LD_PRELOAD', '')}".strip()
    words = python(calls, failing_malloc, *options, LD_PRELOAD=preload)
    assert len(words) == 2 * n_calls
