"""Graphs of points: golden data, symmetrization, kernels, methods, edge cases, invalid input."""

import warnings
from functools import partial

import golden_neighbors
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll

import nnk_image.neighbors.model
from nnk_image import nnk_graph, nnk_neighbors, nnk_weights
from nnk_image.neighbors import kernels
from nnk_image.neighbors.gram import Gram

SHARE = {"duplicates": "share"}
RULES = ["min_error", "min_error_onesided", "max", "mean", "min"]
METHODS = ["nnk", "omp", "mp", "knn", "mutual_knn", "kstar", "lnp"]
ROLL = make_swiss_roll(400, random_state=0)[0]


def golden_sets():
    names = [*golden_neighbors.DATA]
    if golden_neighbors.RESTRICTED.is_dir():
        names += golden_neighbors.RESTRICTED_DATA
    return [(name, k) for name in names for k in (10, 30)]


@pytest.mark.parametrize(("name", "k"), golden_sets())
def test_golden_weights_and_edges(name, k):
    points = golden_neighbors.points(name)
    sigma, error, directed, undirected = golden_neighbors.solution(name, k)
    found = nnk_neighbors(points, k)
    weights = found.to_csr()
    assert found.sigma == pytest.approx(sigma, rel=1e-12)
    np.testing.assert_allclose(2 * found.error, error, atol=1e-14)
    graph = nnk_graph(points, k)
    for ours, theirs in ((weights, directed), (graph, undirected)):
        above = ours.copy()
        above.data[above.data <= 1e-6] = 0  # the golden data omit smaller weights
        above.eliminate_zeros()
        assert above.nnz == theirs.nnz
        assert abs(above - theirs).max() < 1e-12


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_features", [2, 15, 30])
def test_undirected_graphs_follow_the_symmetrization(rule, n_features):
    """Compared with dense matrices, where a mask marks the candidates."""
    points = np.random.default_rng(1).standard_normal((200, n_features))
    points[50:60] = points[40:50]
    found = nnk_neighbors(points, 9, sigma=2.0)
    W, error = found.to_csr().toarray(), found.error
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    mask = np.zeros(W.shape, bool)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :9]
    np.put_along_axis(mask, nearest, True, axis=1)
    high, low = np.maximum(W, W.T), np.minimum(W, W.T)
    first, second = error[:, None], error[None, :]
    chosen = np.where(first < second, W, np.where(first > second, W.T, high))
    expected = {
        "min_error": np.where(mask & mask.T, chosen, 0),
        "min_error_onesided": np.where(mask & mask.T, chosen, high),
        "max": high,
        "mean": (W + W.T) / 2,
        "min": low,
    }[rule]
    graph = nnk_graph(points, 9, sigma=2.0, symmetrize=rule)
    np.testing.assert_array_equal(graph.toarray(), expected)
    check_csr(graph)


def check_csr(graph):
    assert graph.has_sorted_indices
    assert graph.indices.dtype == np.int32
    assert (graph.data > 0).all()
    assert (graph.diagonal() == 0).all()
    fresh = csr_array((graph.data, graph.indices, graph.indptr), shape=graph.shape)
    assert fresh.has_canonical_format


