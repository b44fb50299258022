"""Tests of Laplacians against their definitions, and of the bound on their spectrum."""

import dense
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from dense import graphs
from hypothesis import given
from hypothesis import strategies as st
from pygsp.graphs import Graph
from scipy.linalg import block_diag
from scipy.sparse.linalg import eigsh

from nnk_image import (
    SpectralGraphWavelets,
    bilateral_graph,
    image_graph,
    nnk_graph,
    nnk_neighbors,
    standard_image,
)
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.laplacian import KINDS, check_adjacency, laplacian
from nnk_image.spectral.operator import LaplacianOperator, shift_of


def star(leaves, weight=1.0):
    matrix = np.zeros((leaves + 1, leaves + 1))
    matrix[0, 1:] = matrix[1:, 0] = weight
    return matrix


def bound_of(graph, kind, n_jobs=1):
    with RowExecutor(n_jobs) as executor:
        return LaplacianOperator.of_graph(graph, kind, executor).bound


# --- matrices ----------------------------------------------------------------------------


@given(graphs(), st.sampled_from(KINDS))
def test_laplacian_matches_its_definition(matrix, kind):
    result = laplacian(sp.csr_array(matrix), kind)
    assert result.has_canonical_format
    expected = dense.laplacian(matrix, kind)
    np.testing.assert_allclose(result.toarray(), expected, rtol=1e-12, atol=1e-12 * matrix.max())


@pytest.mark.parametrize("kind", KINDS)
def test_laplacian_keeps_float32(kind):
    image = np.random.default_rng(2).random((6, 5), np.float32)
    result = image_graph(image, window=5, sigma_f=0.2).laplacian(kind)
    assert result.dtype == np.float32
    wide = image_graph(image.astype(float), window=5, sigma_f=0.2).laplacian(kind)
    np.testing.assert_allclose(result.toarray(), wide.toarray(), atol=1e-5)


def test_unknown_kind_is_refused():
    graph = image_graph(np.eye(4), window=3)
    with pytest.raises(ValueError, match=r"'normalised' is unknown.*did you mean 'normalized'"):
        graph.laplacian("normalised")


@pytest.mark.parametrize("kind", KINDS)
def test_directed_graph_has_no_laplacian(kind):
    image = np.random.default_rng(4).random((9, 9))
    graph = image_graph(image, window=7, sigma_f=0.05, directed=True)
    assert (graph.adjacency - graph.adjacency.T).nnz
    with pytest.raises(ValueError, match="directed=False"):
        graph.laplacian(kind)
    points = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.raises(ValueError, match="symmetrize in nnk_graph"):
        SpectralGraphWavelets(nnk_graph(points, 5, symmetrize=None), laplacian=kind)


# --- adjacency from the caller -----------------------------------------------------------

PATH = np.array([[0, 2, 0], [2, 0, 3], [0, 3, 0]])


def with_duplicates_unsorted_and_zeros():
    indices, data = [1, 0, 1, 2, 0, 2, 1, 1], [1.5, 0, 0.5, 3, 2, 0, 1, 2]
    return sp.csr_array((data, indices, [0, 3, 5, 8]))


def with_wide_indices():
    matrix = sp.csr_array(PATH.astype(float))
    matrix.indptr, matrix.indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    return matrix


@pytest.mark.parametrize(
    "adjacency",
    [
        *(form(PATH.astype(float)) for form in (sp.csr_array, sp.csr_matrix)),
        *(form(PATH.astype(float)) for form in (sp.csc_array, sp.coo_array, sp.lil_array)),
        *(sp.csr_array(PATH.astype(t)) for t in ("u1", "i2", "i4", "i8", "u8", "f4", "g")),
        with_duplicates_unsorted_and_zeros(),
        with_wide_indices(),
    ],
    ids=lambda a: f"{type(a).__name__}-{a.dtype}",
)
def test_any_sparse_format_gives_the_same_graph(adjacency):
    before = adjacency.copy()
    result = check_adjacency(adjacency)
    np.testing.assert_array_equal(result.toarray(), PATH)
    assert isinstance(result, sp.csr_array)
    assert result.dtype == (np.float32 if adjacency.dtype == np.float32 else np.float64)
    assert result.nnz == 4
    assert result.has_canonical_format
    assert (before != adjacency).nnz == 0
    assert not np.shares_memory(result.data, getattr(adjacency, "data", np.empty(0)))


