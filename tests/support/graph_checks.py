"""Checks of image graphs, also against brute force, and sample images."""

import brute_force
import numpy as np
import pytest
from random_images import options
from scipy.sparse import csr_array

from nnk_image import _core, bilateral_graph, image_graph

_RNG = np.random.default_rng(31)
GRAY = _RNG.integers(0, 256, (12, 14), dtype=np.uint8)
COLOR = _RNG.integers(0, 256, (12, 14, 3), dtype=np.uint8)

every_image = pytest.mark.parametrize(
    "image",
    [GRAY, GRAY / 3, (GRAY / 7).astype(np.float32), COLOR, COLOR / np.float32(9)],
    ids=lambda image: f"{image.dtype}-{'gray' if image.ndim == 2 else 'color'}",
)


def _directed_graph(*arguments, **options):
    return image_graph(*arguments, **options, directed=True)


every_kind = pytest.mark.parametrize(
    "build", [_directed_graph, image_graph, bilateral_graph], ids=["directed", "nnk", "bilateral"]
)


def assert_canonical(adjacency):
    """Check for sorted columns, no self loops, and weights that are normal numbers up to 1."""
    assert isinstance(adjacency, csr_array)
    rows = np.repeat(np.arange(adjacency.shape[0]), np.diff(adjacency.indptr))
    same_row = np.diff(rows) == 0
    assert (np.diff(adjacency.indices)[same_row] > 0).all()
    assert (rows != adjacency.indices).all()
    assert (adjacency.data >= np.finfo(adjacency.dtype).tiny).all()
    assert (adjacency.data <= 1).all()


def assert_symmetric(adjacency):
    assert (adjacency != adjacency.T).nnz == 0


def assert_equal(one, two):
    """Check that two adjacencies have the same bits and dtypes."""
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), strict=True)


def assert_edges(graph, chosen, exponent):
    """Check that a graph has the chosen edges (dense bool), with dense weights exp(exponent).

    An edge may be left out if its weight is below, or very near, the smallest normal number.
    """
    assert_canonical(graph.adjacency)
    limits = np.finfo(graph.adjacency.dtype)
    weights = graph.adjacency.toarray()
    excess = exponent - np.log(limits.tiny)
    np.testing.assert_array_equal(
        weights > 0, chosen & (excess > np.where(weights > 0, -0.01, 0.01))
    )
    i, j = np.nonzero(weights)
    error = abs(weights[i, j] / np.exp(exponent[i, j]) - 1)
    assert (error <= 8 * limits.eps * (1 - exponent[i, j])).all()


def each_variant():
    """Use each SIMD variant in turn, and yield its name."""
    before = _core.simd_variant()
    try:
        for name in _core.simd_variants():
            _core.use_simd(name)
            yield name
    finally:
        _core.use_simd(before)


def assert_matches_brute_force(image, window, sigma_d, sigma_f, valid=None):
    """Compare all three graphs of an image with brute force, for each SIMD variant.

    The undirected graph is the union of both directions, with the bits of the bilateral weights.
    """
    given = options(image, window=window, sigma_d=sigma_d, sigma_f=sigma_f, mask=valid)
    exponent = brute_force.log_kernel(image, sigma_d, sigma_f)
    directed = brute_force.chosen(image, window, sigma_d, sigma_f, valid)
    pairs = brute_force.window_pairs(image.shape[:2], window, valid)
    for _ in each_variant():
        one_way = image_graph(image, **given, directed=True)
        undirected, bilateral = image_graph(image, **given), bilateral_graph(image, **given)
        assert_edges(one_way, directed, exponent)
        assert_edges(undirected, directed | directed.T, exponent)
        assert_edges(bilateral, pairs, exponent)
        weights, both_ways = bilateral.adjacency, undirected.adjacency
        assert_symmetric(weights)
        assert (one_way.adjacency.maximum(one_way.adjacency.T) != both_ways).nnz == 0
        assert (weights.multiply(both_ways > 0) != both_ways).nnz == 0