@pytest.mark.parametrize("rule", [*RULES, None])
def test_tied_edges_of_a_grid_are_kept(rule):
    grid = np.stack(np.mgrid[:20, :20], axis=-1).reshape(-1, 2).astype(float)
    graph = nnk_graph(grid, 8, symmetrize=rule)
    y, x = np.divmod(np.arange(400), 20)
    i, j = graph.nonzero()
    assert graph.nnz == 2 * 760
    assert (np.abs(y[i] - y[j]) + np.abs(x[i] - x[j]) == 1).all()


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_optimality_and_invariances_on_random_points(seed):
    rng = np.random.default_rng(seed)
    n, d, k = (int(i) for i in rng.integers((3, 1, 1), (60, 20, 20)))
    points = rng.standard_normal((n, d))
    if rng.random() < 0.3:
        points[rng.integers(1, n, 5)] = points[0]
        points[-1] += 1  # not all points are equal
    found = nnk_neighbors(points, min(k, n - 1))
    assert found.residual.max() <= 1e-9
    assert (found.error >= 0).all()
    assert (found.error <= 0.5 + 1e-12).all()
    kernel = np.exp(-cdist(points, points, "sqeuclidean") / (2 * found.sigma**2))
    W = found.to_csr()
    assert (W.toarray() <= kernel * (1 + 1e-9) + 1e-14).all()
    assert (W.diagonal() == 0).all()
    assert (found.n_kept >= (kernel - np.eye(n)).max(axis=1).astype(bool)).all()
    moved = nnk_neighbors(3 * points + 1, min(k, n - 1))
    assert moved.sigma == pytest.approx(3 * found.sigma)
    np.testing.assert_allclose(moved.error, found.error, atol=1e-9)
    if len(np.unique(points, axis=0)) == n:
        order = rng.permutation(n)
        again = nnk_neighbors(points[order], min(k, n - 1)).to_csr()
        assert abs(again - W[order][:, order]).max() < 1e-9


def test_rules_for_sigma():
    distances = np.sort(cdist(ROLL, ROLL), axis=1)[:, 1:11]
    find = partial(nnk_neighbors, ROLL, n_neighbors=10)
    assert find().sigma == pytest.approx(distances[:, -1].mean() / 3)
    np.testing.assert_allclose(find(sigma="local").sigma, distances[:, -1] / 3)
    assert find(sigma="median").sigma == pytest.approx(np.median(distances))
    assert find(sigma=2).sigma == find(sigma=np.array(2.0)).sigma == 2
    queries = ROLL[:7] + 0.1
    assert find(queries=queries).sigma == find().sigma  # sigma is that of the points
    assert find(queries=queries, sigma="local").sigma.shape == (7,)


def test_queries_are_treated_like_additional_points():
    queries = ROLL[:20] + 0.05
    found = nnk_neighbors(ROLL, 15, queries=queries, sigma=1.5)
    for i in (0, 13):
        both = nnk_neighbors(np.vstack([ROLL, queries[i]]), 15, sigma=1.5)
        np.testing.assert_array_equal(found.neighbors(i)[0], both.neighbors(400)[0])
        np.testing.assert_allclose(found.neighbors(i)[1], both.neighbors(400)[1], rtol=1e-12)
        assert found.error[i] == pytest.approx(both.error[400])


OF_QUERIES = {"lle", "angular", "precomputed"}  # kernels that depend on the query, or are given
OF_PAIRS = {
    "gaussian": lambda a, b: np.exp(-cdist(a, b, "sqeuclidean") / (2 * 2.5**2)),
    "laplacian": lambda a, b: np.exp(-cdist(a, b) / 2.5),
    "cosine": lambda a, b: 1 - cdist(a, b, "cosine"),
    "shifted_cosine": lambda a, b: 1 - cdist(a, b, "cosine") / 2,
    "linear": lambda a, b: a @ b.T,
    "polynomial": lambda a, b: (a @ b.T / a.shape[1] + 1) ** 3,
}


@pytest.mark.parametrize("kernel", sorted({*kernels.KERNELS} - OF_QUERIES))
@pytest.mark.parametrize("n_features", [3, 40])
def test_the_core_and_numpy_agree_on_every_kernel(kernel, n_features):
    """A kernel may be given by its name, as a function or as a matrix.

    A new kernel fails here until it is in `OF_PAIRS`.
    """
    points, function = np.random.default_rng(4).standard_normal((80, n_features)), OF_PAIRS[kernel]
    found = nnk_neighbors(points, 8, kernel=kernel, sigma=2.5)
    matrix = function(points, points)
    for other in (
        nnk_neighbors(points, 8, kernel=function),
        nnk_neighbors(matrix, 8, kernel="precomputed"),
    ):
        assert abs(found.to_csr() - other.to_csr()).max() < 1e-7 * np.abs(found.weights).max()
        np.testing.assert_allclose(found.error, other.error, atol=1e-9 * matrix.max())
    gram = Gram(points, kernels.check_kernel(kernel, {}, n_features), 2.5)
    np.testing.assert_allclose(gram.rows_of(np.arange(80)), matrix, atol=1e-9)
    np.testing.assert_allclose(gram.diagonal(points), np.diagonal(matrix))
    # each row against the solution of its own problem
    similar = matrix - 2 * np.abs(matrix).max() * np.eye(80)
    for i in (0, 50):
        nearest = np.argsort(-similar[i], kind="stable")[:8]
        theta = nnk_weights(matrix[np.ix_(nearest, nearest)], matrix[i, nearest], tol=1e-8)
        row = found.to_csr()[[i]].toarray()[0]
        np.testing.assert_allclose(row[nearest], theta, atol=1e-9 * theta.max())


