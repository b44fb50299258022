"""Threads that use the same objects at once get what one thread gets, without the GIL too."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from nnk_image import SpectralGraphWavelets, denoise, image_graph

IMAGE = (np.random.default_rng(0).random((48, 60)) * 255).astype("float32")
THREADS = 6


def new_objects():
    graph = image_graph(IMAGE, 7, sigma_f=25)
    return graph, SpectralGraphWavelets(graph, order=8)


def everything(graph, wavelets, n_jobs):
    bands = wavelets.analyze(IMAGE)
    results = [graph.degrees, graph.laplacian("normalized").data, bands]
    results += [wavelets.synthesize(bands), wavelets.reconstruct(bands)]
    results += [denoise(IMAGE, 20, method=method, n_jobs=n_jobs) for method in ("fast", "sgw")]
    return results


def test_threads_share_a_graph_and_its_wavelets():
    expected = everything(*new_objects(), 1)
    for _ in range(3):
        shared = new_objects()  # what is computed when first asked for, all threads ask for at once
        start = threading.Barrier(THREADS)

        def work(number, shared=shared, start=start):
            start.wait()
            return everything(*shared, 1 + number % 3)

        with ThreadPoolExecutor(THREADS) as pool:
            for results in pool.map(work, range(THREADS)):
                for result, one in zip(results, expected, strict=True):
                    np.testing.assert_array_equal(result, one, strict=True)
