"""Neighborhoods and graphs of points by non-negative kernel regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike
from scipy.sparse import csr_array, sparray, spmatrix

from nnk_image.base.checks import check_choice
from nnk_image.neighbors.model import NeighborhoodModel, warn_of_few_points
from nnk_image.neighbors.options import SYMMETRIZE
from nnk_image.neighbors.result import Neighborhoods, Solved


def nnk_neighbors(
    X: ArrayLike | sparray | spmatrix,
    n_neighbors: int = 30,
    *,
    queries: ArrayLike | None = None,
    kernel: str | Callable[..., Any] = "gaussian",
    kernel_params: Mapping[str, Any] | None = None,
    sigma: float | str = "kth",
    method: str = "nnk",
    method_params: Mapping[str, Any] | None = None,
    neighbors: Any = None,
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Find the non-redundant neighbors of each point by non-negative kernel regression (NNK).

    The candidates of a query are the `n_neighbors` points most similar to it. In the feature space
    of a kernel, NNK approximates the query by a sum of its candidates with non-negative weights.
    Most weights are 0, because a candidate that lies behind another one, seen from the query, adds
    nothing. The candidates with positive weights are the neighbors.

    Parameters
    ----------
    X : (N, d) array_like or sparse matrix
        Points, as real and finite numbers; a sparse matrix is made dense. Equal points are
        candidates of each other. For ``kernel='precomputed'``: the symmetric (N, N) matrix of the
        kernel between all points.
    n_neighbors : int, default: 30
        Number of candidates of each query; all points, with a warning, if there are fewer.
    queries : (n, d) array_like or sparse matrix, optional
        Points whose neighbors are computed; for ``kernel='precomputed'``, their (n, N) kernel with
        the points of X. A query equal to a point of X has this point among its candidates, with
        the default kernel and method as its only neighbor. Default: X, each point among the others.
    kernel : str or callable, default: 'gaussian'
        Similarity of two points x and y; ``|x - y|`` is their Euclidean distance, ``x.y`` their
        inner product:

        - 'gaussian': ``exp(-|x - y|^2 / (2 sigma^2))``
        - 'laplacian': ``exp(-|x - y| / sigma)``
        - 'cosine': the cosine of the angle between x and y, 0 if one of them is 0
        - 'shifted_cosine': ``(1 + cosine) / 2``, 0 if one of them is 0
        - 'linear': ``x.y``
        - 'polynomial': ``(gamma x.y + coef0)^degree``
        - 'lle': none; the weights, non-negative with sum 1, reconstruct the query best in the
          space of the points (locally linear embedding)
        - 'angular': ``(1 + cos) / 2`` of the angle between two candidates as seen from the query;
          each candidate has the similarity 1/2 to the query (Shekkizhar and Ortega, eq. 7)
        - 'precomputed': the entries of X and `queries`
        - a function ``kernel(A, B)`` that returns the (n, m) similarities of n points A, (n, d)
          ndarray, and m points B; distances instead raise a ValueError
    kernel_params : dict, optional
        Parameters of the kernel. 'polynomial': degree (default 3), gamma (1 / d) and coef0 (1).
        'precomputed': diagonal, the kernel of `queries` with themselves, a number or (n,)
        array_like (default 1); without `queries`, the diagonal of X is used. A function: its
        keyword arguments. Other kernels take none.
    sigma : float or {'kth', 'local', 'median'}, default: 'kth'
        Width of the Gaussian or Laplacian kernel; ignored for other kernels. 'kth': a third of the
        mean distance from a point of X to its farthest candidate; 'local': a third of this
        distance for each query by itself; 'median': the median distance from the points of X to
        their candidates (from `queries`, if ``neighbors`` lists theirs). If a rule gives 0, 1 is
        used, with a warning.
    method : {'nnk', 'omp', 'mp', 'knn', 'mutual_knn', 'kstar', 'lnp'}, default: 'nnk'
        How candidates are weighted. 'nnk': the exact solution of the regression. 'omp', 'mp':
        (orthogonal) matching pursuit for the same problem; 'omp' is exact as well, 'mp' is
        approximate. 'knn': all candidates, weighted by their similarity. 'mutual_knn': the same,
        but only pairs that are each other's candidates; not with `queries`. 'kstar': k*-nearest
        neighbors, see `KStarNeighborsClassifier`. 'lnp': local non-negative pursuit. Weights of
        'kstar' and 'lnp' sum to 1; both use distances: leave `kernel` at its default.
    method_params : dict, optional
        Parameters of the method.

        - l1 (default 0): penalty on the sum of the weights, for 'nnk', 'omp' and 'mp', but not for
          ``kernel='lle'``
        - tol (1e-8): weights below tol times the query's largest similarity are dropped, both (but
          for 'knn' and 'mutual_knn') scaled as if points had similarity 1 with themselves; ignored
          by 'kstar' and 'lnp'
        - duplicates: of equal candidates the first takes all the weight ('first', default) or all
          take equal shares ('share'); for 'nnk' and 'omp'
        - lc_ratio (1): for 'kstar', see `KStarNeighborsClassifier`
    neighbors : optional
        Where candidates come from. Default: an exact search for the points most similar by the
        kernel; for 'gaussian', 'laplacian', 'lle' and 'angular' these are the nearest. Or one of:

        - an estimator with `kneighbors`, or a transformer whose `transform` returns a sparse graph,
          such as ``pynndescent.PyNNDescentTransformer``; if it is not fitted yet, a copy of it is
          fitted to X; not for ``kernel='precomputed'``
        - an (n, k) array of indices of points, one row per query, with -1 for missing ones
        - a tuple (indices, distances); the distances are ignored and computed from X
        - a sparse (n, N) matrix whose stored entries mark the candidates, or an `ImageGraph`

        If a query has more than `n_neighbors` of them, the most similar are used. The query itself
        and repeated candidates are skipped. For other metrics give an estimator, such as
        ``sklearn.neighbors.NearestNeighbors(metric="cityblock")``.
    n_jobs : int, optional
        Number of threads; None is 1, -1 all processors. The result does not depend on it.

    Returns
    -------
    Neighborhoods
        Indices and weights of the neighbors of each query, and the error of its regression. A
        query has no neighbors if it has no candidates or none with a positive similarity.

    Warns
    -----
    UserWarning
        If weights are not optimal, as the kernel is not positive semi-definite (see `residual`).

    See Also
    --------
    nnk_weights : The problem that is solved for each query.

    Notes
    -----
    Of equally near points those of lower index become candidates, unless 8 `n_neighbors` points or
    more are as near as the last candidate, or nearer: then the choice among equally near ones is
    arbitrary. The exact search needs scikit-learn for more than 15 features.

    References
    ----------
    S. Shekkizhar, A. Ortega, "Neighborhood and graph constructions using non-negative kernel
    regression", Algorithms 1 and 2; O. Anava, K. Levy, "k*-nearest neighbors: from global to
    local", Algorithm 1; D. Chen, J. Lv, Z. Yi, "A local non-negative pursuit method for intrinsic
    manifold structure preservation", Algorithm 1.

    Examples
    --------
    On a line, the nearest point on each side hides all points behind it:

    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> result = nnk_neighbors(np.arange(9.0).reshape(-1, 1), 6)
    >>> result.neighbors(4)[0]
    array([3, 5], dtype=int32)
    """
    solved = _solve(
        X,
        n_neighbors,
        queries,
        kernel=kernel,
        kernel_params=kernel_params,
        sigma=sigma,
        method=method,
        method_params=method_params,
        neighbors=neighbors,
        n_jobs=n_jobs,
    )
    return solved.neighborhoods()