@pytest.mark.parametrize("method", ["nnk", "omp", "mp", "knn", "mutual_knn"])
@pytest.mark.parametrize("params", [{}, SHARE, {"tol": 0.1}])
def test_every_method_takes_functions_as_kernels(method, params):
    points = np.repeat(np.random.default_rng(4).standard_normal((40, 3)), 2, axis=0)
    named, own = (
        nnk_neighbors(points, 8, sigma=2.5, kernel=kernel, method=method, method_params=params)
        for kernel in ("gaussian", OF_PAIRS["gaussian"])
    )
    np.testing.assert_array_equal(own.indices, named.indices)
    np.testing.assert_allclose(own.weights, named.weights, rtol=1e-6, atol=1e-8)


def test_lle_weights_are_the_best_convex_combination():
    points = np.random.default_rng(6).standard_normal((60, 25))
    W = nnk_neighbors(points, 10, kernel="lle").to_csr()
    np.testing.assert_allclose(W.sum(axis=1), 1)
    candidates = np.argsort(cdist(points, points), axis=1)[:, 1:11]
    for i in range(10):  # no candidate lies on the near side of the projection
        rest = W[[i]] @ points - points[i]
        assert ((points[candidates[i]] - points[i]) @ rest[0] >= (rest**2).sum() - 1e-9).all()


@pytest.mark.parametrize("method", ["nnk", "omp", "mp", "knn"])
@pytest.mark.parametrize("n_features", [2, 4, 300])
def test_lle_error_is_the_reconstruction_error_of_its_weights(method, n_features):
    points = np.random.default_rng(0).standard_normal((60, n_features))
    found = nnk_neighbors(points, 8, kernel="lle", method=method)
    expected = 0.5 * ((points - found.to_csr() @ points) ** 2).sum(axis=1)
    np.testing.assert_allclose(found.error, expected, rtol=1e-9, atol=1e-12)


def test_angular_kernel_is_lle_of_unit_differences():
    points = np.random.default_rng(7).standard_normal((30, 12))
    angular = nnk_neighbors(points[1:], 29, queries=points[:1], kernel="angular")
    unit = points[1:] - points[0]
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    lle = nnk_neighbors(unit, 29, queries=np.zeros((1, 12)), kernel="lle")
    a, b = angular.to_csr().toarray(), lle.to_csr().toarray()
    np.testing.assert_allclose(a / a.sum(), b, atol=1e-9)


def test_omp_is_exact_and_mp_has_fewer_edges():
    exact, omp, mp = (nnk_neighbors(ROLL, 20, method=m) for m in ("nnk", "omp", "mp"))
    assert abs(exact.to_csr() - omp.to_csr()).max() < 1e-10
    assert 0.85 < len(mp.indices) / len(exact.indices) < 1
    assert (mp.error >= exact.error - 1e-12).all()
    # With more candidates than dimensions of the feature space, other weights may be as good.
    exact, omp = (nnk_neighbors(ROLL, 20, method=m, kernel="cosine") for m in ("nnk", "omp"))
    np.testing.assert_allclose(omp.error, exact.error, atol=1e-12)


def test_mutual_knn_keeps_edges_in_both_directions():
    knn, mutual = (nnk_neighbors(ROLL, 9, method=m).to_csr() for m in METHODS[3:5])
    assert abs(mutual - knn.minimum(knn.T)).max() < 1e-15
    assert mutual.nnz < knn.nnz


