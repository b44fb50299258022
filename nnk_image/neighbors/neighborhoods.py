"""Neighbourhoods of points by non-negative kernel regression."""

from nnk_image.neighbors.model import NeighborhoodModel
from nnk_image.neighbors.options import TOL


def nnk_neighbors(
    X,
    Q=None,
    n_neighbors=30,
    *,
    kernel="gaussian",
    sigma="kth",
    method="nnk",
    l1=0.0,
    tol=TOL,
    metric=None,
    neighbors=None,
    kernel_params=None,
    duplicates="first",
    psd="warn",
    lc_ratio=1.0,
    n_jobs=None,
):
    """NNK neighbours of points: those that non-negative kernel regression keeps.

    Of its `n_neighbors` most similar candidates each query keeps the few that
    regress it with non-negative weights, ``min 1/2 theta' K_SS theta - K_Sq' theta``;
    a candidate behind a kept one, seen from the query, adds nothing and gets weight 0.
    The weights are exact.

    Parameters
    ----------
    X : (N, d) array_like
        Points; for ``kernel='precomputed'`` their (N, N) Gram matrix.
    Q : (n, d) array_like, optional
        Queries; for ``kernel='precomputed'`` their (n, N) kernel with the points.
        Default: the points themselves, each with the others as candidates.
    n_neighbors : int
        Candidates of each query.
    kernel : str or callable
        'gaussian' ``exp(-|x-y|^2 / (2 sigma^2))``, 'laplacian' ``exp(-|x-y| / sigma)``,
        'cosine', 'shifted_cosine' ``(1 + cosine) / 2``, 'linear', 'polynomial' ``(gamma
        x.y + coef0)^degree``, 'precomputed', a function ``kernel(A, B)`` that gives
        the matrix between two sets of points, or one that depends on the query: 'lle'
        (locally linear embedding with non-negative weights that add up to 1) and
        'angular' (the paper's eq. 7).
    sigma : float or {'kth', 'local', 'median'}
        Width of the Gaussian or Laplacian kernel. 'kth': a third of the mean distance
        of a point of X from its farthest candidate; 'local': the same for each query by
        itself; 'median': the median distance of the points from their candidates.
    method : {'nnk', 'omp', 'mp', 'knn', 'mutual_knn', 'kstar', 'lnp'}
        How candidates are weighed. 'nnk': exactly; 'omp', 'mp': the same problem by
        (orthogonal) matching pursuit, 'omp' giving the same weights; 'knn': weights are
        the similarities; 'mutual_knn': of pairs that are each other's candidates;
        'kstar': k*-nearest neighbours, weights adding up to 1, `error` the paper's lambda;
        'lnp': local non-negative pursuit, weights adding up to 1, `error` half the squared
        distance of the query from what its neighbours make. 'kstar' and 'lnp' know no kernel.
    l1 : float
        Penalty on the sum of the weights (eq. 9).
    tol : float
        Weights below ``tol`` times the query's largest similarity are dropped.
    metric : {None, 'precomputed'}
        'precomputed': X holds distances, (N, N) and for Q (n, N), for the Gaussian and
        Laplacian kernels.
    neighbors : optional
        Where candidates come from. Default: scipy's kd-tree up to 15 features,
        scikit-learn's comparison of all pairs above, ties to the lower index; always exact.
        'auto': the same up to 20,000 points or 6 features, else an approximate index of the
        first package installed of 'faiss' (inverted lists from 20,000 points on), 'hnswlib'
        and 'pynndescent', which can also be named. They search harder until they find 99 %
        of the nearest points of a sample, or a quarter of the lists is searched; twice as
        many candidates are asked for, the nearest taken. ``Neighborhoods.recall`` says
        what was found. Or an index of theirs; a scikit-learn estimator with `kneighbors`; a
        tuple (indices, distances) or array of indices of shape (n, k), -1 for missing
        ones; or a sparse (n, N) matrix whose entries name the candidates. Similarities
        are always computed from X.
    kernel_params : dict, optional
        degree (3), gamma (1 / d) and coef0 (1) of 'polynomial'; arguments of a function;
        diagonal, the kernel (1) of each of `Q` with itself, of 'precomputed'.
    duplicates : {'first', 'share'}
        Of equal candidates the first takes all the weight, or all take equal shares.
    psd : {'warn', 'raise', 'clip'}
        What to do where a kernel matrix is not positive semi-definite, so that the weights
        found are not optimal; 'clip' removes its negative eigenvalues.
    lc_ratio : float
        Of 'kstar': Lipschitz constant of the labels over their noise, L / C; the smaller,
        the more neighbours.
    n_jobs : int, optional
        Threads; None is 1, -1 all processors. The result does not depend on it, except for
        neighbors='hnswlib', whose links depend on the order in which threads insert points.

    Returns
    -------
    Neighborhoods

    Raises
    ------
    TypeError, ValueError
        Bad points or options; the message names them and says what to do.

    References
    ----------
    S. Shekkizhar, A. Ortega, "Neighborhood and graph constructions using non-negative
    kernel regression", Algorithms 1 and 2; O. Anava, K. Levy, "k*-nearest neighbors: from
    global to local", Algorithm 1; D. Chen, J. Lv, Z. Yi, "A local non-negative pursuit
    method for intrinsic manifold structure preservation", Algorithm 1.

    Examples
    --------
    On a line, all but the two nearest points on either side are hidden behind them:

    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> result = nnk_neighbors(np.arange(9.0).reshape(-1, 1), n_neighbors=6)
    >>> result.neighbors(4)[0]
    array([3, 5], dtype=int32)
    """
    model = NeighborhoodModel(
        X,
        n_neighbors,
        kernel=kernel,
        sigma=sigma,
        method=method,
        l1=l1,
        tol=tol,
        metric=metric,
        neighbors=neighbors,
        kernel_params=kernel_params,
        duplicates=duplicates,
        psd=psd,
        lc_ratio=lc_ratio,
        n_jobs=n_jobs,
    )
    model.warn_of_few_points(own=Q is None)
    model.warn_of_recall()
    return model.neighborhoods(Q)
