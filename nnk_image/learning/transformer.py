"""The NNK graph as a step of scikit-learn's pipelines."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from nnk_image.base.checks import check_choice
from nnk_image.base.image import Array
from nnk_image.learning.estimator import NeighborhoodEstimator
from nnk_image.neighbors.options import SYMMETRIZE, KernelOptions


@dataclass(eq=False, repr=False)
class NNKGraphTransformer(
    ClassNamePrefixFeaturesOutMixin, KernelOptions, TransformerMixin, NeighborhoodEstimator
):
    """Transform points to their NNK graph (`nnk_graph`), as a step of a scikit-learn pipeline.

    Estimators such as ``SpectralClustering(affinity="precomputed")`` take it in place of points.

    Parameters
    ----------
    n_neighbors, kernel, kernel_params, sigma, sigma_scale, method, method_params, neighbors, \
n_jobs : optional
        As for `NNKClassifier`, with the same defaults; candidates are the other points.
    symmetrize : {'min_error', 'min_error_onesided', 'max', 'mean', 'min', None}
        How the two weights of a pair become one, as for `nnk_graph`; default 'min_error'.

    Attributes
    ----------
    graph_ : (N, N) scipy.sparse.csr_array
        The graph of the fitted points, as `nnk_graph` gives it.
    error_ : (N,) float64 ndarray
        Reconstruction error of each fitted point, as ``Neighborhoods.error``.
    sigma_, n_neighbors_, n_samples_fit_, n_features_in_
        As of `NNKClassifier`.

    References
    ----------
    S. Shekkizhar, A. Ortega, "Neighborhood and graph constructions using non-negative
    kernel regression", Algorithms 1 and 3.

    Examples
    --------
    Two moons are two components, and a new point's neighbors are on its own moon:

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

    symmetrize: str | None = field(default="min_error", kw_only=True)

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Compute the graph of points X, which are as for `NNKClassifier.fit`; y is ignored."""
        check_choice("symmetrize", self.symmetrize, SYMMETRIZE)
        self._set_model(self._checked(X), exclude_self=True)
        solved = self._model.solve()
        self._model.warn_if_empty(solved)
        self.sigma_, self.error_ = solved.sigma, solved.error
        self.graph_ = solved.graph(self.symmetrize)
        self._row_of = {key: i for i, key in enumerate(_keys(self._model.points))}
        return self

    def transform(self, X: npt.ArrayLike) -> csr_array:
        """Return the links of points to the fitted points, one row per point.

        Parameters
        ----------
        X : (n, d) array_like or sparse matrix
            Points; (n, N) kernel values with the fitted points for a precomputed kernel. One that
            equals a fitted point counts as that point. If several do, the first of X counts as the
            first of them, the second as the second, and so on.

        Returns
        -------
        (n, N) scipy.sparse.csr_array
            Float64 weights: for a fitted point its row of `graph_`; for a new point those of its
            neighbors among the fitted points, as by ``nnk_neighbors(..., queries=X)``.
        """
        points = self._checked_queries(X)
        queries = self._model.check_queries(points)
        # A third copy of a point that was fitted twice counts as the first of them.
        row_of = self._row_of
        known = np.array([row_of.get(k, row_of.get((k[0], 0), -1)) for k in _keys(queries)])
        new = np.flatnonzero(known < 0)
        if len(new) == 0:
            return self.graph_[known]
        links = self._model.neighborhoods(queries[new]).to_csr()
        known[new] = self.n_samples_fit_ + np.arange(len(new))
        return csr_array(vstack([self.graph_, links]))[known]

    def fit_transform(self, X: npt.ArrayLike, y: Any = None) -> csr_array:
        """Compute the graph of points X as `fit` does, and return a copy of it."""
        return self.fit(X).graph_.copy()

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_


def _keys(points: Array) -> Iterator[tuple[bytes, int]]:
    """Yield a key of each row that equal rows share, 0 and -0 too, and how many came before."""
    count: Counter[bytes] = Counter()
    for row in points:
        key = blake2b((row + 0.0).tobytes(), digest_size=16).digest()
        yield key, count[key]
        count[key] += 1
