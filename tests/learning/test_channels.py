"""Leave-one-out errors of sets of features, and the local dimension of neighbourhoods."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from nnk_image import KStarNeighborsClassifier, NNKClassifier, nnk_neighbors
from nnk_image.learning import leave_one_out_errors, pca_dimension

DIGITS, CLASSES = load_digits(return_X_y=True)
DIGITS, CLASSES = DIGITS[:300], CLASSES[:300]
ROWS = DIGITS.reshape(300, 8, 8).swapaxes(0, 1)


def test_each_error_is_that_of_leaving_every_point_out_in_turn():
    errors = leave_one_out_errors(ROWS[2:4], CLASSES, NNKClassifier(12, sigma=4.0))
    for row, error in zip(ROWS[2:4], errors, strict=True):
        wrong = []
        for i in range(0, 300):
            others = np.arange(300) != i
            model = NNKClassifier(12, sigma=4.0).fit(row[others], CLASSES[others])
            wrong.append(model.predict(row[[i]])[0] != CLASSES[i])
        assert error == np.mean(wrong)


def test_any_estimator_that_leaves_one_out_is_cloned_not_fitted():
    estimator = KStarNeighborsClassifier(0.2)
    errors = leave_one_out_errors(list(ROWS), CLASSES, estimator)
    assert not hasattr(estimator, "classes_")
    expected = [estimator.fit(row, CLASSES).leave_one_out_error() for row in ROWS]
    np.testing.assert_array_equal(errors, expected)


def test_features_that_say_nothing_have_no_error():
    names = np.array(["even", "odd"])[CLASSES % 2]
    errors = leave_one_out_errors([DIGITS, np.zeros((300, 5))], names)
    assert errors[0] < 0.1
    assert np.isnan(errors[1])


@pytest.mark.parametrize(
    ("Xs", "y", "estimator", "error", "message"),
    [
        ([], CLASSES, None, ValueError, "Xs holds no part"),
        ([DIGITS, DIGITS[:10]], CLASSES, None, ValueError, r"Xs\[1\] holds 10 points"),
        ([DIGITS], CLASSES[:10], None, ValueError, "inconsistent numbers of samples"),
        ([DIGITS], CLASSES, KNeighborsClassifier(), TypeError, "not KNeighborsClassifier"),
    ],
)
def test_bad_input(Xs, y, estimator, error, message):
    with pytest.raises(error, match=message):
        leave_one_out_errors(Xs, y, estimator)


# --- local dimension ---------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_dimension_of_flat_data_is_the_number_of_its_directions(d):
    rng = np.random.default_rng(d)
    axes = np.linalg.qr(rng.standard_normal((6, 6)))[0][:d]
    X = rng.uniform(-1, 1, (400, d)) @ axes + rng.standard_normal(6)
    near = nnk_neighbors(X, n_neighbors=40, method="knn")
    dimension = pca_dimension(X, near)
    assert dimension.max() == d
    assert np.mean(dimension == d) > 0.9
    assert pca_dimension(X, near, threshold=0).min() >= d


def test_dimension_counts_large_eigenvalues_of_the_weighted_scatter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4)) * [3, 2, 1, 0.1]
    near = nnk_neighbors(X, n_neighbors=15)
    weights = near.to_csr().toarray()
    expected = []
    for point, row in zip(X, weights, strict=True):
        offsets = X - point
        values = np.linalg.eigvalsh((offsets * row[:, None]).T @ offsets)
        expected.append(np.sum(values > 0.1 * values.max()))
    np.testing.assert_array_equal(pca_dimension(X, near, threshold=0.1), expected)
    other_units = sp.csr_array(2.0**-900 * weights)
    np.testing.assert_array_equal(pca_dimension(X, other_units, threshold=0.1), expected)


def test_dimension_without_neighbours_or_with_equal_ones_is_0():
    X = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 2.0]])
    links = sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]]))
    np.testing.assert_array_equal(pca_dimension(X, links), [0, 1, 0])


@pytest.mark.parametrize(
    ("links", "options", "message"),
    [
        (sp.csr_array(np.ones((3, 4))), {}, "square"),
        (sp.csr_array(np.ones((4, 4))), {}, "X holds 3 points"),
        (sp.csr_array(-np.ones((3, 3))), {}, "a weight is -1"),
        (sp.csr_array(np.ones((3, 3))), {"threshold": -1}, "threshold=-1 must be"),
    ],
)
def test_bad_neighbourhoods(links, options, message):
    with pytest.raises(ValueError, match=message):
        pca_dimension(np.eye(3), links, **options)
