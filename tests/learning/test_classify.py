"""Neighborhood classifiers and regressors, compared with independent implementations."""

import numpy as np
import pytest
from exact import nnls_weights
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from nnk_image import (
    KStarNeighborsClassifier,
    KStarNeighborsRegressor,
    NNKClassifier,
    NNKRegressor,
)

KNN = {"sigma": 0.8, "method": "knn"}
CLASSIFIERS = [NNKClassifier(7, sigma=0.8), NNKClassifier(7, **KNN), KStarNeighborsClassifier(1.5)]
REGRESSORS = [NNKRegressor(7, sigma=0.8), NNKRegressor(7, **KNN), KStarNeighborsRegressor(1.5)]


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(5)
    X = random.normal(size=(90, 3))
    y = np.array(["ash", "beech", "cedar"])[(X @ [1, 1, 0] > 0).astype(int) + (X[:, 2] > 0.5)]
    return X, y, random.normal(size=(25, 3))


def nnk_weights(X, query, k, sigma, method):
    """Return the normalized weights of all points; NNK by scipy's NNLS."""
    distance = cdist([query], X)[0]
    near = np.argsort(distance, kind="stable")[:k]
    theta = b = np.exp(-(distance[near] ** 2) / (2 * sigma**2))
    if method == "nnk":
        theta = nnls_weights(np.exp(-(cdist(X[near], X[near]) ** 2) / (2 * sigma**2)), b)
    result = np.zeros(len(X))
    result[near] = theta / theta.sum()
    return result


def kstar_weights(X, query, ratio):
    """Return the weights by Algorithm 1 of Anava and Levy, as published."""
    distance = cdist([query], X)[0]
    order = np.argsort(distance, kind="stable")
    beta = ratio * distance[order]
    n, k, lam = len(beta), 0, beta[0] + 1
    while k <= n - 1 and lam > beta[k]:
        k += 1
        s = beta[:k].sum()
        lam = (s + np.sqrt(k + s**2 - k * (beta[:k] ** 2).sum())) / k
    alpha = np.maximum(lam - beta, 0)
    result = np.zeros(n)
    result[order] = alpha / alpha.sum()
    return result


def expected_weights(estimator, X, queries):
    if not isinstance(estimator, NNKClassifier | NNKRegressor):
        return np.array([kstar_weights(X, query, estimator.lc_ratio) for query in queries])
    options = estimator.n_neighbors, estimator.sigma, estimator.method
    return np.array([nnk_weights(X, query, *options) for query in queries])


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_probabilities_are_sums_of_weights_per_class(estimator, data):
    X, y, queries = data
    model = estimator.fit(X, y)
    expected = expected_weights(estimator, X, queries)
    assert_allclose(model.neighborhoods(queries).to_csr().toarray(), expected, atol=1e-7)
    proba = expected @ (y[:, None] == model.classes_)
    assert_allclose(model.predict_proba(queries), proba, atol=1e-7)
    assert_array_equal(model.predict(queries), model.classes_[proba.argmax(axis=1)])
    assert model.predict(queries).dtype == y.dtype


@pytest.mark.parametrize("estimator", REGRESSORS)
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_predictions_are_weighted_means(estimator, n_outputs, data):
    X, _, queries = data
    y = np.sin(X[:, :2]) if n_outputs else X[:, 0] ** 2
    expected = expected_weights(estimator, X, queries) @ y
    assert_allclose(estimator.fit(X, y).predict(queries), expected, atol=1e-7)


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS])
def test_leave_one_out_equals_refitting_without_each_point(estimator, data):
    X, y, _ = data
    if estimator in REGRESSORS:
        y = np.sin(X[:, 0])
    left_out = []
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        left_out.append(estimator.fit(X[others], y[others]).predict(X[i : i + 1])[0])
    model = estimator.fit(X, y)
    if estimator in CLASSIFIERS:
        assert_array_equal(model.predict(None), left_out)
        assert model.leave_one_out_error() == np.mean(np.array(left_out) != y)
        return
    assert_allclose(model.predict(None), left_out, atol=1e-9)
    difference = np.array(left_out) - y
    assert_allclose(model.leave_one_out_error(), np.mean(difference**2), rtol=1e-8)


