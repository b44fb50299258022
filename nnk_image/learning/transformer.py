"""The NNK graph as a step of scikit-learn's pipelines."""

from hashlib import blake2b

import numpy as np
from scipy.sparse import csr_array, vstack
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from nnk_image.base.checks import check_choice
from nnk_image.learning.estimators import KernelOptions, NeighborhoodEstimator
from nnk_image.neighbors import _core
from nnk_image.neighbors.options import TOL


class NNKGraphTransformer(
    ClassNamePrefixFeaturesOutMixin, KernelOptions, TransformerMixin, NeighborhoodEstimator
):
    """Points to their sparse NNK graph, for estimators that take a precomputed one.

    Parameters
    ----------
    n_neighbors : int
        Candidates of each query; all points if there are fewer.
    symmetrize : {'min_error', 'min_error_onesided', 'max', 'mean', 'min', None}
        How two fitted points that disagree are reconciled, as for `nnk_graph`.
    kernel, sigma, method, l1, tol, metric, kernel_params, duplicates, psd, n_jobs
        As for `nnk_neighbors`.
    sigma_scale : float
        Factor of the kernel's width.
    neighbors : estimator or str, optional
        Search for candidates: one with ``fit`` and ``kneighbors``, which is cloned, or a name, as
        for `nnk_neighbors`.

    Attributes
    ----------
    graph_ : (N, N) scipy.sparse.csr_array
        The graph of the fitted points, as `nnk_graph` gives it.
    error_ : (N,) float64 ndarray
        Error of each point's regression.
    sigma_ : float
        Width of the kernel, scaled; one per point for ``sigma='local'``; NaN without one.
    n_neighbors_, n_samples_fit_, n_features_in_ : int

    Raises
    ------
    TypeError, ValueError
        In `fit` and `transform`: bad data or options; the message names them.

    References
    ----------
    S. Shekkizhar, A. Ortega, "Neighborhood and graph constructions using non-negative
    kernel regression", Algorithms 1 and 3.

    Examples
    --------
    Two moons are two components, and a new point's neighbours are on its own moon:

    >>> from scipy.sparse.csgraph import connected_components
    >>> from sklearn.datasets import make_moons
    >>> from nnk_image import NNKGraphTransformer
    >>> X, moon = make_moons(200, noise=0.05, random_state=0)
    >>> transformer = NNKGraphTransformer(10)
    >>> n_parts, part = connected_components(transformer.fit_transform(X))
    >>> n_parts, bool((part == part[0]).sum() == (moon == moon[0]).sum())
    (2, True)
    >>> moon[transformer.transform([[0.0, 1.0]]).indices]
    array([0, 0, 0, 0, 0])
    """

    def __init__(
        self,
        n_neighbors=30,
        *,
        symmetrize="min_error",
        kernel="gaussian",
        sigma="kth",
        sigma_scale=1.0,
        method="nnk",
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
        self.symmetrize = symmetrize
        self.kernel = kernel
        self.sigma = sigma
        self.sigma_scale = sigma_scale
        self.method = method
        self.l1 = l1
        self.tol = tol
        self.metric = metric
        self.neighbors = neighbors
        self.kernel_params = kernel_params
        self.duplicates = duplicates
        self.psd = psd
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Compute the graph of the points.

        Parameters
        ----------
        X : (N, d) array_like
            Points; (N, N) for precomputed kernels and distances.
        y : ignored

        Returns
        -------
        self
        """
        check_choice("symmetrize", self.symmetrize, (*_core.RULES, None))
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        self._fit_model(X)
        solved = self._model.solve()
        self.error_ = solved.error
        if self.symmetrize is None:
            self.graph_ = solved.neighborhoods(self.n_jobs).to_csr()
        else:
            self.graph_ = solved.undirected(self.symmetrize, self.n_jobs)
        self._row_of = {}
        for i, row in enumerate(self._model.points):
            self._row_of.setdefault(_fingerprint(row), i)
        return self

    def transform(self, X):
        """Rows of the graph: kept ones for fitted points, new ones for new points.

        Parameters
        ----------
        X : (n, d) array_like
            A row that equals a fitted point, the first of equal ones, is that point.

        Returns
        -------
        (n, N) scipy.sparse.csr_array
            For a fitted point its row of `graph_`; for a new one the weights of the fitted
            points in its regression.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        X = self._model.check_queries(X)
        known = np.array([self._row_of.get(_fingerprint(row), -1) for row in X])
        new = np.flatnonzero(known < 0)
        if len(new) == 0:
            return self.graph_[known]
        found = self._model.neighborhoods(X[new]).to_csr()
        if len(new) == len(X):
            return found
        place = known.copy()
        place[new] = self.n_samples_fit_ + np.arange(len(new))
        return csr_array(vstack([self.graph_, found]))[place]

    def fit_transform(self, X, y=None):
        """The graph of the points, (N, N) scipy.sparse.csr_array."""
        return self.fit(X).graph_.copy()

    @property
    def _n_features_out(self):
        return self.n_samples_fit_


def _fingerprint(row):
    """A key that only equal rows share; 0 and -0 count as equal."""
    return blake2b((row + 0.0).tobytes(), digest_size=16).digest()
