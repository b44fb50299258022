"""A failed allocation in the core for points raises MemoryError and has no further effect."""

import os

import pytest
from child import python

CALLS = """
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


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_failed_allocation_raises_memory_error(failing_malloc, n_jobs):
    preload = f"{failing_malloc} {os.environ.get('LD_PRELOAD', '')}".strip()
    words = python(CALLS, failing_malloc, n_jobs, LD_PRELOAD=preload)
    assert words[::2] == ["graph", "lnp", "weights"]
