"""The estimators follow scikit-learn's conventions and work with its tools."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.estimator_checks import parametrize_with_checks

import nnk_image
from nnk_image import (
    KStarNeighborsClassifier,
    KStarNeighborsRegressor,
    NNKClassifier,
    NNKGraphTransformer,
    NNKMeans,
    NNKMeansClassifier,
    NNKRegressor,
)

ESTIMATORS = [
    *(KStarNeighborsClassifier, KStarNeighborsRegressor, NNKClassifier, NNKGraphTransformer),
    *(NNKMeans, NNKMeansClassifier, NNKRegressor),
]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.filterwarnings("default", "ignore:n_neighbors=30, but there are")
@parametrize_with_checks([cls() for cls in ESTIMATORS])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


def test_an_estimator_whose_kernel_is_a_function_can_be_pickled(iris):
    X, y = iris
    model = NNKClassifier(kernel=rbf_kernel, kernel_params={"gamma": 0.5}).fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def seeded(cls):
    return cls(random_state=0) if "random_state" in cls().get_params() else cls()


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_sparse_points_give_the_same_results_as_dense_points(cls, iris, monkeypatch):
    X, y = iris
    X = np.where(X < 2, 0, X)
    queries = X[::7] + 0.01
    dense, sparse = seeded(cls).fit(X, y), seeded(cls).fit(csr_array(X), y)
    method = "predict" if hasattr(cls, "predict") else "transform"
    expected = getattr(dense, method)(queries)
    assert np.abs(getattr(sparse, method)(csr_matrix(queries)) - expected).sum() == 0
    monkeypatch.setattr("nnk_image.base.memory.SMALL", 0)
    monkeypatch.setattr("nnk_image.base.memory.available", lambda: 1000)
    with pytest.raises(MemoryError, match=r"X as a dense matrix.*TruncatedSVD"):
        sparse.fit(csr_array(X), y)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_masked_values_are_refused_as_nan(cls, iris):
    X, y = iris
    with pytest.raises(ValueError, match="Input X contains NaN"):
        cls().fit(np.ma.masked_less(X, 2), y)
    if hasattr(cls, "predict") and cls is not NNKMeans:
        with pytest.raises(ValueError, match="Input y contains NaN"):
            cls().fit(X, np.ma.masked_equal(y, 2))


@pytest.mark.parametrize("sigma", [1e-4, "local"])
def test_a_too_small_sigma_warns(sigma, iris):
    X = np.unique(iris[0], axis=0)
    with pytest.warns(UserWarning, match="all similarities are 0") as warned:
        assert NNKGraphTransformer(5, sigma=sigma, sigma_scale=1e-4).fit_transform(X).nnz == 0
    assert warned[0].filename == __file__


def test_precomputed_kernels_are_split_for_cross_validation(iris):
    X, y = iris
    X, y = X[::2], y[::2]
    plain = NNKClassifier(10, sigma=0.5)
    expected = cross_val_score(plain, X, y)
    of_kernel = clone(plain).set_params(kernel="precomputed")
    gram = rbf_kernel(X, gamma=1 / (2 * 0.5**2))
    assert_array_equal(cross_val_score(of_kernel, gram, y), expected)


def test_a_given_neighbor_search_is_cloned():
    random = np.random.default_rng(0)
    X, queries = random.normal(size=(80, 3)), random.normal(size=(30, 3))
    y = (X[:, 0] > 0).astype(int)
    search = NearestNeighbors(algorithm="brute")
    model = NNKClassifier(12, neighbors=search).fit(X, y)
    assert not hasattr(search, "n_samples_fit_")
    expected = NNKClassifier(12).fit(X, y).predict_proba(queries)
    assert_allclose(model.predict_proba(queries), expected, atol=1e-9)
    with pytest.raises(TypeError, match=r"neighbors must be an estimator .* not ndarray"):
        NNKClassifier(neighbors=np.zeros((3, 2), int)).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"method": "knearest"}, "method='knearest'"),
        ({"sigma_scale": 0}, "sigma_scale=0"),
    ],
)
@pytest.mark.parametrize("cls", [NNKClassifier, NNKRegressor, NNKGraphTransformer])
def test_invalid_options_are_refused_by_fit(cls, options, message, iris):
    with pytest.raises(ValueError, match=message):
        cls(**options).fit(*iris)


@pytest.mark.parametrize("rule", ["min_error", "mean", None])
def test_fitted_points_give_the_graph(rule, iris):
    """Point 142 is equal to 101, and once got its row."""
    X = iris[0]
    transformer = NNKGraphTransformer(8, symmetrize=rule)
    graph = transformer.fit_transform(X)
    expected = nnk_image.nnk_graph(X, 8, symmetrize=rule)
    assert abs(graph - expected).max() == 0
    assert abs(transformer.transform(X) - expected).max() == 0
    assert abs(transformer.transform(X[[142]]) - expected[[101]]).max() == 0
    assert_array_equal(transformer.error_, nnk_image.nnk_neighbors(X, 8).error)
    with pytest.raises(ValueError, match="symmetrize='most'"):
        NNKGraphTransformer(symmetrize="most").fit(X)
    graph.data[:] = 7
    assert transformer.graph_.data.max() <= 1  # the returned graph is a copy


def test_new_points_give_their_weights(iris):
    X = np.unique(iris[0], axis=0)
    transformer = NNKGraphTransformer(8).fit(X)
    mixed = np.vstack([X[3] + 0.05, X[5], X[7] - 0.05, -X[5]])
    rows, sigma = transformer.transform(mixed), transformer.sigma_
    expected = nnk_image.nnk_neighbors(X, 8, queries=mixed[[0, 2, 3]], sigma=sigma).to_csr()
    assert abs(rows[[0, 2, 3]] - expected).max() == 0
    assert abs(rows[[1]] - transformer.graph_[[5]]).max() == 0
    names = transformer.get_feature_names_out()
    assert_array_equal(names[:2], ["nnkgraphtransformer0", "nnkgraphtransformer1"])
    assert len(names) == len(X)


def test_means_classifier_of_a_gram_matrix_equals_that_of_the_points(iris):
    X, y = iris
    options = {"n_neighbors": 3, "random_state": 0}
    plain = NNKMeansClassifier(4, sigma=0.7, **options).fit(X[::2], y[::2])
    gram = rbf_kernel(X, X[::2], gamma=1 / (2 * 0.7**2))
    of_gram = NNKMeansClassifier(4, kernel="precomputed", **options).fit(gram[::2], y[::2])
    assert_allclose(of_gram.decision_function(gram), plain.decision_function(X), atol=1e-9)
