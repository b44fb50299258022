"""A failed allocation in the compiled core raises MemoryError and has no further effect."""

import os

import pytest
from child import python

CALLS = """
    import sys
    from failing import fail_each_allocation, watch
    from nnk_image import SpectralGraphWavelets, _core, bilateral_graph, denoise, image_graph
    from whole_chain import GRAY, checksum, graph_sum

    faults, dtype, n_jobs = watch(sys.argv[1], _core), sys.argv[2], int(sys.argv[3])
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


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "n_jobs"), [("u1", 1), ("f4", 2)])
def test_every_failed_allocation_raises_memory_error(failing_malloc, dtype, n_jobs):
    preload = f"{failing_malloc} {os.environ.get('LD_PRELOAD', '')}".strip()
    words = python(CALLS, failing_malloc, dtype, n_jobs, LD_PRELOAD=preload)
    assert words[::2] == ["graph", "bilateral", "operator", "wavelets", "sgw", "fast"]
