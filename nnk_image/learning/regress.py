"""Regression by weighted means over neighbors."""

from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin, RegressorMixin

from nnk_image.base.image import Array
from nnk_image.learning.predictors import KStarOptions, NeighborhoodPredictor
from nnk_image.neighbors.features import check_finite
from nnk_image.neighbors.options import KernelOptions


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
        return self._scores(X)[0].reshape(-1, *self._shape)

    def _error(self, scores: Array) -> float:
        return float(np.mean((scores - self._targets) ** 2))


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
