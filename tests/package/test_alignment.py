"""Arrays may start at any address; the C core only receives aligned ones."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from nnk_image import (
    ImageGraph,
    SpectralGraphWavelets,
    _core,
    denoise,
    image_graph,
    nnk_graph,
    nnk_weights,
)
from nnk_image.neighbors import _core as neighbors_core

RNG = np.random.default_rng(5)
GRAY = RNG.random((21, 26))
VOLUME = RNG.random((5, 6, 7))
POINTS = RNG.standard_normal((50, 4))
GRAM = POINTS @ POINTS.T
CANDIDATES = RNG.integers(0, 50, (50, 8))
GRAPH = image_graph(GRAY, 5, sigma_f=0.3)
VOLUME_GRAPH = image_graph(VOLUME, 3, sigma_f=0.3, spacing=(1, 1, 1))
NEAREST = nnk_graph(POINTS, 8)


def misaligned(thing):
    """Return an equal array, matrix or graph whose arrays start one byte past aligned addresses."""
    if isinstance(thing, ImageGraph):
        return replace(thing, edges=misaligned(thing.adjacency))
    if sp.issparse(thing):
        matrix = thing.copy()
        parts = (matrix.data, matrix.indices, matrix.indptr)
        matrix.data, matrix.indices, matrix.indptr = map(misaligned, parts)
        return matrix
    room = np.empty(thing.nbytes + thing.itemsize, np.uint8)
    start = 1 - room.ctypes.data % thing.itemsize
    start += thing.itemsize if start < 0 else 0
    copy = room[start : start + thing.nbytes].view(thing.dtype).reshape(thing.shape)
    copy[...] = thing
    assert not copy.flags.aligned or thing.itemsize == 1
    return copy


@pytest.fixture
def checked_core(monkeypatch):
    """Make every function of the C core check that its arrays, also byte views, are aligned."""
    passed = []

    def check(argument):
        if isinstance(argument, np.ndarray) and argument.size:
            least = 4 if argument.dtype == np.uint8 else argument.itemsize
            assert argument.ctypes.data % least == 0, (argument.dtype, argument.shape)
            passed.append(argument.size)

    def checking(function):
        def call(*arguments):
            for argument in arguments:
                check(argument)
            return function(*arguments)

        return call

    for module in (_core, neighbors_core):
        for name in dir(module):
            value = getattr(module, name)
            if callable(value) and getattr(value, "__module__", "") == module.__name__:
                monkeypatch.setattr(module, name, checking(value))
    yield
    assert passed


def graph_of(image, **options):
    return rows_of(image_graph(image, 5, sigma_f=0.3, **options).adjacency)


def points_graph(points, **options):
    return rows_of(nnk_graph(points, 8, **options))


def bands_of(graph, signal):
    wavelets = SpectralGraphWavelets(graph, order=8)
    bands = wavelets.analyze(signal)
    return bands, wavelets.synthesize(bands), wavelets.reconstruct(bands)


def rows_of(matrix):
    return matrix.indptr, matrix.indices, matrix.data


CALLS = {
    "image_graph": lambda form: graph_of(form(GRAY)),
    "image_graph, float32": lambda form: graph_of(form(GRAY.astype(np.float32))),
    "image_graph, uint16": lambda form: graph_of(form((GRAY * 999).astype(np.uint16))),
    "image_graph, volume": lambda form: graph_of(form(VOLUME), spacing=(1, 1, 1)),
    "analyze": lambda form: bands_of(GRAPH, form(GRAY)),
    "analyze, graph": lambda form: bands_of(form(GRAPH), GRAY),
    "analyze, graph of a volume": lambda form: bands_of(form(VOLUME_GRAPH), VOLUME),
    "synthesize": lambda form: [
        SpectralGraphWavelets(GRAPH, order=8).synthesize(form(np.stack([GRAY] * 7)))
    ],
    "nnk_graph": lambda form: points_graph(form(POINTS)),
    "nnk_graph, float32": lambda form: points_graph(form(POINTS.astype(np.float32))),
    "nnk_graph, candidates": lambda form: points_graph(POINTS, neighbors=form(CANDIDATES)),
    "nnk_graph, matrix of candidates": lambda form: points_graph(POINTS, neighbors=form(NEAREST)),
    "nnk_graph, Gram matrix": lambda form: points_graph(
        form(GRAM), kernel="precomputed", kernel_params={"diagonal": form(np.diag(GRAM))}
    ),
    "nnk_weights": lambda form: [nnk_weights(form(GRAM[:5, :5]), form(GRAM[5, :5]))],
    "denoise, guide": lambda form: [denoise(GRAY, 0.1, method="sgw", guide=form(GRAPH))],
    "denoise, fast": lambda form: [denoise(form(GRAY), 0.1, method="fast")],
    "denoise, best": lambda form: [denoise(form(GRAY), 0.1, method="best")],
    "denoise, sgw": lambda form: [denoise(form(GRAY), 0.1, method="sgw")],
}


@pytest.mark.filterwarnings("ignore:the kernel matrix")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_misaligned_arrays_give_the_same_results(call, checked_core):
    for expected, found in zip(call(lambda thing: thing), call(misaligned), strict=True):
        np.testing.assert_array_equal(found, expected)
