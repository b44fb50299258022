"""Arrays may start at any address; the C core only receives aligned ones."""

import numpy as np
import pytest
import scipy.sparse as sp

import nnk_image
from nnk_image import _core
from nnk_image.graph.planes import StoredEdges
from nnk_image.neighbors import _core as neighbors_core

RNG = np.random.default_rng(5)
GRAY = RNG.random((21, 26))
VOLUME = RNG.random((5, 6, 7))
POINTS = RNG.standard_normal((50, 4))


def misaligned(array):
    """Return an equal array that starts one byte past an aligned address."""
    room = np.empty(array.nbytes + array.itemsize, np.uint8)
    start = 1 - room.ctypes.data % array.itemsize
    start += array.itemsize if start < 0 else 0
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    assert not copy.flags.aligned or array.itemsize == 1
    return copy


def misaligned_rows(matrix):
    """Return the sparse matrix with misaligned arrays."""
    copy = matrix.copy()
    copy.data, copy.indices, copy.indptr = (
        misaligned(a) for a in (matrix.data, matrix.indices, matrix.indptr)
    )
    return copy


def misaligned_graph(graph):
    """Return the graph with misaligned arrays."""
    return nnk_image.ImageGraph(
        StoredEdges(misaligned_rows(graph.adjacency)),
        graph.shape,
        graph.kind,
        graph.window,
        graph.sigma_d,
        graph.sigma_f,
    )


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
    adjacency = nnk_image.image_graph(image, 5, sigma_f=0.3, **options).adjacency
    return adjacency.indptr, adjacency.indices, adjacency.data


def bands_of(graph, image):
    wavelets = nnk_image.SpectralGraphWavelets(graph, order=8)
    bands = wavelets.analyze(image)
    return bands, wavelets.synthesize(bands), wavelets.reconstruct(bands)


def rows_of(matrix):
    return matrix.indptr, matrix.indices, matrix.data


IMAGE_GRAPH = nnk_image.image_graph(GRAY, 5, sigma_f=0.3)
VOLUME_GRAPH = nnk_image.image_graph(VOLUME, 3, sigma_f=0.3, spacing=(1, 1, 1))
CANDIDATES = RNG.integers(0, 50, (50, 8))
GRAM = POINTS @ POINTS.T

CALLS = {
    "image_graph": lambda copy: graph_of(copy(GRAY)),
    "image_graph, float32": lambda copy: graph_of(copy(GRAY.astype(np.float32))),
    "image_graph, uint16": lambda copy: graph_of(copy((GRAY * 999).astype(np.uint16))),
    "image_graph, volume": lambda copy: graph_of(copy(VOLUME), spacing=(1, 1, 1)),
    "SpectralGraphWavelets": lambda copy: bands_of(IMAGE_GRAPH, copy(GRAY)),
    "synthesize": lambda copy: nnk_image.SpectralGraphWavelets(IMAGE_GRAPH, order=8).synthesize(
        copy(np.stack([GRAY] * 7))
    ),
    "nnk_graph": lambda copy: rows_of(nnk_image.nnk_graph(copy(POINTS), 8)),
    "nnk_graph, float32": lambda copy: rows_of(
        nnk_image.nnk_graph(copy(POINTS.astype(np.float32)), 8)
    ),
    "nnk_graph, candidates": lambda copy: rows_of(
        nnk_image.nnk_graph(POINTS, 8, neighbors=copy(CANDIDATES))
    ),
    "nnk_graph, Gram matrix": lambda copy: rows_of(
        nnk_image.nnk_graph(
            copy(GRAM), 8, kernel="precomputed", kernel_params={"diagonal": copy(np.diag(GRAM))}
        )
    ),
    "nnk_weights": lambda copy: nnk_image.nnk_weights(copy(GRAM[:5, :5]), copy(GRAM[5, :5])),
} | {
    f"denoise, {method}": lambda copy, method=method: nnk_image.denoise(
        copy(GRAY), 0.1, method=method
    )
    for method in ("fast", "best", "sgw")
}


@pytest.mark.filterwarnings("ignore:the kernel matrix")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_misaligned_arrays_give_the_same_results(call, checked_core):
    expected, found = call(np.copy), call(misaligned)
    for one, two in zip(np.atleast_1d(*expected), np.atleast_1d(*found), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("graph", [IMAGE_GRAPH, VOLUME_GRAPH], ids=["image", "volume"])
def test_misaligned_graphs_give_the_same_results(graph, checked_core):
    image = GRAY if graph is IMAGE_GRAPH else VOLUME
    for one, two in zip(
        bands_of(graph, image), bands_of(misaligned_graph(graph), image), strict=True
    ):
        np.testing.assert_array_equal(one, two)
    plain = sp.csr_array(graph.adjacency)
    for one, two in zip(
        bands_of(plain, image.ravel()), bands_of(misaligned_rows(plain), image.ravel()), strict=True
    ):
        np.testing.assert_array_equal(one, two)


def test_misaligned_guides_and_candidates_give_the_same_results(checked_core):
    guide = misaligned_graph(IMAGE_GRAPH)
    one, two = (nnk_image.denoise(GRAY, 0.1, method="sgw", guide=g) for g in (IMAGE_GRAPH, guide))
    np.testing.assert_array_equal(one, two)
    matrix = nnk_image.nnk_graph(POINTS, 8)
    one, two = (
        nnk_image.nnk_graph(POINTS, 8, neighbors=m) for m in (matrix, misaligned_rows(matrix))
    )
    np.testing.assert_array_equal(one.toarray(), two.toarray())
