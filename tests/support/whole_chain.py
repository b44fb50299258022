"""Graphs, wavelets and denoising of small images as one line of check sums.

Whatever process, thread, vector variant or locale it runs in, the line is the same.
Child processes of the tests import this by name, and get threads and many chunks for images
that would not be worth them.
"""

import os
import zlib

import numpy as np

import nnk_image
from nnk_image.base import parallel

PIXELS_PER_THREAD = parallel.PIXELS_PER_THREAD
LEAST_PIXELS_PER_CHUNK = parallel.LEAST_PIXELS_PER_CHUNK
parallel.PIXELS_PER_THREAD = parallel.LEAST_PIXELS_PER_CHUNK = 1

GRAY = np.random.default_rng(41).integers(0, 256, (61, 70), dtype=np.uint8)
COLOR = np.random.default_rng(42).random((40, 37, 3), dtype=np.float32)


def checksum(*arrays):
    """CRC of the bytes of arrays, in hexadecimal."""
    crc = 0
    for array in arrays:
        crc = zlib.crc32(np.ascontiguousarray(array), crc)
    return f"{crc:08x}"


def graph_sum(graph):
    """Check sum of a graph's matrix."""
    return checksum(graph.adjacency.indptr, graph.adjacency.indices, graph.adjacency.data)


def wavelet_sum(wavelets, image):
    """Check sum of coefficients and of what they are reconstructed to."""
    coefficients = wavelets.analyze(image)
    return checksum(coefficients, wavelets.reconstruct(coefficients))


def whole_chain(n_jobs=None):
    """Check sums of everything, in one line without blanks."""
    graph = nnk_image.image_graph(GRAY, n_jobs=n_jobs)
    sums = [
        graph_sum(graph),
        graph_sum(nnk_image.image_graph(COLOR, channel_axis=-1, directed=True, n_jobs=n_jobs)),
        graph_sum(nnk_image.bilateral_graph(GRAY, 5, n_jobs=n_jobs)),
        wavelet_sum(nnk_image.SpectralGraphWavelets(graph, n_jobs=n_jobs), GRAY),
    ]
    for method in ("sgw", "fast"):
        sums += [
            checksum(nnk_image.denoise(GRAY, 25, method=method, n_jobs=n_jobs)),
            checksum(nnk_image.denoise(COLOR, method=method, channel_axis=-1, n_jobs=n_jobs)),
        ]
    return "-".join(sums)


def tasks():
    """Numbers of the threads of this process, whoever started them."""
    return set(os.listdir("/proc/self/task"))


def threads_started(method):
    """How many threads `denoise` adds to this process, seen from its progress reports.

    Those are identified by their numbers: a thread of before may still be on its way out.
    """
    nnk_image.denoise(GRAY, 25, method=method)  # imports may start some, once
    before, started = tasks(), set()
    nnk_image.denoise(GRAY, 25, method=method, progress=lambda *_: started.update(tasks() - before))
    return len(started)