def nnk_graph(
    X: ArrayLike | sparray | spmatrix,
    n_neighbors: int = 30,
    *,
    symmetrize: str | None = "min_error",
    kernel: str | Callable[..., Any] = "gaussian",
    kernel_params: Mapping[str, Any] | None = None,
    sigma: float | str = "kth",
    method: str = "nnk",
    method_params: Mapping[str, Any] | None = None,
    neighbors: Any = None,
    n_jobs: int | None = None,
) -> csr_array:
    """Build a sparse graph of points by non-negative kernel regression (NNK).

    The neighbors of each point and their weights are those of `nnk_neighbors`. Two points may give
    their common edge different weights. The rule `symmetrize` makes the graph undirected; in high
    dimensions, it strongly affects the number of edges.

    Parameters
    ----------
    X : (N, d) array_like or sparse matrix
        Points; the symmetric (N, N) matrix of the kernel for ``kernel='precomputed'``.
    n_neighbors, kernel, kernel_params, sigma, method, method_params, neighbors, n_jobs : optional
        As for `nnk_neighbors`, with the same defaults.
    symmetrize : {'min_error', 'min_error_onesided', 'max', 'mean', 'min', None}
        How the two weights of a pair become one; the weight of a point that is no neighbor is 0.
        'min_error' (default): the weight chosen by the point whose regression error is smaller, or
        the larger weight if errors are equal; only pairs that are each other's candidates are
        linked. 'min_error_onesided': the same, but a pair of which only one point has the other as
        a candidate keeps its weight. 'max', 'mean', 'min': that of the two weights. None: the graph
        stays directed, and row i holds the weights that point i chose.

    Returns
    -------
    (N, N) scipy.sparse.csr_array
        Float64 weights with sorted columns, no explicit zeros and no self loops.

    Notes
    -----
    With the default kernel and method, equal points are each other's only neighbors, which
    ``symmetrize='min_error'`` links to no other point: remove duplicates by np.unique first.

    References
    ----------
    S. Shekkizhar, A. Ortega, "Neighborhood and graph constructions using non-negative kernel
    regression", Algorithm 3.

    Examples
    --------
    A circle of points becomes a ring:

    >>> import numpy as np
    >>> from nnk_image import nnk_graph
    >>> angle = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    >>> graph = nnk_graph(np.column_stack([np.cos(angle), np.sin(angle)]), 8)
    >>> graph.nnz // 2
    50
    """
    check_choice("symmetrize", symmetrize, SYMMETRIZE)
    solved = _solve(
        X,
        n_neighbors,
        kernel=kernel,
        kernel_params=kernel_params,
        sigma=sigma,
        method=method,
        method_params=method_params,
        neighbors=neighbors,
        n_jobs=n_jobs,
    )
    return solved.graph(symmetrize)


def _solve(X: Any, n_neighbors: int, queries: Any = None, **options: Any) -> Solved:
    """Return weighted candidates of queries, or of the points; warn if too few are found."""
    model = NeighborhoodModel(X, n_neighbors, **options)
    warn_of_few_points(n_neighbors, len(model.points), queries is None)
    solved = model.solve(queries)
    if queries is None:
        model.warn_if_empty(solved)
    return solved
