"""Classification by the weighted votes of neighbors."""

from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from nnk_image.base.image import Array
from nnk_image.learning.predictors import KStarOptions, NeighborhoodPredictor
from nnk_image.neighbors.options import KernelOptions


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
        best = self._scores(X)[0].argmax(axis=1)
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
        return self._scores(X)[0]

    def _error(self, scores: Array) -> float:
        return float(np.mean(scores.argmax(axis=1) != self._codes))


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
