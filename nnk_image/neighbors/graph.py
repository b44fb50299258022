"""The NNK graph of points, and how its directed weights become undirected."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike
from scipy.sparse import csr_array, sparray, spmatrix

from nnk_image.base.checks import check_choice
from nnk_image.neighbors.model import NeighborhoodModel, warn_of_few_points
from nnk_image.neighbors.options import SYMMETRIZE, without_metric


@without_metric
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

    The neighbors of each point and their weights are those of `nnk_neighbors`: nearby points,
    without those that lie behind another one. Two points may give their common edge different
    weights, so a rule, `symmetrize`, makes the graph undirected. In high dimensions, this rule
    strongly affects the number of edges.

    Parameters
    ----------
    X : (N, d) array_like or sparse matrix
        Points, as real and finite numbers; a sparse matrix is made dense. For
        ``kernel='precomputed'``: the symmetric (N, N) matrix of the kernel between all points.
    n_neighbors : int, default: 30
        Number of candidates of each point. If there are fewer other points, all are candidates, and
        a warning says so.
    symmetrize : {'min_error', 'min_error_onesided', 'max', 'mean', 'min', None}
        How the two weights of a pair become one; the weight of a point that is no neighbor is 0.
        'min_error' (default): the weight chosen by the point whose regression error is smaller, or
        the larger weight if errors are equal; only pairs that are each other's candidates are
        linked. 'min_error_onesided': the same, but a pair of which only one point has the other as
        a candidate keeps its weight. 'max', 'mean', 'min': that of the two weights. None: the graph
        stays directed, and row i holds the weights that point i chose.
    kernel, kernel_params, sigma, method, method_params, neighbors, n_jobs
        As for `nnk_neighbors`, with the same defaults and the same errors.

    Returns
    -------
    (N, N) scipy.sparse.csr_array
        Float64 weights with sorted columns, no explicit zeros and no self loops. The error of
        each point is in ``nnk_neighbors(X, ...).error`` and in ``NNKGraphTransformer.error_``.

    Notes
    -----
    With the default kernel and method, equal points are each other's only neighbors, so that
    ``symmetrize='min_error'`` links them to no other point. Remove duplicates first, for instance
    with ``np.unique(X, axis=0)``.

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
    check_choice("symmetrize", symmetrize, (*SYMMETRIZE, None))
    model = NeighborhoodModel(
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
    warn_of_few_points(model.n_neighbors, len(model.points), own=True)
    solved = model.solve()
    model.warn_if_narrow(solved)
    return solved.graph(symmetrize)
