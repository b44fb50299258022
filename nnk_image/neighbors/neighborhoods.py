"""Neighborhoods of points by non-negative kernel regression."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike
from scipy.sparse import sparray, spmatrix

from nnk_image.neighbors.model import NeighborhoodModel
from nnk_image.neighbors.options import check_method_params, without_metric
from nnk_image.neighbors.result import Neighborhoods


@without_metric
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
    """Find the NNK neighbors of points: those that non-negative kernel regression keeps.

    Of its `n_neighbors` most similar candidates each query keeps the few that regress it with
    non-negative weights, ``min 1/2 theta' K_SS theta - K_Sq' theta``. A candidate behind a kept
    one, seen from the query, adds nothing and gets weight 0. The weights are exact.

    Parameters
    ----------
    X : (N, d) array_like or sparse matrix
        Points, a sparse matrix is made dense; for ``kernel='precomputed'`` their (N, N) Gram
        matrix.
    n_neighbors : int, default: 30
        Number of candidates of each query.
    queries : (n, d) array_like, optional
        Queries; for ``kernel='precomputed'`` their (n, N) kernel with the points. Default: the
        points themselves, each with the others as candidates.
    kernel : str or callable, default: 'gaussian'
        'gaussian' ``exp(-|x-y|^2 / (2 sigma^2))``, 'laplacian' ``exp(-|x-y| / sigma)``, 'cosine',
        'shifted_cosine' ``(1 + cosine) / 2``, 'linear', 'polynomial' ``(gamma x.y +
        coef0)^degree``, 'lle' (locally linear embedding with non-negative weights that sum to 1),
        'angular' (eq. 7 of the paper), 'precomputed', or a function ``kernel(A, B)`` that returns
        the matrix between two sets of points.
    kernel_params : dict, optional
        degree (default: 3), gamma (1 / d) and coef0 (1) of 'polynomial'; keyword arguments of a
        function; diagonal, the kernel of each of the `queries` with itself (1), of 'precomputed'.
    sigma : float or {'kth', 'local', 'median'}, default: 'kth'
        Width of the Gaussian or Laplacian kernel. 'kth': a third of the mean distance from a
        point of X to its farthest candidate; 'local': the same for each query by itself;
        'median': the median distance from the points to their candidates.
    method : {'nnk', 'omp', 'mp', 'knn', 'mutual_knn', 'kstar', 'lnp'}, default: 'nnk'
        How candidates are weighted. 'nnk': exactly; 'omp', 'mp': the same problem by (orthogonal)
        matching pursuit, where 'omp' gives the same weights; 'knn': weights are the similarities;
        'mutual_knn': of pairs that are each other's candidates; 'kstar': k*-nearest neighbors,
        weights sum to 1, `error` is the paper's lambda; 'lnp': local non-negative pursuit,
        weights sum to 1, `error` is half the squared distance from the query to its
        reconstruction. 'kstar' and 'lnp' use distances and no kernel.
    method_params : dict, optional
        l1 (default: 0): penalty on the sum of the weights (eq. 9). tol (1e-8): weights below tol
        times the query's largest similarity are dropped. duplicates ('first'): of equal
        candidates the first takes all the weight; 'share': all take equal shares. psd ('warn'):
        whether to 'warn' or 'raise' where a kernel matrix is not positive semi-definite, so that
        the weights are not optimal, or to 'clip' its negative eigenvalues. lc_ratio (1), of
        'kstar': Lipschitz constant of the labels divided by their noise; the smaller, the more
        neighbors.
    neighbors : optional
        Where candidates come from. Default: exact search, by scipy's kd-tree for up to 15 features
        and else by scikit-learn's comparison of all pairs, ties to the lower index. Or an
        estimator with `kneighbors`; a transformer whose `transform` returns a sparse graph, such
        as ``pynndescent.PyNNDescentTransformer``; a tuple (indices, distances) or only indices,
        of shape (n, k), with -1 for missing ones; or a sparse (n, N) matrix whose entries name
        the candidates. Estimators are fitted unless they are. Similarities are always computed
        from X.
    n_jobs : int, optional
        Number of threads; None is 1, -1 all processors. The result does not depend on it.

    Returns
    -------
    Neighborhoods

    Raises
    ------
    TypeError, ValueError
        Bad points or options; the message names them and says what to do.

    References
    ----------
    S. Shekkizhar, A. Ortega, "Neighborhood and graph constructions using non-negative kernel
    regression", Algorithms 1 and 2; O. Anava, K. Levy, "k*-nearest neighbors: from global to
    local", Algorithm 1; D. Chen, J. Lv, Z. Yi, "A local non-negative pursuit method for intrinsic
    manifold structure preservation", Algorithm 1.

    Examples
    --------
    On a line, all but the two nearest points on either side are hidden behind them:

    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> result = nnk_neighbors(np.arange(9.0).reshape(-1, 1), 6)
    >>> result.neighbors(4)[0]
    array([3, 5], dtype=int32)
    """
    model = NeighborhoodModel(
        X,
        n_neighbors,
        neighbors=neighbors,
        kernel=kernel,
        kernel_params=kernel_params,
        sigma=sigma,
        method=method,
        n_jobs=n_jobs,
        **check_method_params(method_params),
    )
    model.warn_of_few_points(own=queries is None)
    return model.neighborhoods(queries)
