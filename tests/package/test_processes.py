"""Many threads, forked and spawned processes, joblib and dask give the same bits."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from child import leaving_no_task, on_linux, python
from whole_chain import COLOR, checksum, graph_sum, wavelet_sum, whole_chain

import nnk_image.base.parallel
from nnk_image import SpectralGraphWavelets, denoise, image_graph

can_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def test_eight_threads_share_a_graph_and_its_wavelets():
    given = {"channel_axis": -1}
    graph = image_graph(COLOR, **given)
    wavelets = SpectralGraphWavelets(graph, n_jobs=2)
    signal = COLOR[..., 0]

    def all_of(graph, wavelets):
        heat = wavelets.filter(signal, lambda x: np.exp(-x))
        return (
            wavelet_sum(wavelets, signal),
            checksum(heat, graph.degrees, graph.laplacian().data),
            wavelet_sum(wavelets.at_order(9), signal),
            wavelet_sum(SpectralGraphWavelets(graph, laplacian="normalized"), signal),
            graph_sum(image_graph(COLOR, **given, n_jobs=2)),
            checksum(denoise(COLOR, 0.1, **given, n_jobs=2)),
        )

    expected = all_of(replace(graph), SpectralGraphWavelets(graph))
    together = threading.Barrier(8, timeout=60)

    def call(_):
        together.wait()
        return [all_of(graph, wavelets) for _ in range(3)]

    with leaving_no_task(), ThreadPoolExecutor(8) as pool:
        for found in pool.map(call, range(8)):
            assert found == [expected] * 3


def test_any_number_of_threads_gives_the_same_bits(expected, monkeypatch):
    monkeypatch.setattr(nnk_image.base.parallel, "PIXELS_PER_CHUNK", 100)
    for n_jobs in (None, 1, 2, 3, -1, 10**4):
        assert whole_chain(n_jobs) == expected


@can_fork
def test_forked_processes_use_objects_of_their_parent_and_start_their_own_threads(expected):
    answers = python(
        """
        import os, warnings
        from nnk_image import SpectralGraphWavelets, image_graph
        from nnk_image.base.parallel import RowExecutor
        from whole_chain import GRAY, wavelet_sum, whole_chain

        warnings.simplefilter("ignore", DeprecationWarning)  # about forks while threads run
        wavelets = SpectralGraphWavelets(image_graph(GRAY, n_jobs=2), n_jobs=2)

        def answer():
            return f"{wavelet_sum(wavelets, GRAY)} {whole_chain(2)}"

        with RowExecutor(2) as executor:  # its threads live until the context ends
            executor.run(lambda y0, y1: None, 8, rows_per_chunk=1)
            print(answer(), flush=True)
            for _ in range(2):
                child = os.fork()
                if not child:
                    print(answer(), flush=True)
                    os._exit(0)
                _, status = os.waitpid(child, 0)
                assert status == 0, status
        print(answer())
        """
    )
    assert answers == answers[:2] * 4
    assert answers[1] == expected


@pytest.mark.parametrize("method", ["spawn", pytest.param("forkserver", marks=can_fork)])
def test_spawned_processes_give_the_same_bits(expected, method):
    answers = python(
        f"""
        import multiprocessing
        from nnk_image import image_graph
        from whole_chain import GRAY, graph_sum, whole_chain

        if __name__ == "__main__":
            graph = image_graph(GRAY)
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                found = pool.map_async(whole_chain, [None, 2]).get(100)
                print(*found, pool.apply(graph_sum, (graph,)) == graph_sum(graph))
        """
    )
    assert answers == [expected, expected, "True"]


WORKERS = """
    import sys
    from whole_chain import threads_started, whole_chain

    pool, scheduler = sys.argv[1:]
    chains = [(whole_chain, n_jobs) for n_jobs in (None, 2, -1, 10)]
    starts = [(threads_started, method) for method in ("sgw", "fast")]
    if pool == "plain":
        print(*(call(argument) for call, argument in chains + starts))
    elif pool == "joblib":
        from joblib import Parallel, delayed
        parallel = Parallel(2, scheduler)
        for calls in (chains, starts):  # chains first, so that their threads are not counted
            print(*parallel(delayed(call)(argument) for call, argument in calls))
    elif __name__ == "__main__":
        import dask
        tasks = [
            dask.delayed(call)(argument, dask_key_name=f"t{i}")
            for i, (call, argument) in enumerate(chains + starts)
        ]
        print(*dask.compute(*tasks, scheduler=scheduler, num_workers=2))
"""


@on_linux
@pytest.mark.slow
@pytest.mark.parametrize(
    ("pool", "scheduler"),
    [
        ("plain", ""),
        *(("joblib", backend) for backend in ("threading", "loky")),
        ("dask", "processes"),
    ],
)
def test_workers_give_the_same_bits_and_start_no_threads_by_default(expected, pool, scheduler):
    """Otherwise workers of joblib and dask would compete for the processors."""
    if pool != "plain":
        pytest.importorskip(pool)
    assert python(WORKERS, pool, scheduler) == [expected] * 4 + ["0", "0"]
