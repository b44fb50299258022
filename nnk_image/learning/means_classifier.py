"""Classification by the class whose NNK-Means atoms reconstruct a query best."""

from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from nnk_image.base.checks import check_count
from nnk_image.base.image import Array
from nnk_image.learning.means import MeansOptions, NNKMeans


class NNKMeansClassifier(ClassifierMixin, MeansOptions):
    """Classify a query by the class whose atoms reconstruct it with the smallest error.

    The atoms (`NNKMeans`) of each class are fitted to the points of this class alone.

    Parameters
    ----------
    n_clusters : int
        Number of atoms of each class, at most that of its points; default 10.
    n_neighbors, kernel, kernel_params, sigma, sigma_scale, max_iter, tol, \
random_state, n_jobs : optional
        As for `NNKMeans`, with the same defaults; the classes share the width of the kernel.

    Attributes
    ----------
    classes_ : (n_classes,) ndarray
        The classes, sorted.
    means_ : list of NNKMeans
        The fitted atoms of each class, in the order of `classes_`.
    n_iter_ : int
        Largest number of updates that a class needed.
    sigma_, n_features_in_
        As of `NNKMeans`.

    References
    ----------
    S. Shekkizhar, PhD thesis, University of Southern California, 2023, section 3.2.3.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nnk_image import NNKMeansClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NNKMeansClassifier(10, random_state=0).fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.94
    True
    """

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Learn the atoms of each class from X and y, which are as for `NNKClassifier.fit`."""
        points, labels = self._checked(X, y)
        check_classification_targets(labels)
        n_clusters = check_count("n_clusters", self.n_clusters)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.sigma_ = self._gram_of(points).sigma
        self._members = [np.flatnonzero(codes == i) for i in range(len(self.classes_))]
        random = check_random_state(self.random_state)
        options = self.get_params(deep=False) | {"sigma_scale": 1.0, "random_state": random}
        if np.isfinite(self.sigma_):
            options["sigma"] = self.sigma_
        self.means_ = []
        for members in self._members:
            means = NNKMeans(**options | {"n_clusters": min(n_clusters, len(members))})
            self.means_.append(means.fit(self._of_class(points[members], members)))
        self.n_iter_ = max(means.n_iter_ for means in self.means_)
        return self

    def _of_class(self, X: Array, members: Array) -> Array:
        """Return the columns of a class's points if X is a kernel matrix, else X as it is."""
        return X[:, members] if self.kernel == "precomputed" else X

    def _errors(self, X: npt.ArrayLike) -> Array:
        """Return the squared errors (n, n_classes) of the codes by the atoms of each class.

        The term of the queries' similarity with themselves, which all classes share, is left out.
        """
        queries = self._checked_queries(X)
        pairs = zip(self.means_, self._members, strict=True)
        return np.column_stack([m._misfit(*m._coded(self._of_class(queries, i))) for m, i in pairs])

    def predict(self, X: npt.ArrayLike) -> Array:
        """Predict the class of each query, (n,) entries of `classes_`; of equal ones the first.

        Queries X are as for `NNKMeans.predict`.
        """
        best = self._errors(X).argmin(axis=1)
        return self.classes_[best]

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return how much of each query the atoms of each class explain; larger is better.

        Parameters
        ----------
        X
            As for `NNKMeans.predict`.

        Returns
        -------
        (n, n_classes) float64 ndarray, or for two classes (n,)
            Kernel of the query with itself minus the error of each class; for two classes, that of
            the second minus that of the first.
        """
        errors = self._errors(X)
        return errors[:, 0] - errors[:, 1] if len(self.classes_) == 2 else -errors
