"""Classification and regression by weighted means over neighbors."""

from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, diags_array, issparse
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from nnk_image.base.image import Array
from nnk_image.learning.estimator import NeighborhoodEstimator
from nnk_image.neighbors.features import check_finite
from nnk_image.neighbors.model import NeighborhoodModel
from nnk_image.neighbors.options import KernelOptions
from nnk_image.neighbors.result import Neighborhoods

_FIRST_CANDIDATES = 32  # candidates in the first search; more if a query chooses all of them


class NeighborhoodPredictor(NeighborhoodEstimator):
    """Predictions as weighted means over the neighbors of queries.

    In `fit`, subclasses set `_targets`, an (N, m) array or sparse matrix. Its weighted means over
    the neighbors are the scores of a query. They have a method `_error` of the scores of the fitted
    points; the class attribute `_spread_factor` scales `score_spread`.
    """

    def _fit_model(self, X: Array) -> None:
        self._set_model(X, exclude_self=False)
        self.sigma_ = self._model.sigma

    def neighborhoods(self, X: npt.ArrayLike | None = None) -> Neighborhoods:
        """Return the neighbors of each query and their shares in its prediction.

        Parameters
        ----------
        X : (n, d) array_like or sparse matrix, optional
            Queries, as for `predict`. Default: the fitted points, each among the others.

        Returns
        -------
        Neighborhoods
            Indices of fitted points, and weights that sum to 1 for each query; `error` is that
            before they are divided by their sum (for k* neighbors it is lambda). If all
            similarities of a query are 0, its only neighbor is the nearest point for a kernel of
            distances; for other kernels it has none.
        """
        queries = self._checked_queries(X)
        found = self._found(queries)
        empty = found.n_kept == 0
        if empty.any() and self._model.kernel.by_distance:
            # Of one candidate, k* gives the weight 1, however far it is.
            nearest = NeighborhoodModel(self._model.points, 1, method="kstar", n_jobs=self.n_jobs)
            links = nearest.neighborhoods(queries).to_csr()
            linked = found.to_csr() + diags_array(empty.astype(float)) @ links
            parts = {"indices": linked.indices, "indptr": linked.indptr, "weights": linked.data}
            found = replace(found, **parts)
        rows = np.repeat(np.arange(len(found)), found.n_kept)
        sums = np.bincount(rows, found.weights, len(found))
        return replace(found, weights=found.weights / sums[rows])

    def _found(self, queries: Array | None) -> Neighborhoods:
        """Return the neighborhoods of checked queries, with the weights of the method."""
        return self._model.neighborhoods(queries)

    def _scores(self, X: npt.ArrayLike | None) -> Array:
        """Return the scores (n, m) of queries, or of each fitted point, which is left out."""
        return self._means(self.neighborhoods(X), leave_one_out=X is None)

    def _means(self, found: Neighborhoods, leave_one_out: bool) -> Array:
        """Return the weighted means (n, m) of the neighbors' targets.

        A query without neighbors gets the mean of all targets; a fitted point that is left out,
        the mean of all other targets.
        """
        scores = found.to_csr() @ self._targets
        scores = scores.toarray() if issparse(scores) else scores
        empty = np.flatnonzero(found.n_kept == 0)
        total, n = self._targets.sum(axis=0), self.n_samples_fit_
        scores[empty] = (total - self._targets[empty]) / (n - 1) if leave_one_out else total / n
        return scores

    def leave_one_out_error(self) -> float:
        """Return the error of predictions of each fitted point from the others.

        Returns
        -------
        float
            Share of misclassified points, for regressors the mean squared error over points and
            outputs, of ``predict(None)``; at least two fitted points are needed.
        """
        return self._error(self._scores(None))

    def score_spread(self) -> Array:
        """Measure how much the predictions at each fitted point and at its neighbors differ.

        All predictions are leave-one-out, as for `leave_one_out_error` (thesis, equation 3.24).

        Returns
        -------
        spread : (N,) float64 ndarray
            For each fitted point the mean over its neighbors of the squared difference of predicted
            values, summed over outputs; for a classifier half of that of the class probabilities,
            from 0 to 1. NaN without neighbors.
        """
        found = self.neighborhoods()
        scores = self._means(found, leave_one_out=True)
        counts = found.n_kept
        rows = np.repeat(np.arange(len(found)), counts)
        squares = self._spread_factor * ((scores[rows] - scores[found.indices]) ** 2).sum(axis=1)
        sums = np.bincount(rows, squares, len(found))
        with np.errstate(invalid="ignore"):
            return sums / counts

    def _checked_queries(self, X: npt.ArrayLike | None) -> Any:
        """Return queries as scikit-learn checks them, or None for the fitted points."""
        if X is not None:
            return super()._checked_queries(X)
        check_is_fitted(self)
        if self.n_samples_fit_ < 2:
            raise ValueError("leave-one-out prediction needs at least two fitted points")
        return None


