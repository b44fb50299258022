"""Local geometry of data from its neighborhoods: dimension, extent and curvature."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import orth
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist

from nnk_image.base.checks import check_choice, check_number
from nnk_image.base.image import Array
from nnk_image.learning.inputs import Weights, check_points, check_weights
from nnk_image.neighbors.kernels import unit_rows

_RANK = 1e-10  # singular values that are smaller, relative to the largest, count as 0


class ManifoldMetrics(NamedTuple):
    """Arrays that describe data locally; `manifold_metrics` returns and explains them."""

    dimension: Array
    diameter: Array
    affinity: Array
    dimension_vector: Array


def manifold_metrics(
    X: npt.ArrayLike, neighborhoods: Weights, *, normalize: bool = True, norm: str = "min_rank"
) -> ManifoldMetrics:
    """Measure the local dimension, extent and curvature of data from its neighborhoods.

    Parameters
    ----------
    X : (N, d) array_like or sparse matrix
        Points.
    neighborhoods : Neighborhoods, or (N, N) scipy.sparse matrix
        Neighbors of each point of X, from `nnk_neighbors`; row i holds their weights for point i.
    normalize : bool
        True (default) scales points to length 1 for diameters, which are then from 0 to 2.
    norm : {'min_rank', 'product'}
        How the affinity is normalized, see Notes. 'min_rank' (default): 1 means that one space
        contains the other. 'product': as printed in the thesis.

    Returns
    -------
    A named tuple of arrays:

    dimension : (N,) int64 ndarray
        Number of neighbors of each point, which grows with the local dimension.
    diameter : (N,) float64 ndarray
        Largest distance between two neighbors of each point; 0 for fewer than two neighbors.
    affinity : (nnz,) float64 ndarray
        For each point and each of its neighbors, row by row: how parallel the linear spaces are
        that the coordinate vectors of their neighbors span, from 0 to 1, small where the data is
        curved. It is 0 if one of the two has no neighbors but points at the origin.
    dimension_vector : (m + 1,) float64 ndarray
        Means over the points of their largest weight, of the second largest, and so on to the
        largest number m of neighbors, and a 0. For weights that sum to 1, such as those of
        ``method="lnp"``, ``np.argmax(-np.diff(dimension_vector))`` is the dimension.

    Notes
    -----
    The affinity is the root of the sum of the squared cosines of the principal angles between the
    two spaces, divided by a norm: the smaller dimension of the two ('min_rank'), or the product of
    the numbers of neighbors ('product'). Dimension, diameter and affinity are equations 4.8, 4.6
    and 4.7 of the thesis; the dimension vector is equation 8 of Chen et al.

    References
    ----------
    S. Shekkizhar, PhD thesis, University of Southern California, 2023, section 4.2 and Algorithm 7;
    D. Chen, J. Lv, Z. Yi, "A local non-negative pursuit method for intrinsic manifold structure
    preservation", AAAI 2014, eq. 8 and 9.

    Examples
    --------
    A plane in space:

    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> from nnk_image.learning import manifold_metrics
    >>> x, y = np.meshgrid(np.arange(20.0), np.arange(20.0))
    >>> X = np.column_stack([x.ravel(), y.ravel(), np.full(400, 5.0)])
    >>> metrics = manifold_metrics(X, nnk_neighbors(X, n_neighbors=8))
    >>> int(np.median(metrics.dimension))
    4
    """
    check_choice("norm", norm, ("min_rank", "product"))
    matrix = check_weights(neighborhoods, square=True)
    points = check_points("X", X, matrix)
    scaled = unit_rows(points) if normalize else points
    return ManifoldMetrics(
        np.diff(matrix.indptr).astype(np.int64),
        np.array([pdist(scaled[near]).max(initial=0.0) for near in _rows(matrix)]),
        _affinities(points, matrix, norm),
        _dimension_vector(matrix),
    )


def intrinsic_dimension(
    X: npt.ArrayLike, neighborhoods: Weights, *, threshold: float = 0.05
) -> Array:
    """Estimate the local dimension of data at each point, such as 1 on a curve and 2 on a surface.

    Parameters
    ----------
    X : (N, d) array_like or sparse matrix
        Points.
    neighborhoods : Neighborhoods, or (N, N) scipy.sparse matrix
        Neighbors of each point, from `nnk_neighbors`.
    threshold : float
        A direction counts if its eigenvalue exceeds this fraction of the largest one, below 1;
        default 0.05.

    Returns
    -------
    (N,) int64 ndarray
        The dimension at each point; 0 for a point without neighbors, or whose neighbors equal it.

    Notes
    -----
    It is the number of principal directions in which the neighbors spread: that of large
    eigenvalues of ``sum_j theta_j (x_j - x_i)(x_j - x_i)'`` over the neighbors j of point i.
    Neighborhoods must be wider than the noise and narrower than the radius of curvature. The number
    of neighbors that NNK keeps, `Neighborhoods.n_kept`, is 2 on a curve and about 4 on a surface.

    References
    ----------
    S. Shekkizhar, PhD thesis, University of Southern California, 2023, eq. 4.8 and section 2.6.3;
    K. Fukunaga, D. Olsen, "An algorithm for finding intrinsic dimensionality of data", IEEE
    Transactions on Computers C-20, 1971 (the threshold).

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> from nnk_image.learning import intrinsic_dimension
    >>> line = np.arange(7.0).reshape(-1, 1) * [1, 2, 3]
    >>> near = nnk_neighbors(line, n_neighbors=4)
    >>> near.n_kept
    array([1, 2, 2, 2, 2, 2, 1], dtype=int32)
    >>> intrinsic_dimension(line, near)
    array([1, 1, 1, 1, 1, 1, 1])
    """
    if check_number("threshold", threshold, least=0.0) >= 1:
        raise ValueError(
            f"threshold={threshold} must be below 1: a share of the largest eigenvalue"
        )
    matrix = check_weights(neighborhoods, square=True)
    if matrix.nnz and matrix.data.min() < 0:
        raise ValueError(f"weights of neighbors must be positive, got {matrix.data.min():g}")
    points = check_points("X", X, matrix)
    result = np.zeros(len(points), np.int64)
    weights = np.split(np.sqrt(matrix.data), matrix.indptr[1:-1])
    for i, (near, weight) in enumerate(zip(_rows(matrix), weights, strict=True)):
        if len(near):
            offsets = (points[near] - points[i]) * (weight / weight.max())[:, None]
            values = np.linalg.svd(offsets, compute_uv=False) ** 2
            result[i] = np.count_nonzero(values > threshold * values[0])
    return result


def _affinities(points: Array, matrix: csr_array, norm: str) -> Array:
    """Return the alignment of the neighborhoods of each point and of each of its neighbors."""
    none = np.zeros((points.shape[1], 0))
    bases = [orth(points[near].T, _RANK) if len(near) else none for near in _rows(matrix)]
    rank = np.array([basis.shape[1] for basis in bases])
    rows, columns = np.repeat(np.arange(len(rank)), np.diff(matrix.indptr)), matrix.indices
    size = np.diff(matrix.indptr) if norm == "product" else rank
    combine = np.multiply if norm == "product" else np.minimum
    divisor = np.maximum(combine(size[rows], size[columns]), 1)
    found = [np.linalg.norm(bases[i].T @ bases[j]) for i, j in zip(rows, columns, strict=True)]
    return (found / np.sqrt(divisor)).clip(max=1)


def _dimension_vector(matrix: csr_array) -> Array:
    """Return the mean over the rows of their weights, largest first, and a 0."""
    count = np.diff(matrix.indptr)
    row = np.repeat(np.arange(matrix.shape[0]), count)
    order = np.lexsort([-matrix.data, row])
    place = np.arange(matrix.nnz) - matrix.indptr[:-1][row]
    total = np.bincount(place, matrix.data[order], minlength=count.max() + 1)
    return total / matrix.shape[0]


def _rows(matrix: csr_array) -> list[Array]:
    """Return the columns of the entries of a CSR matrix, as one array per row."""
    return np.split(matrix.indices, matrix.indptr[1:-1])