def test_score_spread_equals_its_definition(data):
    X, y, _ = data
    two = (y == "ash").astype(int)
    model = NNKClassifier(7).fit(X, two)
    eta = model.predict_proba(None)[:, 1]
    found = model.neighborhoods()
    spread = [np.mean((eta[i] - eta[found.neighbors(i)[0]]) ** 2) for i in range(len(X))]
    assert_allclose(model.score_spread(), spread, atol=1e-12)
    assert_allclose(NNKRegressor(7).fit(X, two).score_spread(), spread, atol=1e-12)
    assert model.score_spread().max() > 0.1


def test_nearest_point_decides_if_all_similarities_vanish(data):
    X, y, queries = data
    nearest = cdist(queries, X).argmin(axis=1)
    model = NNKClassifier(5, sigma=1e-4).fit(X, y)
    assert_array_equal(model.predict(queries), y[nearest])
    found = model.neighborhoods(queries)
    assert_array_equal(found.indices, nearest)
    assert_array_equal(found.weights, 1)
    between = cdist(X, X) + 1e9 * np.eye(len(X))
    assert_array_equal(model.predict(None), y[between.argmin(axis=1)])


def test_queries_without_similar_points_get_the_class_frequencies():
    X = np.array([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2], [-1.0, 0.3]])
    model = NNKClassifier(2, kernel="cosine").fit(X[:3], ["a", "b", "b"])
    assert_allclose(model.predict_proba([[-1.0, 0.0]]), [[1 / 3, 2 / 3]])
    alone = NNKClassifier(2, kernel="cosine").fit(X, ["a", "b", "b", "c"])
    assert_allclose(alone.predict_proba(None)[3], [1 / 3, 2 / 3, 0])
    assert np.isnan(alone.score_spread()[3])


@pytest.mark.parametrize("estimator", [NNKRegressor(30), KStarNeighborsRegressor(n_neighbors=30)])
def test_fewer_points_than_n_neighbors_warn_once(estimator):
    with pytest.warns(UserWarning, match="n_neighbors=30, but there are 3 points") as caught:
        model = estimator.fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 3.0])
    assert (len(caught), caught[0].filename) == (1, __file__)
    assert 0 < model.predict([[0.5]])[0] < 3
    assert model.predict(None).shape == (3,)
    assert model.n_neighbors_ == 3


def test_a_single_point_predicts_its_own_value():
    model = NNKRegressor(1, sigma=1.0).fit([[2.0]], [5.0])
    assert model.predict([[2.5]])[0] == 5
    with pytest.raises(ValueError, match="at least two fitted points"):
        model.leave_one_out_error()


@pytest.mark.parametrize("ratio", [0.0, 1e-3, 0.3, 1.0, 30.0])
def test_kstar_considers_all_points_as_candidates(ratio):
    random = np.random.default_rng(2)
    X, queries = random.normal(size=(700, 2)), random.normal(size=(8, 2))
    model = KStarNeighborsRegressor(ratio).fit(X, X[:, 0])
    assert model.n_neighbors_ == 700  # all points are candidates
    expected = np.array([kstar_weights(X, q, ratio) for q in queries])
    assert_allclose(model.neighborhoods(queries).to_csr().toarray(), expected, atol=1e-9)


@pytest.mark.parametrize(("k", "nnk", "weighted_knn"), [(10, 14, 27), (30, 12, 51), (50, 15, 63)])
def test_leave_one_out_errors_of_the_digits(k, nnk, weighted_knn):
    X, y = load_digits(return_X_y=True)
    model = NNKClassifier(k, sigma_scale=3).fit(X, y)
    assert round(model.leave_one_out_error() * len(y)) == nnk
    model = NNKClassifier(k, sigma_scale=3, method="knn").fit(X, y)
    assert round(model.leave_one_out_error() * len(y)) == weighted_knn
