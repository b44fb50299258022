"""Base classes of the scikit-learn estimators: fitting, predicting from neighbours, options."""

from copy import copy
from dataclasses import replace

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from nnk_image.base.checks import check_choice, check_count
from nnk_image.neighbors.model import NeighborhoodModel
from nnk_image.neighbors.options import TOL

WEIGHTS = ("method", "uniform")

_CHUNK = 1 << 22  # number of distances held in memory at a time
_FIRST_CANDIDATES = 32  # of k*-nearest neighbours at first; more are taken where all were chosen


class NeighborhoodEstimator(BaseEstimator):
    """An estimator that finds neighbourhoods among its fitted points.

    Subclasses say how by `_options`, the keywords of `NeighborhoodModel`.
    """

    def _candidates_asked(self, n_points):
        """How many candidates each query gets."""
        return min(check_count("n_neighbors", self.n_neighbors), n_points)

    def _fit_model(self, X):
        if getattr(self, "metric", None) == "precomputed":
            check_non_negative(X, f"{type(self).__name__}, whose X are distances")
        search = getattr(self, "neighbors", None)
        if search is not None:
            search = _own_search(search)
        self._model = NeighborhoodModel(
            X, self._candidates_asked(len(X)), neighbors=search, **self._options()
        )
        self.n_neighbors_, self.n_samples_fit_ = self._model.n_neighbors, len(X)
        self.sigma_ = self._model.sigma

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        of_distances = getattr(self, "metric", None) == "precomputed"
        kernel = getattr(self, "kernel", None)
        is_gram = isinstance(kernel, str) and kernel == "precomputed"
        tags.input_tags.pairwise = of_distances or is_gram
        tags.input_tags.positive_only = of_distances
        return tags


