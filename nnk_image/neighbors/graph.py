"""The NNK graph of points, and how its directed weights become undirected."""

from nnk_image.base.checks import check_choice
from nnk_image.neighbors import _core
from nnk_image.neighbors.model import NeighborhoodModel
from nnk_image.neighbors.options import TOL


def nnk_graph(
    X,
    n_neighbors=30,
    *,
    kernel="gaussian",
    sigma="kth",
    symmetrize="min_error",
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
    return_error=False,
):
    """Sparse NNK graph of points.

    Each point chooses neighbours and weights as in `nnk_neighbors`; `symmetrize` says how
    two points that disagree are reconciled, which decides the number of edges in high
    dimension.

    Parameters
    ----------
    X, n_neighbors, kernel, sigma, method, l1, tol, metric, neighbors, kernel_params, \
duplicates, psd, lc_ratio, n_jobs
        As for `nnk_neighbors`.
    symmetrize : {'min_error', 'min_error_onesided', 'max', 'mean', 'min', None}
        'min_error': Algorithm 3 to the letter: only pairs that are each other's candidates
        can be linked, with the weight chosen by the point whose error is smaller, the
        larger weight where errors are equal. 'min_error_onesided': a pair of which only
        one point has the other as a candidate keeps its weight too. 'max', 'mean', 'min':
        of the two weights. None: row i holds what point i chose, directed.
    return_error : bool
        Also return the error of each point.

    Returns
    -------
    graph : (N, N) scipy.sparse.csr_array
        Float64 weights: sorted columns, no explicit zeros, no self loops.
    error : (N,) float64 ndarray
        ``1/2 K_ii - b' theta + 1/2 theta' K theta`` of each point, if `return_error`.

    Raises
    ------
    TypeError, ValueError
        Bad points or options; the message names them and says what to do.

    References
    ----------
    S. Shekkizhar, A. Ortega, "Neighborhood and graph constructions using non-negative
    kernel regression", Algorithm 3.

    Examples
    --------
    A circle of points becomes a ring:

    >>> import numpy as np
    >>> from nnk_image import nnk_graph
    >>> angle = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    >>> graph = nnk_graph(np.column_stack([np.cos(angle), np.sin(angle)]), n_neighbors=8)
    >>> graph.nnz // 2
    50
    """
    check_choice("symmetrize", symmetrize, (*_core.RULES, None))
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
    model.warn_of_few_points(own=True)
    solved = model.solve()
    if symmetrize is None:
        graph = solved.neighborhoods(n_jobs).to_csr()
    else:
        graph = solved.undirected(symmetrize, n_jobs)
    return (graph, solved.error) if return_error else graph