@pytest.mark.parametrize(
    ("adjacency", "error", "says"),
    [
        (PATH[:2], ValueError, r"\(2, 3\).*image_graph.*nnk_graph"),
        (np.arange(9.0).reshape(3, 3), ValueError, "not symmetric.*maximum.*image_graph"),
        (np.ma.masked_equal(PATH, 3), ValueError, "finite"),
        (nx.Graph(), ValueError, "not empty"),
        (None, TypeError, "NoneType"),
        (nnk_neighbors([[0.0], [1.0], [2.0]], 2), TypeError, r"nnk_graph\(X\).* not Neighborhoods"),
        (sp.csr_array(PATH * 1j), TypeError, "complex128"),
        (sp.csr_array(PATH[:2]), ValueError, r"square.*\(2, 3\)"),
        (sp.csr_array((0, 0)), ValueError, "not empty"),
        (sp.coo_array(np.ones(3)), ValueError, "square"),
        (sp.csr_array(-PATH), ValueError, "not negative.*-3"),
        (np.diag(PATH.sum(axis=1)) - PATH, ValueError, "not negative.*not its Laplacian"),
        (sp.csr_array(PATH * np.nan), ValueError, "finite"),
        (sp.csr_array(np.where(PATH, np.inf, 0)), ValueError, "inf"),
        (sp.csr_array(PATH + np.eye(3)), ValueError, "self loops.*setdiag.*fill_diagonal"),
        (sp.csr_array(np.triu(PATH)), ValueError, "not symmetric.*3.*directed=False"),
        (sp.csr_array(PATH + 1e-9 * np.triu(PATH)), ValueError, "not symmetric"),
    ],
)
def test_bad_adjacency_is_refused(adjacency, error, says):
    with pytest.raises(error, match=says):
        check_adjacency(adjacency)


def test_any_type_of_graph_gives_the_same_graph():
    weighted = nx.Graph()
    weighted.add_nodes_from(range(3))
    weighted.add_weighted_edges_from([(0, 1, 2.0), (1, 2, 3.0)])
    arrays = [PATH.astype(dtype) for dtype in ("i8", "f8", "f2", ">f8", ">f4", ">i2")]
    arrays += [PATH.tolist(), nx.to_pandas_adjacency(weighted)]
    for graph in (*arrays, weighted, Graph(sp.csr_matrix(1.0 * PATH))):
        np.testing.assert_array_equal(check_adjacency(graph).toarray(), PATH)
    unweighted = check_adjacency(nx.path_graph(3)).toarray()
    np.testing.assert_array_equal(unweighted, (PATH > 0).astype(float))
    image = np.random.default_rng(1).random((7, 6))
    ours = image_graph(image, 3, sigma_f=0.5)
    expected = SpectralGraphWavelets(ours.adjacency).analyze(image.ravel())
    for graph in (ours.to_pygsp(), ours.to_networkx(), ours.adjacency.toarray()):
        bands = SpectralGraphWavelets(graph).analyze(image.ravel())
        np.testing.assert_allclose(bands, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 1e-15), (np.float32, 2e-7)])
def test_asymmetry_due_to_rounding_is_accepted(dtype, rounding):
    matrix = (PATH * (1 + np.triu(np.full((3, 3), rounding)))).astype(dtype)
    matrix[0, 2] = rounding  # 0 in the other direction
    assert (matrix != matrix.T).any()
    for graph in (matrix, sp.csr_array(matrix)):
        found = check_adjacency(graph)
        assert found.dtype == dtype
        assert (found != found.T).nnz == 0
        np.testing.assert_allclose(found.toarray(), PATH, rtol=0, atol=4 * rounding)
    with pytest.raises(ValueError, match="not symmetric"):
        check_adjacency((PATH + 1e-5 * np.triu(PATH)).astype(dtype))


# --- the bound on the spectrum -----------------------------------------------------------


@given(graphs(), st.sampled_from(KINDS))
def test_no_eigenvalue_exceeds_the_bound(matrix, kind):
    bound = bound_of(sp.csr_array(matrix), kind)
    largest = np.linalg.eigvals(dense.laplacian(matrix, kind)).real.max()
    assert bound >= largest * (1 - 1e-12)
    assert matrix.any() or bound == 1


