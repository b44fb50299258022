"""Memory or threads that fail are an error, and the process goes on."""

import os

import pytest
from child import JOBS, on_linux, python

CALLS = """
    import sys
    from failing import fail_each_allocation, watch
    from nnk_image import SpectralGraphWavelets, _core, bilateral_graph, denoise, image_graph
    from whole_chain import GREY, checksum, graph_sum

    faults, dtype, n_jobs = watch(sys.argv[1], _core), sys.argv[2], int(sys.argv[3])
    image = (GREY / 255).astype(dtype) if dtype[0] == "f" else GREY.astype(dtype)
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
@pytest.mark.parametrize(("dtype", "n_jobs"), [("u1", 1), ("f4", 2), ("f8", 1)])
def test_each_allocation_of_the_core_may_fail(failing_malloc, dtype, n_jobs):
    preload = f"{failing_malloc} {os.environ.get('LD_PRELOAD', '')}".strip()
    words = python(CALLS, failing_malloc, dtype, n_jobs, LD_PRELOAD=preload)
    assert words[::2] == ["graph", "bilateral", "operator", "wavelets", "sgw", "fast"]


LITTLE_ADDRESS_SPACE = """
    import resource
    import numpy as np
    import nnk_image
    from whole_chain import whole_chain

    n_jobs = int(__import__("sys").argv[1])
    expected = whole_chain(n_jobs)
    image = np.random.default_rng(5).random((200, 300), dtype=np.float32)
    graph = nnk_image.image_graph(image)
    wavelets = nnk_image.SpectralGraphWavelets(graph, n_jobs=n_jobs)
    huge = np.broadcast_to(np.float32(0), (30_000, 30_000))
    calls = [
        lambda: nnk_image.image_graph(image, n_jobs=n_jobs),
        lambda: nnk_image.bilateral_graph(image, n_jobs=n_jobs),
        lambda: wavelets.analyze(image),
        lambda: nnk_image.denoise(image, 0.1, method="sgw", n_jobs=n_jobs),
        lambda: nnk_image.denoise(image, 0.1, method="fast", n_jobs=n_jobs),
        lambda: nnk_image.image_graph(huge, n_jobs=n_jobs),
    ]
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    refused = [0] * len(calls)
    for i, call in enumerate(calls):
        for megabytes in (0, 1, 2, 5, 12, 40):
            mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (mapped + (megabytes << 20), hard))
            try:
                call()
            except MemoryError:
                refused[i] += 1
            except RuntimeError as error:  # a thread's stack did not fit
                assert n_jobs > 1 and "start new thread" in str(error), error
                refused[i] += 1
            finally:
                resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    assert whole_chain(n_jobs) == expected
    assert refused[-1] == 6, refused
    print(*refused)
"""


@on_linux
@pytest.mark.slow
@JOBS
def test_little_address_space_is_an_error(n_jobs):
    """And the process goes on."""
    # What is mapped is what is used: freed memory goes back at once, and no thread's arena
    # has address space in reserve.
    malloc = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}
    refused = python(LITTLE_ADDRESS_SPACE, n_jobs, timeout=60, **malloc)
    assert "0" not in refused
