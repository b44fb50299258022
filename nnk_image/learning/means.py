"""NNK-Means: learn atoms such that each point is a weighted sum of a few, and classify by them."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import pinvh
from scipy.sparse import csr_array
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.multiclass import check_classification_targets

from nnk_image.base.checks import check_count, check_number
from nnk_image.base.image import Array
from nnk_image.learning.estimator import NeighborhoodEstimator
from nnk_image.neighbors.gram import Gram
from nnk_image.neighbors.model import NeighborhoodModel

_ROWS = 4096  # queries whose distances from all atoms are sorted at a time
_SIGMA_CANDIDATES = 30  # candidates of a point, whose distances give the width if it is a rule


@dataclass(eq=False, repr=False)
class MeansOptions(NeighborhoodEstimator):
    """The options of `NNKMeans` and of the classifier built on it."""

    n_clusters: int = 10
    _: KW_ONLY
    n_neighbors: int = 10
    kernel: str | Callable[..., Any] = "gaussian"
    kernel_params: Mapping[str, Any] | None = None
    sigma: float | str = "median"
    sigma_scale: float = 1.0
    max_iter: int = 30
    tol: float = 1e-4
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    def _gram_of(self, X: Array) -> Gram:
        """Return the kernel matrix of the points, with the width of the kernel computed."""
        if isinstance(self.sigma, str) and self.sigma == "local":
            raise ValueError(
                "sigma='local' is not possible, as points share one width; choose 'kth' or 'median'"
            )
        model = NeighborhoodModel(X, _SIGMA_CANDIDATES, **self._options())
        points = model.points.astype(np.float64, copy=False)
        return Gram(points, model.kernel, model.sigma, model.diagonal)


class NNKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, MeansOptions):
    """Cluster points by representing each as a sum of a few atoms (NNK-Means).

    A point is represented by its code: the non-negative weights of a few atoms around it, in the
    feature space of the kernel. With ``n_neighbors=1`` it is k-means, but atoms may be rescaled.

    Parameters
    ----------
    n_clusters : int
        Number of atoms, at most that of the points; default 10.
    n_neighbors : int
        Largest number of atoms in the code of a point, the nearest ones; default 10.
    kernel, kernel_params, n_jobs : optional
        As for `nnk_neighbors`, with the same defaults, but not the kernels 'lle' and 'angular'.
    sigma : float or {'median', 'kth'}
        Width of the kernel, or a rule of `nnk_neighbors` for 30 candidates; default 'median'.
    sigma_scale : float
        As for `NNKClassifier`; default 1.
    max_iter : int
        Largest number of updates of the atoms, at least 1; default 30.
    tol : float
        Stop when an update lowers the objective by no more than this fraction; default 1e-4.
    random_state : int, RandomState or None
        Seed of the first atoms, which are chosen by k-means++; None (default) differs each time.

    Attributes
    ----------
    atoms_ : (N, n_clusters) float64 ndarray
        Column j holds the weights of the fitted points whose sum, in feature space, is atom j; for
        the linear kernel the atoms are ``atoms_.T @ X``.
    labels_ : (N,) ndarray of int
        Atom of largest weight of each fitted point, as by `predict`.
    inertia_ : float
        Objective: sum of the squared distances in feature space between points and their codes.
    inertia_history_ : (``n_iter_`` + 1,) float64 ndarray
        Objective before the first update and after each; it never rises.
    n_iter_ : int
        Number of updates.
    sigma_, n_features_in_
        As of `NNKClassifier`.

    Notes
    -----
    Codes and atoms are updated alternately, the atoms by least squares. An atom that no point
    uses is replaced by one of the points with the largest error. An update that raises the
    objective, because other atoms become the nearest, is undone and ends the iteration.

    Each update needs the kernel of all pairs of points, about a second for 10,000 points; only the
    kernels 'linear', 'cosine' and 'shifted_cosine' need no pairs.

    References
    ----------
    S. Shekkizhar, PhD thesis, University of Southern California, 2023, Algorithm 5, eq. 3.10-3.13.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from nnk_image import NNKMeans
    >>> X, _ = make_moons(300, noise=0.05, random_state=0)
    >>> model = NNKMeans(12, n_neighbors=3, random_state=0).fit(X)
    >>> codes = model.transform(X)
    >>> codes.shape, int(np.diff(codes.indptr).max())
    ((300, 12), 3)
    """

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Learn the atoms of points X, which are as for `NNKClassifier.fit`; y is ignored."""
        points = self._checked(X)
        n_clusters = check_count("n_clusters", self.n_clusters)
        if len(points) < n_clusters:
            raise ValueError(f"n_samples={len(points)} must be at least n_clusters={n_clusters}")
        check_count("n_neighbors", self.n_neighbors)
        check_count("max_iter", self.max_iter)
        check_number("tol", self.tol, least=0.0)
        self._gram = self._gram_of(points)
        self.sigma_ = self._gram.sigma
        self._gram.keep()
        chosen = _spread_points(self._gram, n_clusters, check_random_state(self.random_state))
        atoms = np.zeros((len(points), n_clusters))
        atoms[chosen, np.arange(n_clusters)] = 1
        self._learn(atoms)
        self._gram.forget()
        return self

    def _learn(self, atoms: Array) -> None:
        """Code the points and update the atoms in turn until the objective settles."""
        diagonal = self._gram.diagonal()
        history: list[float] = []
        before: Any = None
        while True:
            b = self._set_atoms(atoms)
            weights = self._codes(b)
            error = np.maximum(diagonal + self._misfit(weights, b), 0)
            total = float(error.sum())
            if history and total > history[-1]:  # the last update is undone
                total = history[-1]
                self.atoms_, self._atom_kernel, weights, b = before
            history.append(total)
            settled = len(history) > 1 and history[-2] - total <= self.tol * total
            if settled or len(history) > self.max_iter:
                break
            before = self.atoms_, self._atom_kernel, weights, b
            atoms = _updated(weights, error)
        self.inertia_history_ = np.array(history)
        self.inertia_, self.n_iter_ = history[-1], len(history) - 1
        self.labels_ = self._labels(weights, b)

    def _set_atoms(self, atoms: Array) -> Array:
        """Set the atoms and their kernel; return that of the points with them (N, n_clusters)."""
        b = self._gram.product(None, atoms)
        kernel = atoms.T @ b
        self.atoms_, self._atom_kernel = atoms, (kernel + kernel.T) / 2
        return b

    def _codes(self, b: Array) -> Array:
        """Return codes (n, n_clusters) of queries, given their kernel values with the atoms."""
        k = min(self.n_neighbors, b.shape[1])
        near = np.empty((len(b), k), np.intp)  # the nearest atoms, a part at a time to save memory
        for part in gen_batches(len(b), _ROWS):
            distances = np.diagonal(self._atom_kernel) - 2 * b[part]
            near[part] = np.argsort(distances, axis=1, kind="stable")[:, :k]
        options = {"neighbors": near, "method_params": {"tol": 0.0}, "n_jobs": self.n_jobs}
        atoms = NeighborhoodModel(self._atom_kernel, k, kernel="precomputed", **options)
        return atoms.neighborhoods(b).to_csr().toarray()

    def _misfit(self, weights: Array, b: Array) -> Array:
        """Return ``|query - code|^2 - K(query, query)`` for each query, (n,)."""
        return ((weights @ self._atom_kernel - 2 * b) * weights).sum(axis=1)

    def _coded(self, X: Array) -> tuple[Array, Array]:
        """Return the codes of queries, and their kernel values with the atoms."""
        b = self._gram.product(X, self.atoms_)
        return self._codes(b), b

    def _labels(self, weights: Array, b: Array) -> Array:
        """Return the atom of largest weight, or the nearest one where all weights are 0."""
        empty = ~weights.any(axis=1)
        weights[empty] = b[empty] - np.diagonal(self._atom_kernel) / 2
        return weights.argmax(axis=1)

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the atom of largest weight of each query, the nearest one if all weights are 0.

        Parameters
        ----------
        X : (n, d) array_like or sparse matrix
            Queries; (n, N) kernel values with the fitted points for a precomputed kernel.

        Returns
        -------
        (n,) ndarray of int, from 0 to ``n_clusters - 1``
        """
        return self._labels(*self._coded(self._checked_queries(X)))

    def transform(self, X: npt.ArrayLike) -> csr_array:
        """Return the code of each query: its non-negative weights of the atoms.

        Parameters
        ----------
        X
            As for `predict`.

        Returns
        -------
        (n, n_clusters) scipy.sparse.csr_array
            Float64 weights, at most `n_neighbors` in a row and none for a query similar to no atom.
        """
        return csr_array(self._coded(self._checked_queries(X))[0])

    def score_samples(self, X: npt.ArrayLike) -> Array:
        """Return how well the atoms represent each query; outliers have low scores.

        Parameters
        ----------
        X
            As for `predict`. For a precomputed kernel, ``kernel_params={'diagonal': ...}`` must
            hold the kernel of each query with itself, also if queries are fitted points.

        Returns
        -------
        (n,) float64 ndarray
            Minus the squared distance in feature space of each query from its code
            (arXiv:2407.13141), which is 0 where the code is exact.
        """
        queries = self._checked_queries(X)
        errors = self._gram.diagonal(queries) + self._misfit(*self._coded(queries))
        return -np.maximum(errors, 0)

    def score(self, X: npt.ArrayLike, y: Any = None) -> float:
        """Return the sum of ``score_samples(X)``, for the fitted points ``-inertia_``; ignore y."""
        return float(self.score_samples(X).sum())

    @property
    def _n_features_out(self) -> int:
        return int(self.atoms_.shape[1])


def _spread_points(gram: Gram, n: int, random: np.random.RandomState) -> Array:
    """Return n points chosen by greedy k-means++ in feature space."""
    diagonal, n_trials = gram.diagonal(), 2 + int(np.log(n))
    chosen: list[int] = []
    distance = np.full(len(gram), 1.0)
    while len(chosen) < n:
        left = np.setdiff1d(np.arange(len(gram)), chosen)
        chance = distance[left] if distance[left].any() else np.ones(len(left))
        trials = random.choice(left, n_trials if chosen else 1, p=chance / chance.sum())
        squared = diagonal - 2 * gram.rows_of(trials) + diagonal[trials, None]
        if chosen:
            squared = np.minimum(squared, distance)
        squared = np.maximum(squared, 0)
        best = squared.sum(axis=1).argmin()
        chosen.append(int(trials[best]))
        distance = squared[best]
    return np.array(chosen)


def _updated(weights: Array, error: Array) -> Array:
    """Return atoms (N, n_clusters) by least squares; the points coded worst replace unused ones."""
    used = weights.any(axis=0)
    atoms = np.zeros(weights.shape)
    w = weights[:, used]
    atoms[:, used] = w @ pinvh(w.T @ w)
    unused = np.flatnonzero(~used)
    atoms[np.argsort(-error, kind="stable")[: len(unused)], unused] = 1
    return atoms


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
