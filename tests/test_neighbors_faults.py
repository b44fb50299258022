"""Memory that fails during work on general data is an error, and the process goes on."""

import os

import pytest
from child import python
from test_faults import failing_malloc  # noqa: F401 (a fixture)

FAIL_EACH_ALLOCATION = """
    import ctypes, sys
    import numpy as np
    from nnk_image import nnk_graph, nnk_neighbors, nnk_weights
    from nnk_image.neighbors import _core

    faults, n_jobs = ctypes.CDLL(sys.argv[1]), int(sys.argv[2])
    with open("/proc/self/maps") as maps:
        ranges = [line.split()[0].split("-") for line in maps if _core.__file__ in line]
    ends = [int(address, 16) for pair in ranges for address in pair]
    faults.watch(ctypes.c_size_t(min(ends)), ctypes.c_size_t(max(ends)))

    points = np.random.default_rng(0).random((3000, 5))
    lists = np.random.default_rng(1).integers(0, 3000, (3000, 20))
    K = np.eye(5) + 0.5
    calls = {
        "graph": lambda: nnk_graph(points, 20, neighbors=lists, n_jobs=n_jobs).data.sum(),
        "lnp": lambda: nnk_neighbors(points, neighbors=lists, method="lnp").weights.sum(),
        "weights": lambda: nnk_weights(K, np.ones(5), n_jobs=n_jobs).sum(),
    }
    for name, call in calls.items():
        faults.fail(0)
        expected, held = call(), faults.n_held()
        n_allocations = faults.n_asked()
        assert n_allocations > 0, name
        for n in range(1, n_allocations + 1):
            faults.fail(n)
            try:
                call()
            except MemoryError as error:
                assert "ran out of memory" in str(error), error
            else:
                raise AssertionError(f"{name}: allocation {n} failed and nobody noticed")
            faults.fail(0)
            assert faults.n_held() == held, f"{name}: {n} left {faults.n_held() - held} blocks"
            assert call() == expected, (name, n)
        print(name)
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_each_allocation_of_the_core_may_fail(failing_malloc, n_jobs):  # noqa: F811
    preload = f"{failing_malloc} {os.environ.get('LD_PRELOAD', '')}".strip()
    words = python(FAIL_EACH_ALLOCATION, failing_malloc, n_jobs, LD_PRELOAD=preload)
    assert words == ["graph", "lnp", "weights"]
