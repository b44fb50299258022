"""NNK-Means: the objective never increases and equals the error of the codes."""

import numpy as np
import pytest
from exact import nnls_weights
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import cosine_similarity, polynomial_kernel, rbf_kernel
from sklearn.model_selection import train_test_split

from nnk_image import NNKMeans, NNKMeansClassifier
from nnk_image.neighbors.gram import Gram

KERNELS = ["gaussian", "laplacian", "cosine", "shifted_cosine", "linear", "polynomial"]


def points(seed=0, n=150, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


def gram(X, sigma=1.5):
    """Return the Gaussian kernel, from the differences themselves."""
    return np.exp(-np.square(X[:, None] - X).sum(axis=2) / (2 * sigma**2))


def feature_errors(model, X, K):
    """Return the squared errors of the codes in feature space, by definition."""
    residual = np.eye(len(X)) - model.atoms_ @ model.transform(X).toarray().T
    return np.einsum("in,ij,jn->n", residual, K, residual)


@pytest.mark.parametrize("n_neighbors", [1, 3, 12])
@pytest.mark.parametrize("kernel", KERNELS)
def test_objective_never_increases(kernel, n_neighbors):
    for seed in range(4):
        model = NNKMeans(
            12, kernel=kernel, n_neighbors=n_neighbors, random_state=seed, tol=0, max_iter=15
        ).fit(points(seed))
        assert (np.diff(model.inertia_history_) <= 0).all()
        assert len(model.inertia_history_) == model.n_iter_ + 1
        assert model.inertia_ == model.inertia_history_[-1]
        assert_allclose(-model.score(points(seed)), model.inertia_, atol=1e-9)
        assert_array_equal(model.labels_, model.predict(points(seed)))
        if n_neighbors < 12:
            assert model.inertia_ < 0.99 * model.inertia_history_[0]


@pytest.mark.parametrize("d", [2, 40])
@pytest.mark.parametrize("offset", [2.0**24, 2.0**28])
def test_points_far_from_the_origin_lose_no_accuracy(offset, d):
    near = np.round(points(n=300, d=d) * 2**20) / 2**20
    far = near + offset  # exact in float64
    model, expected = (NNKMeans(8, sigma=1.5, random_state=0).fit(X) for X in (far, near))
    errors = feature_errors(model, far, gram(far))
    assert_allclose(-model.score_samples(far), errors, atol=1e-8)
    assert_allclose(model.inertia_, errors.sum(), rtol=1e-8)
    assert_array_equal(model.predict(far[::3]), expected.predict(near[::3]))


def test_codes_for_the_linear_kernel_equal_those_of_scipy_nnls():
    X = np.abs(points())
    queries = np.abs(points(1, 20))
    model = NNKMeans(4, n_neighbors=4, kernel="linear", random_state=0, max_iter=5).fit(X)
    atoms = model.atoms_.T @ X
    codes = model.transform(queries).toarray()
    for query, code, error in zip(queries, codes, -model.score_samples(queries), strict=True):
        expected, distance = nnls(atoms.T, query)
        assert_allclose(code, expected, atol=1e-8)
        assert_allclose(error, distance**2, atol=1e-9)


def test_an_update_of_the_atoms_is_a_least_squares_fit(monkeypatch):
    """After one update, the atoms are the least-squares fit for the first codes."""
    X, start = points(d=8), [3, 40, 77, 80, 101, 149]
    monkeypatch.setattr("nnk_image.learning.means._spread_points", lambda *_: start)
    model = NNKMeans(6, n_neighbors=6, kernel="linear", max_iter=1).fit(X)
    codes = np.array([nnls(X[start].T, x)[0] for x in X])
    assert_allclose(model.inertia_history_[0], ((X - codes @ X[start]) ** 2).sum(), rtol=1e-9)
    atoms = np.linalg.lstsq(codes, X, rcond=None)[0]
    assert_allclose(model.atoms_.T @ X, atoms, atol=1e-8)


def test_separate_blobs_are_found_as_clusters():
    X, y = make_blobs(120, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    found = [NNKMeans(3, n_neighbors=1, random_state=seed).fit_predict(X) for seed in range(5)]
    assert max(adjusted_rand_score(y, labels) for labels in found) == 1


def test_unused_atoms_are_replaced(monkeypatch):
    """The four atoms start at the same spot, and three of them move to the other spots."""
    spots = np.repeat([[0.0, 0], [9, 0], [0, 9], [9, 9]], [97, 1, 1, 1], axis=0)
    monkeypatch.setattr("nnk_image.learning.means._spread_points", lambda *_: [0, 1, 2, 3])
    model = NNKMeans(4, n_neighbors=1, sigma=1.0).fit(spots)
    assert model.inertia_history_[0] > 1
    assert model.inertia_ < 1e-9


def test_precomputed_and_callable_kernels_equal_named_ones():
    X, queries = points(), points(1, 10)
    options = {"n_neighbors": 4, "random_state": 0}
    named = NNKMeans(8, sigma=1.5, **options).fit(X)
    values = rbf_kernel(queries, X, gamma=1 / (2 * 1.5**2))
    for factor in (1, 4):
        params = {"kernel": "precomputed", "kernel_params": {"diagonal": factor}}
        given = NNKMeans(8, **params, **options).fit(factor * gram(X))
        assert_allclose(given.inertia_history_, factor * named.inertia_history_, rtol=1e-8)
        assert_allclose(given.score(factor * gram(X)), -given.inertia_)
        codes = given.transform(factor * values).toarray()
        assert_allclose(codes, named.transform(queries).toarray(), atol=1e-8)
    named = NNKMeans(8, kernel="polynomial", **options).fit(X)
    function = NNKMeans(8, kernel=polynomial_kernel, **options).fit(X)
    assert_allclose(function.inertia_history_, named.inertia_history_, rtol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "cosine", "shifted_cosine"])
def test_kernels_that_are_products_need_no_matrix_of_all_pairs(kernel, monkeypatch):
    X = points()
    X[3] = 0
    matrix = X @ X.T if kernel == "linear" else cosine_similarity(X)
    if kernel == "shifted_cosine":
        nonzero = X.any(axis=1)
        matrix = np.outer(nonzero, nonzero) * (1 + matrix) / 2
    options = {"n_neighbors": 3, "random_state": 0}
    expected = NNKMeans(6, kernel="precomputed", **options).fit(matrix)
    codes = expected.transform(matrix).toarray()
    monkeypatch.setattr(Gram, "_rows", None)
    monkeypatch.setattr(Gram, "rows_of", lambda gram, i: matrix[i])  # for the first atoms
    model = NNKMeans(6, kernel=kernel, **options).fit(X)
    assert_allclose(model.inertia_history_, expected.inertia_history_, rtol=1e-8)
    assert_array_equal(model.labels_, expected.labels_)
    assert_allclose(model.transform(X).toarray(), codes, atol=1e-8)


@pytest.mark.parametrize("scale", [0.01, 2])
def test_scores_of_a_precomputed_kernel_need_its_diagonal(scale):
    X = scale * points()
    options = {"n_neighbors": 2, "random_state": 0}
    linear = NNKMeans(3, kernel="linear", **options).fit(X)
    model = NNKMeans(3, kernel="precomputed", **options).fit(X @ X.T)
    for method in (model.score_samples, model.score):
        with pytest.raises(ValueError, match=r"give kernel_params=\{'diagonal': ...\}"):
            method(X @ X.T)
    model.set_params(kernel_params={"diagonal": (X**2).sum(axis=1)}).fit(X @ X.T)
    assert_allclose(model.score_samples(X @ X.T), linear.score_samples(X), atol=1e-9)


def test_kernel_matrix_in_blocks_gives_the_same_result(monkeypatch):
    X = points()
    whole = NNKMeans(5, random_state=0).fit(X)
    monkeypatch.setattr("nnk_image.neighbors.gram._MOST_KEPT", 0)
    monkeypatch.setattr("nnk_image.neighbors.gram._BLOCK", 7 * len(X))
    blocks = NNKMeans(5, random_state=0).fit(X)
    assert_allclose(blocks.inertia_history_, whole.inertia_history_, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_clusters": 0}, ValueError, "n_clusters=0"),
        ({"n_clusters": 200}, ValueError, "n_samples=150 must be at least n_clusters=200"),
        ({"kernel": "lle"}, ValueError, "kernel='lle'"),
        ({"kernel": np.eye(3)}, TypeError, "name of a kernel or a function, not array"),
        ({"sigma": "local"}, ValueError, "sigma='local'"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors=0"),
        ({"max_iter": 0}, ValueError, "max_iter=0"),
        ({"tol": -1}, ValueError, "tol=-1"),
    ],
)
def test_invalid_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        NNKMeans(**options).fit(points())


class TestClassifier:
    def test_predicts_the_class_of_the_smallest_error(self):
        X, y = make_blobs(150, centers=4, cluster_std=2.5, random_state=0)
        y = np.array(list("abcd"))[y]
        model = NNKMeansClassifier(5, random_state=0).fit(X[:100], y[:100])
        errors = np.column_stack([-m.score_samples(X[100:]) for m in model.means_])
        assert_array_equal(model.predict(X[100:]), model.classes_[errors.argmin(axis=1)])
        assert_allclose(model.decision_function(X[100:]), 1 - errors, atol=1e-12)
        assert len({m.sigma_ for m in model.means_}) == 1

    def test_classes_may_have_fewer_points_than_atoms(self):
        X = np.array([[0.0], [1.0], [5.0]])
        model = NNKMeansClassifier(10, random_state=0).fit(X, [0, 0, 1])
        assert [m.atoms_.shape[1] for m in model.means_] == [2, 1]
        assert_array_equal(model.predict(X), [0, 0, 1])

    def test_accuracy_on_digits_exceeds_that_of_k_means(self):
        """Compared with the nearest of ten k-means centers of each class."""
        X, y = load_digits(return_X_y=True)
        ours, means = [], []
        for seed in range(3):
            a, b, ya, yb = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
            ours.append(NNKMeansClassifier(10, random_state=seed).fit(a, ya).score(b, yb))
            distance = [
                KMeans(10, n_init=1, random_state=seed).fit(a[ya == c]).transform(b).min(axis=1)
                for c in range(10)
            ]
            means.append(np.mean(np.argmin(distance, axis=0) == yb))
        assert np.mean(ours) > 0.984
        assert np.mean(ours) > np.mean(means) + 0.003


def test_sample_scores_equal_those_of_scipy_nnls():
    """Compared with scipy's NNLS on all atoms; points far from the data have the lowest scores."""
    X, far = points(5, d=2), points(6, 10, 2) + np.array([12, 0])
    model = NNKMeans(8, n_neighbors=8, sigma=1.5, random_state=0).fit(X)
    queries = np.vstack([X, far])
    K = model.atoms_.T @ gram(X) @ model.atoms_
    expected = []
    for b in rbf_kernel(queries, X, gamma=1 / (2 * 1.5**2)) @ model.atoms_:
        theta = nnls_weights(K, b)
        expected.append(2 * theta @ b - theta @ K @ theta - 1)
    scores = model.score_samples(queries)
    assert_allclose(scores, expected, rtol=0, atol=1e-6)
    assert scores[150:].max() < scores[:150].min()