@pytest.mark.parametrize("ratio", [0.0, 0.1, 1.0, 30.0])
def test_kstar_minimizes_its_bound(ratio):
    found = nnk_neighbors(ROLL, 15, method="kstar", method_params={"lc_ratio": ratio})
    beta = ratio * np.sort(cdist(ROLL, ROLL), axis=1)[:, 1:16]
    for i in range(0, 400, 40):
        alpha = np.zeros(15)
        weights = np.sort(found.neighbors(i)[1])[::-1]
        alpha[: len(weights)] = weights
        assert alpha.sum() == pytest.approx(1)
        bound = np.linalg.norm(alpha) + alpha @ beta[i]
        assert found.error[i] == pytest.approx(bound)
        # Optimality: the gradient equals the bound where alpha is positive, and is not below it.
        gradient = alpha / np.linalg.norm(alpha) + beta[i]
        np.testing.assert_allclose(gradient[alpha > 0], bound)
        assert (gradient >= bound - 1e-9).all()


def test_lnp_weights_are_sparse_and_reconstruct_the_points():
    found = nnk_neighbors(ROLL, 12, method="lnp")
    W = found.to_csr()
    np.testing.assert_allclose(W.sum(axis=1), 1)
    np.testing.assert_allclose(found.error, 0.5 * ((ROLL - W @ ROLL) ** 2).sum(axis=1), atol=1e-9)
    nearest = np.argsort(cdist(ROLL, ROLL), axis=1)[:, 1]
    assert (W[np.arange(400), nearest] > 0).all()
    assert found.n_kept.max() <= 4  # at most d + 1 in d dimensions


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("points", [np.ones((6, 3)), np.zeros((1, 2)), np.arange(2.0)[:, None]])
def test_degenerate_points_give_finite_weights(points, method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # sigma is 0, or there are few points
        for n_neighbors in (1, 4):
            found = nnk_neighbors(points, n_neighbors, method=method)
            graph = nnk_graph(points, n_neighbors, method=method)
    assert np.isfinite(found.error).all()
    assert np.isfinite(found.weights).all()
    check_csr(graph)


def test_equal_points_share_their_weight_if_requested():
    points = np.array([[0.0], [0], [0], [5]])
    first = nnk_neighbors(points, 3, sigma=1.0)
    np.testing.assert_array_equal(
        first.to_csr().toarray()[:3, :3], [[0, 1, 0], [1, 0, 0], [1, 0, 0]]
    )
    assert (first.error[:3] == 0).all()
    shared = nnk_neighbors(points, 3, sigma=1.0, method_params=SHARE)
    np.testing.assert_array_equal(shared.to_csr().toarray()[0], [0, 0.5, 0.5, 0])
    np.testing.assert_allclose(shared.to_csr().toarray()[3, :3], np.exp(-12.5) / 3)


@pytest.mark.parametrize("n_features", [3, 257, 784])
@pytest.mark.parametrize(
    "kernel",
    ["gaussian", "laplacian", "cosine", "shifted_cosine", "polynomial", "lle", "angular"],
)
def test_equal_points_share_their_weight_with_every_kernel(kernel, n_features):
    rng = np.random.default_rng(n_features)
    points, queries = rng.random((20, n_features)), rng.random((50, n_features))
    both = np.concatenate([points, points])
    found = nnk_neighbors(both, 40, queries=queries, kernel=kernel, method_params=SHARE)
    weights = found.to_csr().toarray()
    assert (weights.sum(axis=1) > 0).all()
    np.testing.assert_array_equal(weights[:, :20], weights[:, 20:])


def test_dissimilar_and_zero_points_are_isolated():
    with pytest.warns(UserWarning, match="all similarities are 0"):
        far = nnk_neighbors([[0.0], [1e3], [2e3]], n_neighbors=2, sigma=1.0)
    assert len(far.indices) == 0
    np.testing.assert_array_equal(far.error, 0.5)
    assert len(nnk_neighbors(ROLL, 2, queries=[[1e9, 0, 0]], sigma=1.0).indices) == 0  # no warning
    points = np.array([[1.0, 0], [0, 0], [1, 1], [2, 1]])
    for kernel in ("cosine", "shifted_cosine"):
        graph = nnk_neighbors(points, 3, kernel=kernel).to_csr()
        assert graph[[1]].nnz == 0
        assert graph[:, [1]].nnz == 0
    opposed = nnk_neighbors([[1.0, 0], [-1, 0.1], [0.5, 0.5]], n_neighbors=2, kernel="cosine")
    assert opposed.neighbors(0)[0].tolist() == [2]
    points = [[0.0, 0], [1, 0], [-1, 0.1], [-1, -0.2]]
    opposed = nnk_neighbors(points, 2, kernel="shifted_cosine", method="knn")
    assert opposed.neighbors(1)[0].tolist() == [2, 3]  # not the point at the origin


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nnk_graph(ROLL[:5], 30), "there are 4 other points; all are"),
        (lambda: nnk_neighbors(ROLL[:5], 2**64), "there are 4 other points"),
        (lambda: nnk_neighbors(ROLL[:5], 30, queries=ROLL), "there are 5 points; all are"),
        (lambda: nnk_neighbors(ROLL[:1], 1, sigma=1.0), "there are 0 other points"),
        (lambda: nnk_graph(np.ones((9, 2)), 3), "sigma is 0"),
        (lambda: nnk_graph(ROLL, 3, sigma=1.0, method_params={"l1": 1}), "a smaller l1 or tol"),
    ],
)
def test_few_points_equal_points_and_graphs_without_edges_warn_once(call, message):
    with pytest.warns(UserWarning, match=message) as caught:
        call()
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("method", METHODS)
def test_threads_do_not_change_a_bit(monkeypatch, method):
    monkeypatch.setattr(nnk_image.neighbors.model, "_WORK_PER_CHUNK", 1 << 16)
    for rule in ("min_error", "max"):
        a, b = (
            nnk_graph(ROLL, 12, method=method, symmetrize=rule, n_jobs=n_jobs) for n_jobs in (1, 2)
        )
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))


