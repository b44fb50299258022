"""Tests of matrix entries that are recomputed some rows at a time instead of being kept."""

import copy
import gc
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from copies import through_read_only_buffers
from laplacians import wavelets_of
from pictures import progress_of

from nnk_image import SpectralGraphWavelets, denoise, image_graph
from nnk_image.base.geometry import BLOCK_BYTES
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.laplacian import KINDS
from nnk_image.graph.planes import EdgePlanes, StoredEdges
from nnk_image.graph.pruning import GraphSpec
from nnk_image.graph.window import window_on
from nnk_image.spectral import block_matrix, time_skewing
from nnk_image.spectral.block_matrix import BlockMatrix, MatrixWeights
from nnk_image.spectral.chebyshev import GridRecurrence

SHAPES = [(1, 1), (1, 300), (400, 1), (23, 140), (500, 37)]


def keep_no_entries(monkeypatch):
    of_graph = GridRecurrence.of_graph
    monkeypatch.setattr(block_matrix, "MAX_KEPT_BYTES", 0)
    monkeypatch.setattr(GridRecurrence, "of_graph", lambda *a, **_: of_graph(*a[:3], keep=False))


@pytest.fixture
def no_entries_kept(monkeypatch):
    keep_no_entries(monkeypatch)


def noisy(shape, dtype=np.float32):
    rng = np.random.default_rng(0)
    steps = np.add.outer(np.arange(shape[0]) // 9, np.arange(shape[1]) // 7) % 5
    return (20 * steps + rng.normal(0, 6, shape)).astype(dtype)


def everything(image, kind, n_jobs=1):
    """Return the results of all uses of the operator of an image, as a list of arrays."""
    options = {"sigma_f": 9, "laplacian": kind, "order": 13, "n_scales": 2, "n_jobs": n_jobs}
    wavelets = wavelets_of(image, 7, **options)
    bands = wavelets.analyze(image)
    filtered = wavelets.filter(image, lambda x: np.exp(-x))
    both_ways = wavelets.synthesize(bands), wavelets.reconstruct(bands)
    return [np.float64(wavelets.bound), bands, filtered, *both_ways]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_recomputed_entries_give_the_same_bits_as_kept_ones(kind, shape, dtype, monkeypatch):
    image = noisy(shape, dtype)
    kept = everything(image, kind)
    keep_no_entries(monkeypatch)
    for n_jobs in (1, 3):
        for expected, found in zip(kept, everything(image, kind, n_jobs), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rows", [1, 3, 32])
def test_rows_may_be_recomputed_in_small_steps(rows, monkeypatch):
    image = noisy((301, 90))
    options = {"sigma_f": 9, "order": 37, "n_scales": 2}  # more orders than one pass computes
    kept = wavelets_of(image, 3, **options).analyze(image)
    keep_no_entries(monkeypatch)
    monkeypatch.setattr(time_skewing, "_ROWS_PER_FILLING", rows)
    for n_jobs in (1, 3):
        again = wavelets_of(image, 3, **options, n_jobs=n_jobs)
        np.testing.assert_array_equal(again.analyze(image), kept)


@pytest.mark.parametrize("method", ["sgw", "fast"])
def test_denoising_without_kept_entries_gives_the_same_bits(method, monkeypatch):
    image = noisy((260, 70))
    kept = denoise(image, 6, method=method)
    keep_no_entries(monkeypatch)
    np.testing.assert_array_equal(denoise(image, 6, method=method, n_jobs=2), kept)


def test_progress_ends_at_its_total(no_entries_kept):
    image = noisy((400, 30))
    progress_of(lambda progress: denoise(image, 6, method="sgw", progress=progress))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, through_read_only_buffers])
def test_copy_recomputes_the_same_entries(duplicate, no_entries_kept):
    image = noisy((300, 40))
    wavelets = wavelets_of(image, 5, sigma_f=9)
    expected = wavelets.analyze(image)
    other = duplicate(wavelets)
    del wavelets
    np.testing.assert_array_equal(other.analyze(image), expected)