class NeighborhoodPredictor(NeighborhoodEstimator):
    """Predictions as weighted means over the neighbours of queries.

    In `fit`, subclasses set `_targets`, (N, m) numbers whose weighted means over the neighbours
    are the scores of a query; the class attribute `_spread_factor` scales `score_spread`.
    """

    def _fit_model(self, X):
        weights = check_choice("weights", getattr(self, "weights", "method"), WEIGHTS)
        self._uniform = weights == "uniform"
        super()._fit_model(X)

    def neighborhoods(self, X=None):
        """Neighbours of queries and their shares in the prediction: what explains it.

        Parameters
        ----------
        X : (n, d) array_like, optional
            Queries. Default: the fitted points, each with the others as candidates.

        Returns
        -------
        Neighborhoods
            Indices of fitted points; the weights of a query add up to 1. A query without
            neighbours, because all its similarities vanish, has its nearest point for a
            kernel of distances, and none for other kernels.
        """
        check_is_fitted(self)
        queries = self._checked_queries(X)
        found = self._found(queries)
        if self._uniform:
            found = replace(found, weights=np.ones(len(found.weights)))
        empty = np.flatnonzero(found.n_neighbors == 0)
        if len(empty) and self._model.kernel.by_distance:
            found = _with_neighbor(found, empty, self._nearest(queries, empty))
        rows = np.repeat(np.arange(len(found)), found.n_neighbors)
        sums = np.bincount(rows, found.weights, len(found))
        return replace(found, weights=found.weights / sums[rows])

    def _found(self, queries):
        """Neighbourhoods of checked queries, with the weights of the method."""
        return self._model.neighborhoods(queries)

    def _nearest(self, queries, rows):
        """The nearest fitted point of the queries `rows`; ties to the lowest index."""
        own, model = queries is None, self._model
        points = model.points if own else queries
        result = np.empty(len(rows), np.int64)
        step = max(1, _CHUNK // len(model.points))
        for i in range(0, len(rows), step):
            part = rows[i : i + step]
            distances = points[part].copy()
            if not model.of_distances:
                distances = cdist(distances, model.points)
            if own:
                distances[np.arange(len(part)), part] = np.inf
            result[i : i + step] = distances.argmin(axis=1)
        return result

    def _scores(self, X):
        """Weighted means (n, m) of the neighbours' targets, and the neighbourhoods.

        A query without neighbours gets the mean of all targets; a fitted point that is left out,
        the mean of all other targets.
        """
        found = self.neighborhoods(X)
        scores = found.to_csr() @ self._targets
        empty = np.flatnonzero(found.n_neighbors == 0)
        total, n = self._targets.sum(axis=0), len(self._targets)
        scores[empty] = total / n if X is not None else (total - self._targets[empty]) / (n - 1)
        return scores, found

    def score_spread(self):
        """How much leave-one-out scores differ between a point and its neighbours.

        Returns
        -------
        spread : (N,) float64 ndarray
            ``mean_j |eta_i - eta_j|^2`` over the neighbours j of each fitted point, eta the
            leave-one-out scores: predictions of a regressor; class probabilities of a
            classifier, where half the squared distance is taken, so that two classes give
            ``(p_i - p_j)^2``. Near 0 where the data are smooth. NaN without neighbours.

        References
        ----------
        S. Shekkizhar, "Neighborhood and graph constructions using non-negative kernel
        regression (NNK)", dissertation, eq. 3.24.
        """
        scores, found = self._scores(None)
        counts = found.n_neighbors
        rows = np.repeat(np.arange(len(found)), counts)
        squares = self._spread_factor * ((scores[rows] - scores[found.indices]) ** 2).sum(axis=1)
        sums = np.bincount(rows, squares, len(found))
        return np.divide(sums, counts, out=np.full(len(found), np.nan), where=counts > 0)

    def _checked_queries(self, X):
        """Queries as scikit-learn checks them; None, for the fitted points, stays None."""
        if X is not None:
            return validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        if self.n_samples_fit_ < 2:
            raise ValueError("leaving the only point out leaves none: fit at least two")
        return None


class KernelOptions:
    """The options of estimators that weigh by a kernel.

    They are those of `nnk_neighbors`, `sigma_scale` and `weights`.
    """

    def __init__(
        self,
        n_neighbors=30,
        *,
        kernel="gaussian",
        sigma="kth",
        sigma_scale=1.0,
        method="nnk",
        weights="method",
        l1=0.0,
        tol=TOL,
        metric=None,
        neighbors=None,
        kernel_params=None,
        duplicates="first",
        psd="warn",
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.sigma = sigma
        self.sigma_scale = sigma_scale
        self.method = method
        self.weights = weights
        self.l1 = l1
        self.tol = tol
        self.metric = metric
        self.neighbors = neighbors
        self.kernel_params = kernel_params
        self.duplicates = duplicates
        self.psd = psd
        self.n_jobs = n_jobs

    def _options(self):
        """Keywords of `NeighborhoodModel`."""
        names = ("kernel", "sigma", "sigma_scale", "method", "l1", "tol", "metric")
        names += ("kernel_params", "duplicates", "psd", "n_jobs")
        return {name: getattr(self, name) for name in names}


class KStarOptions:
    """The options of k*-nearest neighbours estimators."""

    def __init__(self, lc_ratio=1.0, *, n_neighbors=None, neighbors=None, n_jobs=None):
        self.lc_ratio = lc_ratio
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.n_jobs = n_jobs

    def _options(self):
        return {"method": "kstar", "tol": 0.0, "lc_ratio": self.lc_ratio, "n_jobs": self.n_jobs}

    def _candidates_asked(self, n_points):
        if self.n_neighbors is None:
            return min(_FIRST_CANDIDATES, n_points)
        return super()._candidates_asked(n_points)

    def _found(self, queries):
        """Neighbours among all points, unless `n_neighbors` bounds the candidates.

        Few candidates are taken at first, then more as long as some query chooses all of its.
        """
        found = super()._found(queries)
        if self.n_neighbors is not None:
            return found
        n_points = self.n_samples_fit_ - (queries is None)
        model = copy(self._model)
        while model.n_neighbors < n_points and found.n_neighbors.max() >= model.n_neighbors:
            model.n_neighbors = min(4 * model.n_neighbors, n_points)
            found = model.neighborhoods(queries)
        return found


def _own_search(search):
    """A candidate search that belongs to the estimator: a clone, for it is going to be fitted."""
    if isinstance(search, str):
        return search
    if not hasattr(search, "kneighbors"):
        raise TypeError(
            "neighbors= of an estimator must have fit and kneighbors, for queries are not known "
            f"yet; not {type(search).__name__}"
        )
    return clone(search)


def _with_neighbor(found, rows, points):
    """Neighbourhoods with one of `points` put, as only neighbour, into each of the empty `rows`."""
    owner = np.repeat(np.arange(len(found)), found.n_neighbors)
    owner = np.concatenate([owner, rows])
    order = np.argsort(owner, kind="stable")
    indptr = np.searchsorted(owner[order], np.arange(len(found) + 1)).astype(found.indptr.dtype)
    indices = np.concatenate([found.indices, points.astype(found.indices.dtype)])[order]
    weights = np.concatenate([found.weights, np.ones(len(rows))])[order]
    return replace(found, indices=indices, indptr=indptr, weights=weights)