BAD = [
    ({"X": [1.0, 2]}, ValueError, "reshape.* for one point"),
    ({"X": np.zeros((0, 2))}, ValueError, "is empty; give at least one point"),
    ({"X": "points.csv"}, TypeError, "not the file name 'points.csv'; read the file first"),
    ({"X": [["1", "2"]]}, TypeError, r"not <U1; .* by X.astype\(float\)"),
    ({"kernel": "rbf"}, ValueError, "'rbf' is unknown.*kernel='gaussian' with sigma"),
    (
        {"X": 1.0 - np.eye(9), "kernel": "precomputed"},
        ValueError,
        "0 on its diagonal.*do not set the diagonal of similarities to 0",
    ),
    ({"X": [[0.0], [np.nan], [np.inf]]}, ValueError, "2 of 3 numbers.*row 1"),
    ({"X": np.ma.masked_less([[0.0], [1.0], [2.0]], 1)}, ValueError, "1 of 3 numbers.*row 0"),
    ({"X": [[0.0], [1e200]]}, ValueError, "overflow"),
    ({"X": 1e120 * ROLL, "kernel": "polynomial"}, ValueError, "similarities .* may reach"),
    ({"X": np.float32(1e-20) * ROLL.astype(np.float32), "kernel": "linear"}, ValueError, "scale"),
    ({"n_neighbors": 0}, ValueError, "n_neighbors=0"),
    ({"kernel_params": {"degree": 2}}, ValueError, "no parameter 'degree'"),
    ({"kernel_params": {"gamma": 2}}, ValueError, "the width of the kernel is sigma"),
    ({"kernel": "precomputed"}, ValueError, "square"),
    ({"kernel": "precomputed", "X": np.arange(9.0).reshape(3, 3)}, ValueError, "symmetric"),
    ({"kernel": lambda a, b: np.zeros(3)}, ValueError, "returned shape"),
    ({"kernel": lambda a, b: np.exp(a @ [[1], [0], [0]] - b[:, 0])}, ValueError, "not symmetric"),
    ({"kernel": lambda a, b: np.full((len(a), len(b)), np.nan)}, ValueError, "not finite"),
    ({"sigma": "mean"}, ValueError, "sigma='mean' is unknown; choose one of 'kth'"),
    ({"sigma": 0}, ValueError, "sigma=0 must be positive"),
    ({"method": "lnp", "kernel": "linear"}, ValueError, "uses distances"),
    ({"method": "lnp", "kernel": "lle"}, ValueError, "no kernel; use kernel='gaussian', which it"),
    ({"method_params": {"l1": -1}}, ValueError, "l1=-1"),
]