def test_later_changes_of_the_matrix_do_not_matter(no_entries_kept):
    image = noisy((50, 40))
    graph = image_graph(image, 5, sigma_f=9)
    with pytest.raises(ValueError, match="read-only"):
        graph.adjacency.data[:] = 0
    graph = replace(graph, edges=StoredEdges(graph.adjacency.copy()))
    wavelets = SpectralGraphWavelets(graph)
    expected = wavelets.analyze(image)
    weights = graph.adjacency.data
    weights.flags.writeable = True
    weights[:] = 0
    np.testing.assert_array_equal(wavelets.analyze(image), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 7, 8, 300])
@pytest.mark.parametrize("window", [3, 11, 21])
def test_padded_rows_are_complete_blocks_with_padding_at_both_ends(window, width, dtype):
    image = noisy((3, width), dtype)
    with RowExecutor() as executor:
        of = window_on(image.shape, window, (1.0, 1.0))[0], np.dtype(dtype)
        edges = MatrixWeights(image_graph(image, window, sigma_f=9), *of, executor)
        matrix = BlockMatrix(image.shape, *of, edges, executor)
    rows, lanes = matrix.padded(image), BLOCK_BYTES // image.itemsize
    assert rows.shape == (3, matrix.stride)
    np.testing.assert_array_equal(matrix.inside(rows), image)
    pad = np.flatnonzero(rows[0])[0]  # no pixel is 0
    assert pad % lanes == matrix.stride % lanes == 0
    reach = min(window // 2, width - 1)
    assert reach <= pad < reach + lanes
    assert width <= matrix.blocks * lanes < width + lanes
    assert matrix.stride == 2 * pad + matrix.blocks * lanes
    assert np.count_nonzero(rows) == image.size


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_degrees_are_the_row_sums_of_the_matrix(dtype, monkeypatch):
    image = noisy((60, 50), dtype)
    graph = image_graph(image, 5, 2.0, 9.0)
    with RowExecutor() as executor:
        spec = GraphSpec(image, 5, 2.0, 9.0)
        of = spec.image.shape, spec.window, spec.image.dtype
        matrices = [BlockMatrix(*of, MatrixWeights(graph, spec.window, dtype, executor), executor)]
        for kept in (block_matrix.MAX_KEPT_BYTES, 0):
            monkeypatch.setattr(block_matrix, "MAX_KEPT_BYTES", kept)
            edges = EdgePlanes(spec, executor)
            matrices.append(BlockMatrix(*of, edges, executor, keep=False))
        x = abs(image) + 1
        products = [m.signless(x, 0.25, executor) for m in matrices]
    assert [m.keeps_entries for m in matrices] == [True, True, False]
    signless = 0.25 * (graph.degrees * x + (graph.adjacency @ x.ravel()).reshape(x.shape))
    for product in products:
        np.testing.assert_array_equal(product, products[0])
        np.testing.assert_allclose(product, signless, rtol=16 * np.finfo(dtype).eps)
    for m in matrices:
        np.testing.assert_allclose(m.degrees, graph.degrees, rtol=8 * np.finfo(dtype).eps)
        np.testing.assert_array_equal(m.degrees, matrices[0].degrees)


@pytest.mark.parametrize("keep", [False, True])
def test_memory_of_results_is_freed_immediately(keep, monkeypatch):
    if not keep:
        keep_no_entries(monkeypatch)
    image = noisy((1000, 40))
    wavelets = wavelets_of(image, 7, sigma_f=9)
    wavelets.analyze(image)
    gc.disable()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for n_jobs in (1, 2):
            wavelets.n_jobs = n_jobs
            wavelets.analyze(image)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert after - before < image.nbytes


def peak_of(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_recomputing_entries_saves_memory(monkeypatch):
    image = noisy((6000, 40))

    def low_pass():
        wavelets = wavelets_of(image, 7, sigma_f=9, order=16)
        wavelets.filter(image, lambda x: np.exp(-x))

    kept = peak_of(low_pass)
    keep_no_entries(monkeypatch)
    assert peak_of(low_pass) < 0.6 * kept
