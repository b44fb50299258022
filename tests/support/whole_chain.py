"""Graphs, wavelets and denoising of small images, as one line of checksums.

The line is the same for any process, thread, SIMD variant or locale. Importing this module
makes the library use threads and many chunks even for small images; child processes of the
tests import it by name.
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
    """Return the CRC of the bytes of arrays, in hexadecimal."""
    crc = 0
    for array in arrays:
        crc = zlib.crc32(np.ascontiguousarray(array), crc)
    return f"{crc:08x}"


def graph_sum(graph):
    """Return the checksum of a graph's matrix."""
    return checksum(graph.adjacency.indptr, graph.adjacency.indices, graph.adjacency.data)


def wavelet_sum(wavelets, image):
    """Return the checksum of the coefficients and of their reconstruction."""
    coefficients = wavelets.analyze(image)
    return checksum(coefficients, wavelets.reconstruct(coefficients))


def whole_chain(n_jobs=None):
    """Return the checksums of all results, in one line without spaces."""
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
    """Return the ids of all threads of this process, including native ones."""
    return set(os.listdir("/proc/self/task"))
