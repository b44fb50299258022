"""Candidate neighbors: every source gives the same graph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, vstack
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from nnk_image import image_graph, nnk_graph, nnk_neighbors
from nnk_image.neighbors.candidates import NearestSearch, search_for
from nnk_image.neighbors.kernels import KERNELS

POINTS = np.random.default_rng(0).standard_normal((300, 4))
K = 12


def same(a, b):
    return abs(a.to_csr() - b.to_csr()).max() < 1e-12 and abs(a.error - b.error).max() < 1e-12


@pytest.fixture(scope="module")
def expected():
    return nnk_neighbors(POINTS, K)


def test_missing_and_repeated_candidates_are_ignored(expected):
    indices = NearestNeighbors().fit(POINTS).kneighbors(POINTS, K + 1, return_distance=False)
    more = np.column_stack([np.full(300, -1), indices, indices[:, 3], np.full(300, -1)])
    assert same(nnk_neighbors(POINTS, K, neighbors=more), expected)
    none = nnk_neighbors(POINTS, K, neighbors=np.full((300, 2), -1), sigma=1.0)
    assert none.to_csr().nnz == 0
    np.testing.assert_array_equal(none.error, 0.5)


def test_candidates_from_an_image_graph():
    image = np.random.default_rng(0).random((9, 11))
    graph = image_graph(image, 5, sigma_f=0.2)
    features = np.random.default_rng(1).random((99, 3))
    expected = nnk_graph(features, neighbors=graph.adjacency)
    assert (nnk_graph(features, neighbors=graph) != expected).nnz == 0


class GraphTransformer:
    """A transformer like that of pynndescent: it returns graphs and has no `kneighbors`."""

    def __init__(self, n_neighbors):
        self.n_neighbors = n_neighbors

    def fit(self, X):
        self.search_ = KNeighborsTransformer(n_neighbors=self.n_neighbors).fit(X)
        return self

    def transform(self, X):
        return self.search_.transform(X)


def test_queries_of_graph_transformers_and_results_that_are_no_candidates():
    transformer, queries = GraphTransformer(K).fit(POINTS), POINTS[:40] + 0.1
    by_graph = nnk_neighbors(POINTS, K, queries=queries, neighbors=transformer)
    assert same(by_graph, nnk_neighbors(POINTS, K, queries=queries))
    with pytest.raises(ValueError, match="a column for each of the 299 points"):
        nnk_neighbors(POINTS[1:], K, neighbors=transformer)
    with pytest.raises(TypeError, match="indices of candidates must be integers, not float64"):
        nnk_neighbors(POINTS, K, neighbors=PCA(2))
    with pytest.raises(TypeError, match=r"they come first: \(indices, distances\)"):
        nnk_neighbors(POINTS, K, neighbors=NearestNeighbors().fit(POINTS).kneighbors(POINTS))


@pytest.mark.parametrize("estimator", [NearestNeighbors(metric="precomputed"), GraphTransformer(K)])
def test_estimators_do_not_search_among_the_rows_of_a_gram_matrix(estimator):
    """They would take the least similar points for the nearest."""
    with pytest.raises(ValueError, match=r"searches among points.*give an array of indices"):
        nnk_neighbors(POINTS @ POINTS.T, K, kernel="precomputed", neighbors=estimator)


@pytest.mark.parametrize("estimator", [NearestNeighbors(), GraphTransformer(K)])
def test_unfitted_estimators_are_not_changed(estimator):
    before = set(vars(estimator))
    nnk_neighbors(POINTS, K, neighbors=estimator)
    assert set(vars(estimator)) == before


def searched(extra):
    """Return distances and indices of the candidates, and of some more."""
    return NearestNeighbors().fit(POINTS).kneighbors(POINTS, K + 1 + extra)


ESTIMATORS = [NearestNeighbors(algorithm=name) for name in ("brute", "kd_tree", "ball_tree")]
SOURCES = {
    **{f"{extra} more": searched(extra)[1] for extra in (0, 1, 20)},
    "with distances": searched(1)[::-1],
    "shuffled": np.random.default_rng(1).permuted(searched(20)[1], axis=1),
    "32 bits": searched(0)[1].astype(np.int32),
    "graph": KNeighborsTransformer(n_neighbors=K).fit_transform(POINTS),
    "csr_array": csr_array(KNeighborsTransformer(n_neighbors=K).fit_transform(POINTS)),
    **{f"unfitted {found.algorithm}": clone(found) for found in ESTIMATORS},
    **{f"fitted {found.algorithm}": clone(found).fit(POINTS) for found in ESTIMATORS},
    "transformer": GraphTransformer(K),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_source_gives_the_same_graph(expected, source):
    assert same(nnk_neighbors(POINTS, K, neighbors=source), expected)


@pytest.mark.parametrize("symmetrize", ["max", None])
def test_a_graph_built_in_blocks_equals_the_whole_graph(symmetrize):
    """The blocks follow the recipe in docs/many_points.md."""
    search = NearestNeighbors().fit(POINTS)
    distances, indices = search.kneighbors(n_neighbors=K)  # without the points themselves
    sigma = distances[:, -1].mean() / 3

    def rows(start, stop):
        block = slice(start, stop)
        return nnk_neighbors(
            POINTS, K, queries=POINTS[block], neighbors=indices[block], sigma=sigma
        ).to_csr()

    graph = csr_array(vstack([rows(i, i + 70) for i in range(0, 300, 70)]))
    if symmetrize == "max":
        graph = graph.maximum(graph.T)
    whole = nnk_graph(POINTS, K, symmetrize=symmetrize, sigma=sigma)
    assert (graph != whole).nnz == 0


@pytest.mark.parametrize(
    ("n_features", "kernel"), [(1, "gaussian"), (2, "gaussian"), (20, "gaussian"), (2, "linear")]
)
def test_ties_go_to_the_lower_index(n_features, kernel):
    """Compared with brute force on exact integer distances or products."""
    points = np.random.default_rng(2).integers(1, 4, (90, n_features)).astype(float)
    similar = points @ points.T if kernel == "linear" else -cdist(points, points, "sqeuclidean")
    np.fill_diagonal(similar, -np.inf)
    nearest = np.argsort(-similar, axis=1, kind="stable")[:, :7]
    found = nnk_neighbors(points, 7, method="knn", kernel=kernel, sigma=1.0)
    np.testing.assert_array_equal(found.indices.reshape(-1, 7), np.sort(nearest, axis=1))


@pytest.mark.parametrize("n_features", [2, 20])
def test_many_equal_points_have_one_neighbor_and_no_error(n_features):
    points = np.random.default_rng(3).integers(0, 2, (3000, n_features)).astype(float)
    points[:2000] = 0
    found = nnk_neighbors(points, 10, sigma=1.0)
    assert (found.error[:2000] == 0).all()
    assert len(found.neighbors(7)[0]) == 1


@pytest.mark.parametrize("n_features", [4, 40])
def test_points_far_from_the_origin_give_the_same_weights(n_features):
    points = np.round(np.random.default_rng(4).standard_normal((200, n_features)) * 64) / 64
    near = nnk_neighbors(points, K)
    far = nnk_neighbors(points + 2.0**30, K)  # the same differences
    np.testing.assert_array_equal(far.weights, near.weights)
    np.testing.assert_array_equal(far.indices, near.indices)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [4, 40])
def test_a_huge_value_does_not_change_the_neighbors_of_other_points(n_features, dtype):
    points = np.random.default_rng(5).standard_normal((200, n_features)).astype(dtype)
    expected = nnk_neighbors(points[:-1], K, sigma=1.0)
    points[-1, 0] = -1e30  # marks missing data, for example
    found = nnk_neighbors(points, K, sigma=1.0)
    np.testing.assert_array_equal(found.indptr[:-1], expected.indptr)
    np.testing.assert_array_equal(found.indices[: found.indptr[-2]], expected.indices)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (np.zeros((299, 3), int), ValueError, "299 queries, but there are 300"),
        (np.full((300, 3), 300), ValueError, "index 300, but there are only 300 points"),
        (np.zeros((300, 3)), TypeError, "integers, not float64"),
        (np.zeros(300, int), ValueError, r"shape \(n, k\)"),
        (np.full((300, 3), 2**64 - 1, np.uint64), ValueError, "index 18446744073709551615"),
        (np.full((300, 3), -2), ValueError, "index -2; mark missing candidates by -1"),
        (np.ma.masked_equal(np.ones((300, 3), int), 1), TypeError, "integers, not float64"),
        ("faiss", TypeError, "an estimator, arrays or a matrix, not 'faiss'"),
        (NearestNeighbors().fit(POINTS[:50]), ValueError, "fitted to 50 points"),
    ],
)
def test_invalid_candidates_are_refused(given, error, text):
    with pytest.raises(error, match=text):
        nnk_graph(POINTS, K, neighbors=given)


def test_a_damaged_matrix_is_refused():
    """The C core read outside its arrays."""
    graph = nnk_graph(POINTS, K)
    graph.indptr[5] = 10**7
    with pytest.raises(ValueError, match="non-decreasing sequence"):
        nnk_neighbors(POINTS, K, neighbors=graph)


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 3, 15]), st.booleans())
def test_the_tree_finds_the_largest_cosines(seed, n_features, integers):
    """Compared with all pairs; equal directions and points at the origin are among the points."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(60, n_features))
    points = np.rint(points) if integers else points
    points[:2], points[2] = 0, 3 * points[3]
    similar = np.round(1 - cdist(points, points, "cosine"), 12)
    similar[:, ~points.any(axis=1)] = 0
    search = search_for(None, KERNELS["cosine"], points, None)
    assert isinstance(search, NearestSearch)  # which does not compare all pairs
    found = search(points, 5)
    lists = np.split(found.indices, found.indptr[1:-1])
    for i in np.flatnonzero(points.any(axis=1)):
        of_found = np.sort(similar[i, lists[i]])[::-1][:5]
        np.testing.assert_array_equal(of_found, np.sort(similar[i])[::-1][:5])
