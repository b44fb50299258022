"""Regression by weighted means over neighbours."""

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import validate_data

from nnk_image.neighbors.estimators import KernelOptions, NeighborhoodPredictor
from nnk_image.neighbors.features import check_choice

LOSSES = ("squared", "absolute")


class NeighborhoodRegressor(RegressorMixin, MultiOutputMixin, NeighborhoodPredictor):
    """Means over neighbours; `NNKRegressor` and `KStarNeighborsRegressor` say which."""

    _spread_factor = 1.0

    def fit(self, X, y):
        """Remember the points and their values.

        Parameters
        ----------
        X : (N, d) array_like
            Points; (N, N) for precomputed kernels and distances.
        y : (N,) or (N, n_outputs) array_like
            Values.

        Returns
        -------
        self
        """
        options = {"multi_output": True, "y_numeric": True}
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], **options)
        self._single_output = y.ndim == 1
        self._targets = y.reshape(len(y), -1).astype(np.float64)
        self._fit_model(X)
        return self

    def predict(self, X):
        """The mean of the neighbours' values, weighted.

        Parameters
        ----------
        X : (n, d) array_like or None
            Queries; None: the fitted points, each predicted from the others.

        Returns
        -------
        (n,) or (n, n_outputs) float64 ndarray
        """
        scores = self._scores(X)[0]
        return scores[:, 0] if self._single_output else scores

    def leave_one_out_error(self, loss="squared"):
        """Mean error of the fitted points predicted from the others.

        Parameters
        ----------
        loss : {'squared', 'absolute'}

        Returns
        -------
        float
            Mean over points and outputs. The kernel's width is that of all points.

        References
        ----------
        S. Shekkizhar, "Neighborhood and graph constructions using non-negative kernel
        regression (NNK)", dissertation, eq. 3.21.
        """
        check_choice("loss", loss, LOSSES)
        difference = np.abs(self._scores(None)[0] - self._targets)
        return float(np.mean(difference**2 if loss == "squared" else difference))


class NNKRegressor(KernelOptions, NeighborhoodRegressor):
    """Regressor by non-negative kernel regression neighbours.

    The prediction is the mean of the neighbours' values, weighted; at a fitted point it is
    that point's value. ``method='knn'`` weighs all candidates by the kernel
    (Nadaraya-Watson if all points are candidates), with ``weights='uniform'`` all equally
    (kNN).

    Parameters
    ----------
    n_neighbors : int
        Candidates of each query; all points if there are fewer.
    kernel, sigma : optional
        Kernel and its width or the rule for it, as for `nnk_neighbors`.
    sigma_scale : float
        Factor of the width, to search over: unlike the width it does not depend on the
        units of the data.
    method : str
        How candidates are weighed, as for `nnk_neighbors`.
    weights : {'method', 'uniform'}
        Weights of the neighbours: the method's, or all equal.
    l1, tol, metric, kernel_params, duplicates, psd, n_jobs
        As for `nnk_neighbors`.
    neighbors : estimator, optional
        Search for candidates with `fit` and `kneighbors`; cloned.

    Attributes
    ----------
    sigma_ : float
        Width of the kernel, scaled; one per point for ``sigma='local'``; NaN without one.
    n_neighbors_ : int
        Candidates of a query.
    n_samples_fit_, n_features_in_ : int

    Raises
    ------
    TypeError, ValueError
        In `fit` and `predict`: bad data or options; the message names them.

    Notes
    -----
    A query whose similarities all vanish takes its nearest point's value, as narrow kernels
    do in the limit; for kernels that know no distance (cosine, linear, polynomial,
    precomputed, functions) it takes the mean of all values.

    ``predict(None)`` leaves each fitted point out in turn.

    References
    ----------
    S. Shekkizhar, "Neighborhood and graph constructions using non-negative kernel
    regression (NNK)", dissertation, eq. 3.14, 3.21, 3.24.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import NNKRegressor
    >>> X = np.linspace(0, 3, 31).reshape(-1, 1)
    >>> model = NNKRegressor(n_neighbors=10).fit(X, np.sin(X[:, 0]))
    >>> abs(model.predict([[1.23]])[0] - np.sin(1.23)) < 0.005
    np.True_
    >>> round(model.leave_one_out_error("absolute"), 3)
    0.01
    """