class NeighborhoodClassifier(ClassifierMixin, NeighborhoodPredictor):
    """Base class of the classifiers by votes of neighbors."""

    _spread_factor = 0.5  # two classes: half of |(p, 1 - p) - (q, 1 - q)|^2 is (p - q)^2

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Store the points and their classes.

        Parameters
        ----------
        X : (N, d) array_like or sparse matrix
            Points, made dense; their (N, N) kernel matrix for a precomputed kernel.
        y : (N,) array_like
            Classes: integers, booleans or strings. All points may be of the same class.

        Returns
        -------
        self
        """
        points, labels = self._checked(X, y)
        check_classification_targets(labels)
        self.classes_, self._codes = np.unique(labels, return_inverse=True)
        n = len(labels)
        self._targets = csr_array((np.ones(n), (np.arange(n), self._codes)))
        self._fit_model(points)
        return self

    def predict(self, X: npt.ArrayLike | None) -> Array:
        """Predict the most probable class; if several are, the first of them in `classes_`.

        Parameters
        ----------
        X : (n, d) array_like, sparse matrix or None
            Queries; (n, N) kernel values with the fitted points for a precomputed kernel. None: the
            fitted points, each predicted from the others; at least two are needed.

        Returns
        -------
        (n,) ndarray
            Entries of `classes_`.
        """
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: npt.ArrayLike | None) -> Array:
        """Predict the probabilities of the classes: their shares in the weights of the neighbors.

        Parameters
        ----------
        X
            As for `predict`.

        Returns
        -------
        (n, n_classes) float64 ndarray
            Columns in the order of `classes_`; rows sum to 1.
        """
        return self._scores(X)

    def _error(self, scores: Array) -> float:
        return float(np.mean(scores.argmax(axis=1) != self._codes))


class NeighborhoodRegressor(RegressorMixin, MultiOutputMixin, NeighborhoodPredictor):
    """Base class of the regressors by weighted means over neighbors."""

    _spread_factor = 1.0

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Store the points and their values.

        Parameters
        ----------
        X
            As for `NNKClassifier.fit`.
        y : (N,) or (N, n_outputs) array_like
            Values, real and finite numbers.
        """
        points, values = self._checked(X, y, multi_output=True, y_numeric=True)
        self._shape = values.shape[1:]
        # scikit-learn converts None to NaN, unlike NaN itself without an error.
        self._targets = check_finite("y", values.reshape(len(values), -1))
        self._fit_model(points)
        return self

    def predict(self, X: npt.ArrayLike | None) -> Array:
        """Predict the weighted mean of the neighbors' values.

        Parameters
        ----------
        X
            As for `NNKClassifier.predict`.

        Returns
        -------
        (n,) or (n, n_outputs) float64 ndarray
            As many outputs as `y` of `fit` had.
        """
        return self._scores(X).reshape(-1, *self._shape)

    def _error(self, scores: Array) -> float:
        return float(np.mean((scores - self._targets) ** 2))


@dataclass(eq=False, repr=False)
class KStarOptions(NeighborhoodPredictor):
    """The options of k*-nearest neighbors estimators."""

    lc_ratio: float = 1.0
    _: KW_ONLY
    n_neighbors: int | None = None
    neighbors: Any = None
    n_jobs: int | None = None

    def _options(self) -> dict[str, Any]:
        params = {"tol": 0.0, "lc_ratio": self.lc_ratio}
        return {"method": "kstar", "method_params": params, "n_jobs": self.n_jobs}

    def _found(self, queries: Array | None) -> Neighborhoods:
        """Return neighbors among all points, unless `n_neighbors` limits the candidates.

        Few candidates are searched at first, then more, until no query chooses all of them.
        """
        if self.n_neighbors is not None:
            return super()._found(queries)
        n_points = self.n_samples_fit_ - (queries is None)
        model, n = copy(self._model), _FIRST_CANDIDATES
        while True:
            model.n_neighbors = min(n, n_points)
            found = model.neighborhoods(queries)
            if n >= n_points or found.n_kept.max() < n:
                return found
            n *= 4


