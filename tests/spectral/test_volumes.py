"""Tests of polynomials on volumes, against dense matrices and for reproducible bits."""

import dense
import numpy as np
import pytest
from laplacians import both_layouts, random_bank, run, stored

from nnk_image import SpectralGraphWavelets, image_graph
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.laplacian import KINDS
from nnk_image.spectral import time_skewing
from nnk_image.spectral.operator import LaplacianOperator

# Shape and window: thin volumes, windows of side 1, rows of several blocks, sequences.
CASES = [
    ((1, 1, 1), 3),
    ((1, 1, 7), 5),
    ((7, 1, 1), 5),
    ((1, 7, 2), 5),
    ((4, 5, 6), 5),
    ((3, 4, 17), (3, 1, 5)),
    ((5, 4, 9), (5, 3, 1)),
    ((4, 3, 9), (1, 1, 3)),
    ((2, 3, 4, 5), 3),
    ((3, 1, 4, 9), (3, 3, 1, 5)),
]


def random_volume(shape, dtype=float):
    return np.random.default_rng(0).random(shape).astype(dtype)


def random_mask(shape):
    mask = np.random.default_rng(1).random(shape) < 0.8
    mask.flat[0] = True
    return mask


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "window"), CASES)
def test_polynomials_match_the_dense_matrix(shape, window, kind, masked):
    volume, mask = random_volume(shape), random_mask(shape) if masked else None
    spacing = tuple(np.linspace(1, 2, len(shape)).tolist())
    graph = image_graph(volume, window, sigma_f=0.3, spacing=spacing, mask=mask)
    matrix, coefficients = graph.adjacency.toarray(), random_bank(3, 11)
    signals = np.random.default_rng(2).standard_normal((3, volume.size))
    with RowExecutor() as executor:
        operators = [
            LaplacianOperator.of_graph(stored(graph), kind, executor, dtype=np.float64),
            *both_layouts(graph, kind),
        ]
    bound = operators[0].bound
    p = dense.polynomials(dense.laplacian(matrix, kind), coefficients, bound)
    for operator in operators:
        assert operator.shape == (shape if operator is not operators[2] else (volume.size,))
        assert operator.bound == pytest.approx(operators[0].bound, rel=1e-12)
        given = coefficients, 1, bound
        found = run(operator, "analyze", signals[0], *given)
        np.testing.assert_allclose(found, p @ signals[0], atol=1e-11)
        found = run(operator, "synthesize", signals, *given)
        np.testing.assert_allclose(found, np.einsum("sij,sj->i", p, signals), atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("shape", "window"), [((19, 5, 6), 3), ((40, 3, 17), 5), ((20, 2, 3, 9), 3)]
)
def test_same_bits_for_any_order_threads_and_blocks(shape, window, dtype, simd, tiles, monkeypatch):
    volume, mask = random_volume(shape, dtype), random_mask(shape)
    options = {"sigma_f": 0.3, "spacing": (1,) * len(shape), "mask": mask}
    for order in (1, 4, 13):
        results = []
        for n_jobs, orders in [(1, 1), (1, 4), (2, 4), (5, 2), (3, 3)]:
            with monkeypatch.context() as patch:
                patch.setattr(time_skewing, "_ORDERS_PER_BLOCK_OF_SLICES", orders)
                patch.setattr(RowExecutor, "threads_for", lambda self, n: self.n_jobs)
                given = {"order": order, "n_scales": 2, "n_jobs": n_jobs}
                graph = image_graph(volume, window, **options)
                for g in (graph, stored(graph)):
                    w = SpectralGraphWavelets(g, **given)
                    bands = w.analyze(volume)
                    results.append((bands, w.synthesize(bands)))
        for bands, image in results[1:]:
            np.testing.assert_array_equal(bands, results[0][0])
            np.testing.assert_array_equal(image, results[0][1])
    assert max(tiles) > 1