def random_adjacency(seed):
    """Return a random adjacency: sparse or dense, with similar or very different weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 80))
    weights = rng.random((n, n)) < rng.choice([0.02, 0.1, 0.5, 1])
    weights = np.triu(weights * rng.random((n, n)) ** rng.choice([0, 1, 6]), 1)
    return weights + weights.T


HARD = {
    "star": star(200),
    "path": np.eye(100, k=1) + np.eye(100, k=-1),
    "two components": block_diag(star(9, 0.1), np.ones((8, 8)) - np.eye(8)),
    "one edge": block_diag(star(1, 3.0), np.zeros((7, 7))),
    "no edges": np.zeros((5, 5)),
    "one node": np.zeros((1, 1)),
    "cliques beside a bipartite graph": block_diag(
        np.ones((11, 11)) - np.eye(11), np.kron([[0, 1], [1, 0]], np.ones((9, 9)))
    ),
    "a chain of weights": np.diag(10.0 ** -np.arange(30), 1) + np.diag(10.0 ** -np.arange(30), -1),
}


@pytest.mark.parametrize(("dtype", "first"), [(np.float32, 0), (np.float64, 500)])
def test_bound_of_hard_and_random_graphs(dtype, first):
    matrices = [*HARD.values(), *(random_adjacency(first + seed) for seed in range(500))]
    ratios = []
    for matrix in matrices:
        matrix = matrix.astype(dtype).astype(float)
        true = np.linalg.eigvalsh(dense.laplacian(matrix, "combinatorial"))[-1]
        bound = bound_of(sp.csr_array(matrix.astype(dtype)), "combinatorial")
        assert bound >= true * (1 - 1e-14)
        degrees = matrix.sum(axis=0)
        edge_sums = degrees[:, None] + degrees[None]
        most = (edge_sums * (matrix > 0)).max() or 1  # 1 without edges
        assert bound <= most * (1 + 64 * np.finfo(dtype).eps)
        ratios.append(bound / true if true else 1)
    assert np.median(ratios) < 1.7


@pytest.mark.parametrize(
    ("build", "name", "most"),
    [
        (image_graph, "camera", 1.42),
        (bilateral_graph, "brick", 1.02),
        (bilateral_graph, "grass", 1.02),
    ],
)
def test_bound_of_the_graph_of_a_photograph(build, name, most):
    """The bound holds, and is as tight as documented."""
    graph = build(standard_image(name)[:96, :96])
    true = eigsh(graph.laplacian(), 1, which="LA", return_eigenvectors=False)[0]
    assert 1 <= bound_of(graph, "combinatorial") / true <= most


def random_bilateral_graph(seed, dtype):
    """Return the graph of a 2-D or 3-D image: noise, a constant, a checkerboard or random bits."""
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(2, 4))
    shape = tuple(rng.integers(1, 11 if axes == 2 else 5, axes))
    flat, chess = np.zeros(shape), np.indices(shape).sum(axis=0) % 2
    images = rng.random(shape), flat, chess, rng.integers(0, 2, shape)
    return bilateral_graph(
        images[rng.integers(4)].astype(dtype),
        [*rng.choice([1, 3, 5, 7, 11], axes - 1).tolist(), int(rng.choice([3, 5, 11]))],
        sigma_d=10 ** rng.uniform(-1, 1),
        sigma_f=10 ** rng.uniform(-1, 2),
        mask=(rng.random(shape) < 0.8) | (np.arange(shape[-1]) == 0),
        spacing=10 ** rng.uniform(-0.5, 0.5, axes) if axes == 3 or seed % 2 else None,
    )


@pytest.mark.filterwarnings("ignore:sigma_")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bound_of_bilateral_graphs(dtype):
    """The bound and the shift hold, and the bound is not above that of the plain matrix."""
    for seed in range(40):
        graph = random_bilateral_graph(seed, dtype)
        adjacency = graph.adjacency.toarray().astype(float)
        true = np.linalg.eigvalsh(dense.laplacian(adjacency, "combinatorial"))[-1]
        bound, shift = bound_of(graph, "combinatorial"), shift_of(graph)
        rounding = 32 * np.finfo(dtype).eps
        assert true * (1 - 1e-14) <= bound
        assert bound <= bound_of(graph.adjacency, "combinatorial") * (1 + rounding)
        assert true <= (adjacency.sum(axis=0).max() + shift) * (1 + rounding)
        assert np.linalg.eigvalsh(adjacency)[0] >= -shift * (1 + rounding)


@pytest.mark.parametrize("window", [3, 5, 11, (1, 7)])
def test_shift_is_the_smallest_eigenvalue_for_a_flat_image(window):
    graph = bilateral_graph(np.zeros((40, 40)), window)
    least = np.linalg.eigvalsh(graph.adjacency.toarray())[0]
    assert 1 <= shift_of(graph) / -least < 1.02
    assert shift_of(image_graph(np.zeros((40, 40)), window)) == np.inf


@given(st.integers(1, 30), st.floats(1e-6, 1e6), st.sampled_from(KINDS))
def test_bound_is_reached_by_stars(leaves, weight, kind):
    degree = leaves * weight
    exact = {"combinatorial": degree + weight, "normalized": 2, "random_walk": 2}
    exact["regularized"] = 2 * degree / (degree + 2 * degree / (leaves + 1))
    bound = bound_of(sp.csr_array(star(leaves, weight)), kind)
    assert bound == pytest.approx(exact[kind], rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_bound_is_a_float_that_does_not_depend_on_chunks(dtype, kind, monkeypatch):
    image = np.random.default_rng(5).random((17, 13)).astype(dtype)
    mask = np.ones(image.shape, bool)
    mask[5:9] = False  # isolated nodes, also whole chunks of them
    graph = image_graph(image, window=5, sigma_f=0.1, mask=mask)
    whole = bound_of(graph, kind)
    assert type(whole) is float
    monkeypatch.setattr("nnk_image.base.parallel.PIXELS_PER_CHUNK", 7)
    assert {bound_of(graph, kind, n_jobs) for n_jobs in (1, 2, 3)} == {whole}