class NNKClassifier(KernelOptions, NeighborhoodClassifier):
    """Classify by a vote of the neighbors that non-negative kernel regression (NNK) selects.

    It is a nearest-neighbor classifier without redundant neighbors, see `nnk_neighbors`. The
    probability of a class is its share in the weights of the neighbors.

    Parameters
    ----------
    n_neighbors, kernel, kernel_params, sigma, method, method_params, n_jobs : optional
        As for `nnk_neighbors`, with the same defaults. ``method='knn'`` is weighted kNN;
        'mutual_knn' predicts the fitted points only, by ``predict(None)``.
    sigma_scale : float
        Factor that `sigma` is multiplied by, as a number or by a rule; default 1. In a grid search
        vary this rather than `sigma`, because it does not depend on the units of the data.
    neighbors : estimator, optional
        Where candidates come from, as for `nnk_neighbors`, but not arrays or matrices: an estimator
        or transformer, which is cloned and fitted. Default: an exact search.

    Attributes
    ----------
    classes_ : (n_classes,) ndarray
        The classes, sorted.
    sigma_ : float or (N,) float64 ndarray
        Width of the kernel in use, including the factor `sigma_scale`; one per fitted point for
        ``sigma='local'``; NaN for kernels without a width.
    n_neighbors_ : int
        `n_neighbors`, or the number of fitted points if that is smaller.
    n_samples_fit_, n_features_in_ : int
        Number of fitted points and of their features.

    Notes
    -----
    If a query is so far from all points that all similarities are 0, it gets the class of its
    nearest point. For kernels without distances (cosine, linear, polynomial, precomputed,
    functions), the probabilities are then the frequencies of the classes.

    References
    ----------
    S. Shekkizhar, PhD thesis, University of Southern California, 2023, eq. 3.14, 3.21, 3.24.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nnk_image import NNKClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NNKClassifier(n_neighbors=15).fit(X, y)
    >>> round(model.leave_one_out_error(), 2)
    0.04
    """


class NNKRegressor(KernelOptions, NeighborhoodRegressor):
    """Predict values from the neighbors that non-negative kernel regression (NNK) selects.

    The prediction is the weighted mean of the values of a query's neighbors, see `nnk_neighbors`.
    With the default kernel and method, it is at a fitted point the value of that point.

    Parameters
    ----------
    n_neighbors, kernel, kernel_params, sigma, sigma_scale, method, method_params, neighbors, \
n_jobs : optional
        As for `NNKClassifier`, with the same defaults.

    Attributes
    ----------
    sigma_, n_neighbors_, n_samples_fit_, n_features_in_
        As of `NNKClassifier`.

    Notes
    -----
    For queries far from all points see `NNKClassifier`; the mean replaces the frequencies there.

    References
    ----------
    S. Shekkizhar, PhD thesis, University of Southern California, 2023, eq. 3.14, 3.21, 3.24.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import NNKRegressor
    >>> X = np.linspace(0, 3, 31).reshape(-1, 1)
    >>> model = NNKRegressor(n_neighbors=10).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.23]])[0] - np.sin(1.23)) < 0.005)
    True
    >>> round(model.leave_one_out_error(), 4)
    0.0006
    """


class KStarNeighborsClassifier(KStarOptions, NeighborhoodClassifier):
    """Classify by nearest neighbors whose number is chosen for each query (k*-nearest neighbors).

    A query with many points close by gets many neighbors. The parameter to tune is `lc_ratio`.

    Parameters
    ----------
    lc_ratio : float
        How quickly the weight of a point falls with its distance, in 1 / unit of distance, not
        negative; default 1. The larger, the fewer neighbors, at least one; with 0 all candidates
        have equal weights. Choose it by cross-validation.
    n_neighbors : int, optional
        Largest number of neighbors of a query, its nearest points; default: all points.
    neighbors, n_jobs : optional
        As for `NNKClassifier`.

    Attributes
    ----------
    classes_, n_neighbors_, n_samples_fit_, n_features_in_
        As of `NNKClassifier`.

    Notes
    -----
    The weight of a neighbor at Euclidean distance d is proportional to ``lambda - lc_ratio d``;
    points with negative values are left out. lambda, which `neighborhoods` returns as `error`,
    minimizes a bound on the error of the prediction. `lc_ratio` stands for L / C: how fast the
    class probabilities change with distance, divided by the noise of the labels.

    References
    ----------
    O. Anava, K. Levy, "k*-nearest neighbors: from global to local", Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nnk_image import KStarNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KStarNeighborsClassifier(0.5).fit(X, y)
    >>> round(model.leave_one_out_error(), 2)
    0.03
    >>> number = model.neighborhoods().n_kept
    >>> int(number.min()), int(number.max())
    (12, 48)
    """


class KStarNeighborsRegressor(KStarOptions, NeighborhoodRegressor):
    """Predict values by k*-nearest neighbors, whose number is chosen for each query.

    The prediction is the mean of the neighbors' values, weighted as by `KStarNeighborsClassifier`.

    Parameters
    ----------
    lc_ratio, n_neighbors, neighbors, n_jobs : optional
        As for `KStarNeighborsClassifier`, with the same defaults.

    Attributes
    ----------
    n_neighbors_, n_samples_fit_, n_features_in_
        As of `NNKClassifier`.

    References
    ----------
    O. Anava, K. Levy, "k*-nearest neighbors: from global to local", Algorithm 1.

    Examples
    --------
    Choose `lc_ratio` by cross-validation:

    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import GridSearchCV
    >>> from nnk_image import KStarNeighborsRegressor
    >>> ratios = {"lc_ratio": [1, 5, 10, 20, 50]}
    >>> search = GridSearchCV(KStarNeighborsRegressor(), ratios)
    >>> search.fit(*load_diabetes(return_X_y=True)).best_params_
    {'lc_ratio': 10}
    """
