"""Tests of matrix entries that are recomputed some rows at a time instead of being kept."""

import copy
import tracemalloc

import numpy as np
import pytest
from copies import through_read_only_buffers
from laplacians import wavelets_of

from nnk_image.graph.laplacian import KINDS
from nnk_image.spectral import block_matrix
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


@pytest.mark.parametrize("duplicate", [copy.deepcopy, through_read_only_buffers])
def test_copy_recomputes_the_same_entries(duplicate, no_entries_kept):
    image = noisy((300, 40))
    wavelets = wavelets_of(image, 5, sigma_f=9)
    expected = wavelets.analyze(image)
    other = duplicate(wavelets)
    del wavelets
    np.testing.assert_array_equal(other.analyze(image), expected)


def peak_of_low_pass(image):
    tracemalloc.start()
    try:
        wavelets = wavelets_of(image, 7, sigma_f=9, order=16)
        wavelets.filter(image, lambda x: np.exp(-x))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_recomputing_entries_saves_memory(monkeypatch):
    image = noisy((6000, 40))
    kept = peak_of_low_pass(image)
    keep_no_entries(monkeypatch)
    assert peak_of_low_pass(image) < 0.6 * kept
