"""The NNK graph of points, and how its directed weights become undirected."""

from nnk_image.base.checks import check_choice
from nnk_image.neighbors import _core
from nnk_image.neighbors.blocks import NeighborhoodBlocks
from nnk_image.neighbors.graph_file import load_nnk_graph
from nnk_image.neighbors.model import NeighborhoodModel
from nnk_image.neighbors.options import TOL
from nnk_image.neighbors.to_disk import graph_to_disk


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
    out=None,
    block_rows=None,
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
    out : str or path-like, optional
        Write the graph to this file, made in blocks of rows, and return it mapped from there: for
        graphs that do not fit into memory. X may then be a ``numpy.memmap`` or the path of a .npy
        file, which is not copied as a whole. The file, uncompressed .npz, appears when it is
        complete; `nnk_image.neighbors.load_nnk_graph` and `scipy.sparse.load_npz` read it.
    block_rows : int, optional
        Rows made at a time with `out`; default 65536. The result does not depend on it.

    Returns
    -------
    graph : (N, N) scipy.sparse.csr_array
        Float64 weights: sorted columns, no explicit zeros, no self loops. Its attribute `recall`
        is that of `Neighborhoods`: how many of the nearest points the search found.
    error : (N,) float64 ndarray
        ``1/2 K_ii - b' theta + 1/2 theta' K theta`` of each point, if `return_error`.

    Raises
    ------
    TypeError, ValueError
        Bad points or options; the message names them and says what to do.
    MemoryError
        More memory is needed than is free.

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
    options = {
        "kernel": kernel,
        "sigma": sigma,
        "method": method,
        "l1": l1,
        "tol": tol,
        "metric": metric,
        "neighbors": neighbors,
        "kernel_params": kernel_params,
        "duplicates": duplicates,
        "psd": psd,
        "lc_ratio": lc_ratio,
        "n_jobs": n_jobs,
    }
    if out is not None:
        blocks = NeighborhoodBlocks(X, n_neighbors, **options)
        blocks.model.warn_of_few_points(own=True)
        blocks.model.warn_of_recall()
        graph_to_disk(blocks, out, symmetrize, block_rows)
        return load_nnk_graph(out, return_error=return_error)
    if block_rows is not None:
        raise ValueError(f"block_rows={block_rows} is for graphs written to a file; give out= too")
    model = NeighborhoodModel(X, n_neighbors, **options)
    model.warn_of_few_points(own=True)
    model.warn_of_recall()
    solved = model.solve()
    if symmetrize is None:
        graph = solved.neighborhoods(n_jobs).to_csr()
    else:
        graph = solved.undirected(symmetrize, n_jobs)
    graph.recall = model.recall
    return (graph, solved.error) if return_error else graph
