"""Geometry of data from its neighborhoods: dimension, curvature, distances, NaLaC."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import orth
from scipy.sparse import csr_array, issparse, sparray, spmatrix
from scipy.spatial.distance import pdist

from nnk_image.base.checks import check_choice, check_number
from nnk_image.base.image import Array
from nnk_image.neighbors.features import check_features, check_finite, check_not_tiny
from nnk_image.neighbors.kernels import unit_rows
from nnk_image.neighbors.neighborhoods import nnk_neighbors
from nnk_image.neighbors.options import check_params
from nnk_image.neighbors.result import Neighborhoods

_RANK = 1e-10  # singular values that are smaller, relative to the largest, count as 0

Weights: TypeAlias = Neighborhoods | sparray | spmatrix


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
    The affinity is ``sqrt(sum_k cos(a_k)^2 / m)`` with the principal angles a_k between the two
    spaces, where m is the smaller dimension of the two ('min_rank'), or the product of the numbers
    of neighbors ('product'). Dimension, diameter and affinity are equations 4.8, 4.6 and 4.7 of the
    thesis; the dimension vector is equation 8 of Chen et al.

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
    matrix = check_weights(neighborhoods)
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
    matrix = check_weights(neighborhoods)
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
    rows, columns = matrix.tocoo().coords
    if norm == "product":
        size = np.diff(matrix.indptr)
        divisor = size[rows] * size[columns]
    else:
        divisor = np.minimum(rank[rows], rank[columns])
    found = [np.linalg.norm(bases[i].T @ bases[j]) for i, j in zip(rows, columns, strict=True)]
    return (found / np.sqrt(np.maximum(divisor, 1))).clip(max=1)


def _dimension_vector(matrix: csr_array) -> Array:
    """Return the mean over the rows of their weights, largest first, and a 0."""
    count = np.diff(matrix.indptr)
    row = matrix.tocoo().row
    order = np.lexsort([-matrix.data, row])
    place = np.arange(matrix.nnz) - matrix.indptr[row]
    total = np.bincount(place, matrix.data[order], minlength=count.max() + 1)
    return total / matrix.shape[0]


def _rows(matrix: csr_array) -> list[Array]:
    """Return the columns of the entries of a CSR matrix, as one array per row."""
    return np.split(matrix.indices, matrix.indptr[1:-1])


def nnk_distance(
    A: npt.ArrayLike, B: npt.ArrayLike, n_neighbors: int = 30, **options: Any
) -> float:
    """Measure the distance from one data set to another (NNK distance).

    It is the mean squared error of reconstructing each point of A from its NNK neighbors in B.

    Parameters
    ----------
    A, B : (n, d) and (N, d) array_like or sparse matrix
        Points that are reconstructed, and points that they are reconstructed from. For
        ``kernel='precomputed'``: the (n, N) kernel of A with B, and the (N, N) kernel of B.
    n_neighbors, **options
        As for `nnk_neighbors`, with the same defaults; candidates are points of B. The default
        width depends on B: give `sigma` as a number to compare distances to different sets.
        ``kernel='precomputed'`` needs ``kernel_params={'diagonal': ...}``, the kernel of each point
        of A with itself.

    Returns
    -------
    float
        Mean squared error in the feature space of the kernel (for 'lle', of the points). For a
        Gaussian kernel it is from 0, if all points of A are in B, to 1.

    Notes
    -----
    It is not symmetric, and the triangle inequality does not hold, contrary to Proposition 3.4 of
    the thesis. The printed definition lacks a factor 2 in its middle term.

    References
    ----------
    S. Shekkizhar, PhD thesis, University of Southern California, 2023, Definition 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image.learning import nnk_distance
    >>> B = np.arange(10.0).reshape(-1, 1)
    >>> nnk_distance(B[2:5], B, n_neighbors=4, sigma=1.0)
    0.0
    >>> round(nnk_distance([[20.0]], B, n_neighbors=4, sigma=1.0), 3)
    1.0
    """
    if "queries" in options:
        raise TypeError("queries is no option of nnk_distance: the queries are A, the points B")
    A, B = check_features("A", A), check_features("B", B)
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"A has {A.shape[1]} features, B has {B.shape[1]}")
    params = check_params("kernel_params", options.get("kernel_params"))
    if options.get("kernel") == "precomputed" and params.get("diagonal") is None:
        raise ValueError(
            "kernel='precomputed' needs the kernel of each point of A with itself, which the "
            "distance depends on: give kernel_params={'diagonal': ...}, a number or (n,)"
        )
    near = nnk_neighbors(B, n_neighbors, queries=A, **options)
    return float(2 * near.error.mean())


def nalac(
    X: npt.ArrayLike,
    Y: npt.ArrayLike,
    neighbors_X: Weights,
    neighbors_Y: Weights,
    *,
    soft: bool = False,
) -> float:
    """Measure how well an embedding preserves the neighbors of each point (NaLaC).

    Parameters
    ----------
    X, Y : (N, d) and (N, e) array_like or sparse matrix
        Points, and the same points in the embedding, which sort the neighbors; not with `soft`.
    neighbors_X, neighbors_Y : Neighborhoods, or (N, N) scipy.sparse matrix
        Neighbors of both, of point i in row i of a matrix; weights are ignored.
    soft : bool
        True compares sets of neighbors, False (default) lists sorted by distance, then index.

    Returns
    -------
    float
        Mean over all points, from 0 to 1 (all keep their neighbors), of the fraction of ranks at
        which both lists have the same neighbor, up to the length of the shorter list; with `soft`,
        of the number of common neighbors divided by the size of the larger set. Two empty lists
        count as 1, a single one as 0.

    References
    ----------
    D. Chen, J. Lv, Z. Yi, "A local non-negative pursuit method for intrinsic manifold
    structure preservation", AAAI 2014, eq. 10 and 11.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> from nnk_image.learning import nalac
    >>> X = np.random.default_rng(0).random((50, 2))
    >>> near = nnk_neighbors(X, n_neighbors=5)
    >>> nalac(X, X, near, near), nalac(X, -X, near, near, soft=True)
    (1.0, 1.0)
    """
    first, second = (check_weights(matrix) for matrix in (neighbors_X, neighbors_Y))
    if first.shape != second.shape:
        raise ValueError(
            "both neighborhoods must be of the same points, got those of "
            f"{first.shape[0]} and of {second.shape[0]} points"
        )
    lists = [
        _nearest_first(check_points(name, points, matrix), matrix)
        for name, points, matrix in (("X", X, first), ("Y", Y, second))
    ]
    return float(np.mean([_share(a, b, soft) for a, b in zip(*lists, strict=True)]))


def _share(a: Array, b: Array, soft: bool) -> float:
    """Return the share of places at which two lists agree; with `soft`, that of common entries."""
    if soft:
        size, same = max(len(a), len(b)), np.intersect1d(a, b, assume_unique=True).size
    else:
        size = min(len(a), len(b))
        same = int((a[:size] == b[:size]).sum())
    return same / size if size else float(len(a) == len(b))


def _nearest_first(points: Array, matrix: csr_array) -> list[Array]:
    """Return the neighbors of each row by rising distance, equally near ones by index."""
    row = matrix.tocoo().row
    distance = np.linalg.norm(points[row] - points[matrix.indices], axis=1)
    order = np.lexsort([matrix.indices, distance, row])
    return np.split(matrix.indices[order], matrix.indptr[1:-1])


def check_weights(weights: Weights) -> csr_array:
    """Return a copy of the weights of each point's neighbors as canonical float64 CSR."""
    if isinstance(weights, Neighborhoods):
        weights = weights.to_csr()
    if not issparse(weights):
        raise TypeError(
            "neighborhoods must be a result of nnk_neighbors, or a scipy.sparse matrix with a row "
            f"of weights per query, not {type(weights).__name__}"
        )
    if weights.ndim != 2 or 0 in weights.shape:
        raise ValueError(f"weights of shape {weights.shape} are empty, or not a matrix")
    matrix = csr_array(weights, copy=True)
    matrix.data = check_finite("the neighborhoods' weights", matrix.data)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            "neighborhoods of the points themselves are needed, a square matrix; these are of "
            f"{matrix.shape[0]} queries among {matrix.shape[1]} points"
        )
    return matrix


def check_points(name: str, points: npt.ArrayLike, matrix: csr_array) -> Array:
    """Return points as float64, if there is one for each column of a matrix of weights."""
    array: Array = check_features(name, points).astype(np.float64, copy=False)
    if len(array) != matrix.shape[1]:
        raise ValueError(
            f"{name} holds {len(array)} points, but the neighborhoods are of {matrix.shape[1]}"
        )
    check_not_tiny(name, array)
    return array
