"""Tests of polynomials of a Laplacian, against dense matrices and for reproducible bits."""

import dense
import numpy as np
import pytest
import scipy.sparse as sp
from dense import graphs
from hypothesis import given
from hypothesis import strategies as st
from laplacians import both_layouts, random_bank, random_graph, run, stored

from nnk_image import SpectralGraphWavelets, bilateral_graph, image_graph
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.laplacian import KINDS
from nnk_image.spectral.operator import LaplacianOperator

ORDERS = (0, 1, 2, 5, 6, 7, 12, 31)
BUILDS = (image_graph, bilateral_graph)


def assert_close(ours, expected, relative=1e-12):
    np.testing.assert_allclose(
        ours, expected, rtol=0, atol=relative * (abs(expected).max() + 1e-300)
    )


def check_against_dense(graph, kind, coefficients, seed=0):
    """Compare analysis and synthesis of both layouts with dense polynomials p(L)."""
    matrix = graph.adjacency.toarray()
    rng = np.random.default_rng(seed)
    signal, images = rng.standard_normal(len(matrix)), rng.standard_normal((3, len(matrix)))
    laplacian = dense.laplacian(matrix, kind)
    for operator in both_layouts(graph, kind):
        p = dense.polynomials(laplacian, coefficients, operator.bound)
        assert_close(run(operator, "analyze", signal, coefficients), p @ signal)
        expected = sum(a @ b for a, b in zip(p, images, strict=True))
        assert_close(run(operator, "synthesize", images, coefficients), expected)


# --- against dense matrices --------------------------------------------------------------


@pytest.mark.parametrize("width", [7, 64])
def test_polynomials_of_order_0_are_summed_band_by_band(width):
    """Every product is rounded; with BLAS, the rounding would depend on the processor."""
    rng = np.random.default_rng(width)
    graph = image_graph(rng.random((9, width)), 5)
    factors, bands = rng.standard_normal((6, 1)), rng.standard_normal((6, 9 * width))
    expected = np.zeros(9 * width)
    for factor, band in zip(factors, bands, strict=True):
        expected += factor * band
    for operator in both_layouts(graph, "combinatorial"):
        found = run(operator, "synthesize", bands, factors)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("width", "window", "order"),
    [
        *((width, 7, 7) for width in range(1, 21)),
        *((13, window, 7) for window in range(3, 17, 2)),
        *((10, 5, order) for order in ORDERS),
    ],
)
def test_every_width_window_and_order(width, window, order, kind):
    """Rows are stored in blocks of 4 or 8 pixels; the widths leave every remainder."""
    for build in BUILDS:
        check_against_dense(random_graph(9, width, window, build), kind, random_bank(3, order))


@given(graphs(least=1e-3, largest=1e3), st.sampled_from(KINDS), st.sampled_from(ORDERS))
def test_any_sparse_graph(matrix, kind, order):
    """Errors are measured in the inner product in which the Laplacian is self-adjoint."""
    with RowExecutor() as executor:
        operator = LaplacianOperator.of_graph(
            sp.csr_array(matrix), kind, executor, dtype=np.float64
        )
    coefficients = random_bank(2, order)
    values, right, left = dense.spectrum(matrix, kind)
    root = np.sqrt(dense.node_weights(matrix, kind))
    signal = np.random.default_rng(order).standard_normal(len(matrix)) / root
    t = 2 * values / operator.bound - 1
    responses = np.polynomial.chebyshev.chebval(t, coefficients.T)
    expected = [root * (right * r @ (left @ signal)) for r in responses]
    assert_close(root * run(operator, "analyze", signal, coefficients), np.array(expected), 1e-10)


# --- reproducible bits -------------------------------------------------------------------


@pytest.mark.parametrize("method", ["analyze", "synthesize"])
@pytest.mark.parametrize("kind", ["combinatorial", "random_walk"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("window", [3, 11, 15])
def test_bits_do_not_depend_on_chunks(monkeypatch, window, dtype, kind, method):
    """The chunks have few rows, far fewer than one sweep covers."""
    graph = random_graph(150, 9, window, dtype=dtype)
    coefficients = random_bank(3, 13)
    values = np.random.default_rng(2).standard_normal((1 if method == "analyze" else 3, 1350))
    whole = [run(o, method, values, coefficients) for o in both_layouts(graph, kind, dtype)]
    monkeypatch.setattr("nnk_image.base.parallel.PIXELS_PER_CHUNK", 11)
    for n_jobs in (1, 2, 3, 40):
        for operator, expected in zip(both_layouts(graph, kind, dtype), whole, strict=True):
            split = run(operator, method, values, coefficients, n_jobs)
            np.testing.assert_array_equal(split, expected)


# --- dtypes and extreme weights ----------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_of_very_different_sizes(dtype, kind):
    """One pixel differs so much that its degree is near the smallest normal number."""
    image = np.random.default_rng(5).random((9, 9)).astype(dtype)
    image[4, 4] = 13 if dtype == np.float32 else 38.3
    graph = image_graph(image, 5, sigma_f=1.0)
    assert graph.degrees[4, 4] < np.finfo(dtype).tiny * 1e7
    matrix, signal = graph.adjacency.toarray().astype(float), np.linspace(-1, 1, 81)
    bounds = {o.bound for o in both_layouts(graph, kind, dtype)}
    p = dense.polynomials(dense.laplacian(matrix, kind), random_bank(2, 6), bounds.pop())
    for operator in both_layouts(graph, kind, dtype):
        ours = run(operator, "analyze", signal, random_bank(2, 6))
        assert_close(ours, p @ signal, 1e-12 if dtype == np.float64 else 1e-5)


def test_directed_graphs_that_are_symmetric_are_accepted():
    image = np.random.default_rng(6).random((9, 9))
    directed = image_graph(image, 3, sigma_f=0.05, directed=True)  # 4 neighbors, both ways
    undirected = image_graph(image, 3, sigma_f=0.05)
    bands = [SpectralGraphWavelets(graph).analyze(image) for graph in (directed, undirected)]
    np.testing.assert_array_equal(*bands)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (13, 1), (7, 67), (40, 33), (5, 130, 3)])
@pytest.mark.parametrize("masked", [False, True])
def test_planes_make_the_same_operator_as_the_matrix(masked, shape, dtype):
    image = (200 * np.random.default_rng(8).random(shape)).astype(dtype)
    channel_axis = -1 if len(shape) == 3 else None
    mask = np.random.default_rng(11).random(shape[:2]) < 0.9 if masked else None
    graph = image_graph(image, 7, 1.5, 20, channel_axis=channel_axis, mask=mask)
    both = graph, stored(graph)
    signal = np.random.default_rng(9).random(shape[:2]).astype(graph.dtype)
    with RowExecutor() as executor:
        for kind in KINDS:
            ours, other = (LaplacianOperator.of_graph(g, kind, executor) for g in both)
            assert ours.bound == other.bound
            given = signal, random_bank(2, 9), ours.bound, executor
            np.testing.assert_array_equal(ours.analyze(*given), other.analyze(*given))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 1), (19, 70), (33, 8), (4, 6, 19)])
def test_the_combinatorial_laplacian_of_a_constant_is_exactly_zero(shape, dtype):
    image = np.random.default_rng(0).random(shape).astype(dtype)
    graph = image_graph(image, 5, sigma_f=0.3, spacing=(1,) * len(shape))
    for operator in both_layouts(graph, "combinatorial", dtype):
        ones = np.ones(graph.n_nodes)
        assert not run(operator, "analyze", ones, np.array([[1.0, 1.0]])).any()  # 1 + X
