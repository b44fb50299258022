"""Base classes of the estimators: fitting, predicting from neighborhoods, options."""

from copy import copy
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import diags_array, issparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from nnk_image.base.checks import plain_array
from nnk_image.base.image import Array
from nnk_image.neighbors.features import check_features
from nnk_image.neighbors.model import NeighborhoodModel, warn_of_few_points
from nnk_image.neighbors.options import KernelOptions
from nnk_image.neighbors.result import Neighborhoods

_FIRST_CANDIDATES = 32  # candidates in the first search; more if a query chooses all of them


class KernelEstimator(BaseEstimator):
    """An estimator with an option `kernel`, whose points may be a kernel matrix."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = getattr(self, "kernel", None)
        tags.input_tags.pairwise = isinstance(kernel, str) and kernel == "precomputed"
        tags.input_tags.sparse = True
        return tags

    def _options(self) -> dict[str, Any]:
        """Return the kernel options that this estimator has.

        `n_neighbors` and `neighbors` are passed separately.
        """
        names = {option.name for option in fields(KernelOptions)} - {"n_neighbors", "neighbors"}
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def _checked(self, X: Any, *y: Any, **options: Any) -> Any:
        """Return X, or X and y, as scikit-learn checks them, a sparse X as a dense array."""
        options |= {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        # scikit-learn ignores the mask of a masked array, but refuses NaN.
        data = [plain_array(z) if isinstance(z, np.ma.MaskedArray) else z for z in (X, *y)]
        checked = validate_data(self, *data, **options)
        if not y:
            return check_features("X", checked)
        return check_features("X", checked[0]), checked[1]

    def _checked_queries(self, X: Any) -> Any:
        """Return queries as scikit-learn checks them, once the estimator is fitted."""
        check_is_fitted(self)
        return self._checked(X, reset=False)


class NeighborhoodEstimator(KernelEstimator):
    """An estimator that finds neighborhoods among its fitted points."""

    def _set_model(self, X: Array, own: bool) -> None:
        """Set the model of the points; with `own`, they are the queries as well."""
        n_neighbors = len(X) if self.n_neighbors is None else self.n_neighbors
        if not (self.neighbors is None or hasattr(self.neighbors, "get_params")):
            raise TypeError(
                "neighbors must be an estimator or a transformer, which finds candidates of new "
                f"queries too, not {type(self.neighbors).__name__}"
            )
        search = None if self.neighbors is None else clone(self.neighbors)
        self._model = NeighborhoodModel(X, n_neighbors, neighbors=search, **self._options())
        warn_of_few_points(n_neighbors, len(X), own)
        self.n_neighbors_, self.n_samples_fit_ = self._model.n_neighbors, len(X)


class NeighborhoodPredictor(NeighborhoodEstimator):
    """Predictions as weighted means over the neighbors of queries.

    In `fit`, subclasses set `_targets`, an (N, m) array or sparse matrix. Its weighted means over
    the neighbors are the scores of a query. They have a method `_error` of the scores of the fitted
    points; the class attribute `_spread_factor` scales `score_spread`.
    """

    def _fit_model(self, X: Array) -> None:
        self._set_model(X, own=False)
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

    def _scores(self, X: npt.ArrayLike | None) -> tuple[Array, Neighborhoods]:
        """Return the weighted means (n, m) of the neighbors' targets, and the neighborhoods.

        A query without neighbors gets the mean of all targets; a fitted point that is left out,
        the mean of all other targets.
        """
        found = self.neighborhoods(X)
        scores = found.to_csr() @ self._targets
        scores = scores.toarray() if issparse(scores) else scores
        empty = np.flatnonzero(found.n_kept == 0)
        total, n = self._targets.sum(axis=0), self.n_samples_fit_
        scores[empty] = total / n if X is not None else (total - self._targets[empty]) / (n - 1)
        return scores, found

    def leave_one_out_error(self) -> float:
        """Return the error of predictions of each fitted point from the others.

        Returns
        -------
        float
            Share of misclassified points, for regressors the mean squared error over points and
            outputs, of ``predict(None)``; at least two fitted points are needed.
        """
        return self._error(self._scores(None)[0])

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
        scores, found = self._scores(None)
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