@pytest.mark.parametrize(("options", "error", "text"), BAD)
def test_invalid_input_is_refused(options, error, text):
    options = {"X": ROLL[:20], "n_neighbors": 2} | options
    with pytest.raises(error, match=text):
        nnk_neighbors(**options)
    with pytest.raises(error, match=text):
        nnk_graph(**options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nnk_neighbors(ROLL, queries=ROLL[:, :2]), "queries has 2 features, X has 3"),
        (lambda: nnk_neighbors(ROLL.astype(np.float32), queries=1e40 * ROLL),
         r"queries has numbers .* overflow in float32 arithmetic"),
        (lambda: nnk_neighbors(ROLL, 3, queries=ROLL[:3], method="mutual_knn"),
         r"leave out queries, or call predict\(None\)"),
        (lambda: nnk_graph(ROLL, symmetrize="None"), r"did you mean None\?"),
    ],
)  # fmt: skip
def test_invalid_queries_and_symmetrizations_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_diagonal_of_a_precomputed_kernel_enters_the_error():
    kernel = np.exp(-np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0))))
    find = partial(nnk_neighbors, kernel, 3, queries=kernel[:2] / 2, kernel="precomputed")
    error = find().error
    np.testing.assert_allclose(find(kernel_params={"diagonal": 2.0}).error, error + 0.5)
    np.testing.assert_allclose(
        find(kernel_params={"diagonal": [1, 2]}).error, error + np.array([0, 0.5])
    )
    with pytest.raises(ValueError, match=r"each of the 2 queries, got an array of shape \(3,\)"):
        find(kernel_params={"diagonal": [1, 2, 3]})
    with pytest.raises(ValueError, match="diagonal of kernel_params holds numbers that"):
        find(kernel_params={"diagonal": np.ma.masked_equal([1, 2], 1)})


def test_a_query_number_out_of_range_is_refused():
    found = nnk_neighbors(ROLL[:9], 3)
    for query in (-1, 9):
        with pytest.raises(IndexError, match=f"query={query} must be from 0 to 8"):
            found.neighbors(query)


@pytest.mark.parametrize("method", ["nnk", "knn"])
@pytest.mark.parametrize("distances", [cdist, lambda a, b: -cdist(a, b), lambda a, b: 1 - a @ b.T])
def test_distances_are_refused_as_a_kernel(distances, method):
    points = ROLL[:40] / np.linalg.norm(ROLL[:40], axis=1, keepdims=True)
    with pytest.raises(ValueError, match=r"kernel function has .* on its diagonal"):
        nnk_graph(points, 5, kernel=distances, method=method)
    with pytest.raises(ValueError, match=r"X has .* on its diagonal"):
        nnk_graph(distances(points, points), 5, kernel="precomputed", method=method)


def test_indefinite_kernels_warn():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((40, 40))
    matrix = matrix + matrix.T
    np.fill_diagonal(matrix, 1)
    text = "by up to [0-9]+ times the query's largest similarity"
    with pytest.warns(UserWarning, match=text) as warned:
        found = nnk_neighbors(matrix, 15, kernel="precomputed")
    assert found.residual.max() > 1
    assert warned[0].filename == __file__


@pytest.mark.parametrize("kernel", ["gaussian", "cosine"])
def test_sparse_points_give_the_same_graph_as_dense_points(kernel):
    X = np.random.default_rng(3).random((60, 12))
    X[X < 0.7] = 0
    assert (nnk_graph(csr_array(X), 8, kernel=kernel) != nnk_graph(X, 8, kernel=kernel)).nnz == 0
    with pytest.raises(MemoryError, match="TruncatedSVD"):
        nnk_graph(csr_array((10**6, 10**7)), 8, kernel=kernel)
