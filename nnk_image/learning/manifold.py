"""The geometry of data seen in its neighbourhoods: dimension, extent and curvature."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist

from nnk_image.base.checks import check_choice, check_number
from nnk_image.learning.inputs import check_points, check_weights
from nnk_image.neighbors.candidates import unit_rows

_RANK = 1e-10  # singular values below this part of the largest one count as 0


@dataclass(frozen=True, eq=False)
class ManifoldMetrics:
    """Result of `manifold_metrics`.

    Attributes
    ----------
    dimension : (n,) int ndarray
        Number of neighbours of each query.
    diameter : (n,) float64 ndarray
        Diameter of each polytope.
    affinity : (nnz,) float64 ndarray
        Alignment of the polytopes of each query and each of its neighbours, row by row.
    """

    dimension: np.ndarray
    diameter: np.ndarray
    affinity: np.ndarray

    @property
    def mean(self):
        """Mean of each metric, by name; 0 for one that has no values."""
        return self._summary(np.mean)

    @property
    def spread(self):
        """Standard deviation of each metric, by name."""
        return self._summary(np.std)

    def _summary(self, function):
        metrics = {name: getattr(self, name) for name in ("dimension", "diameter", "affinity")}
        return {name: float(function(v)) if v.size else 0.0 for name, v in metrics.items()}

    def __str__(self):
        mean, spread = self.mean, self.spread
        return ", ".join(f"{name} {mean[name]:.3g} +- {spread[name]:.2g}" for name in mean)


def manifold_metrics(X, neighborhoods, *, normalize=True, norm="min_rank"):
    """Manifold graph metrics: intrinsic dimension, invariance and curvature of data.

    Parameters
    ----------
    X : (N, d) array_like
    neighborhoods : Neighborhoods, or (N, N) scipy.sparse matrix
        Neighbours of the points themselves.
    normalize, norm
        As for `polytope_diameter` and `polytope_affinity`.

    Returns
    -------
    ManifoldMetrics
        Of each point, with their mean and spread.

    Raises
    ------
    TypeError, ValueError
        Points and neighbourhoods that do not fit.

    References
    ----------
    S. Shekkizhar, "Neighborhood and graph constructions using non-negative kernel
    regression", PhD thesis, 2023, section 4.2 and Algorithm 7.

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
    return ManifoldMetrics(
        intrinsic_dimension(neighborhoods),
        polytope_diameter(X, neighborhoods, normalize=normalize),
        polytope_affinity(X, neighborhoods, norm=norm),
    )


def intrinsic_dimension(neighborhoods):
    """Local dimension of data: the number of neighbours that NNK keeps.

    Parameters
    ----------
    neighborhoods : Neighborhoods, or (n, N) scipy.sparse matrix

    Returns
    -------
    (n,) int ndarray

    Raises
    ------
    TypeError, ValueError
        Not neighbourhoods.

    References
    ----------
    S. Shekkizhar, PhD thesis, 2023, eq. 4.8.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> from nnk_image.learning import intrinsic_dimension
    >>> line = np.arange(7.0).reshape(-1, 1) * [1, 2, 3]
    >>> intrinsic_dimension(nnk_neighbors(line, n_neighbors=4))
    array([1, 2, 2, 2, 2, 2, 1])
    """
    return np.diff(check_weights(neighborhoods).indptr).astype(np.int64)


def pca_dimension(X, neighborhoods, *, threshold=0.05):
    """Local dimension of data: how many directions the neighbours of a point spread in.

    The number of large eigenvalues of ``sum_j theta_j (x_j - x_i)(x_j - x_i)'`` over the
    neighbours j of point i: the tangent plane at the point, as its weights see it. Unlike
    the number of neighbours it is 1 on a curve and 2 on a surface. Neighbourhoods must be
    wider than the noise and narrower than the radius of curvature; `nnk_scales` tries all
    widths.

    Parameters
    ----------
    X : (N, d) array_like
        Points.
    neighborhoods : Neighborhoods, or (N, N) scipy.sparse matrix
        Neighbours of the points themselves, with positive weights.
    threshold : float
        Eigenvalues count that are larger than this part of the largest one.

    Returns
    -------
    (N,) int64 ndarray
        0 for a point without neighbours, or with none but equal ones.

    Raises
    ------
    TypeError, ValueError
        Points and neighbourhoods that do not fit.

    References
    ----------
    K. Fukunaga, D. Olsen, "An algorithm for finding intrinsic dimensionality of data", IEEE
    Transactions on Computers C-20, 1971 (the threshold); S. Shekkizhar, PhD thesis, 2023,
    section 2.6.3.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> from nnk_image.learning import pca_dimension
    >>> line = np.arange(7.0).reshape(-1, 1) * [1, 2, 3]
    >>> pca_dimension(line, nnk_neighbors(line, n_neighbors=4))
    array([1, 1, 1, 1, 1, 1, 1])
    """
    threshold = check_number("threshold", threshold)
    matrix = check_weights(neighborhoods, square=True)
    if matrix.nnz and matrix.data.min() < 0:
        raise ValueError(f"a weight is {matrix.data.min():g}; those of neighbours are positive")
    points = check_points("X", X, matrix)
    result = np.zeros(len(points), np.int64)
    weights = np.split(np.sqrt(matrix.data), matrix.indptr[1:-1])
    for i, (near, weight) in enumerate(zip(_rows(matrix), weights, strict=True)):
        if len(near):
            offsets = (points[near] - points[i]) * (weight / weight.max())[:, None]
            values = np.linalg.svd(offsets, compute_uv=False) ** 2
            result[i] = np.count_nonzero(values > threshold * values[0])
    return result


def polytope_diameter(X, neighborhoods, *, normalize=True):
    """Largest distance between two neighbours of each query: low where data is contracted.

    Parameters
    ----------
    X : (N, d) array_like
        The points neighbours are chosen from.
    neighborhoods : Neighborhoods, or (n, N) scipy.sparse matrix
    normalize : bool
        Scale points to length 1 first, so that diameters are in 0 to 2; zeros stay.

    Returns
    -------
    (n,) float64 ndarray
        0 for fewer than two neighbours.

    Raises
    ------
    TypeError, ValueError
        Points and neighbourhoods that do not fit.

    References
    ----------
    S. Shekkizhar, PhD thesis, 2023, eq. 4.6.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> from nnk_image.learning import polytope_diameter
    >>> line = np.arange(5.0).reshape(-1, 1)
    >>> polytope_diameter(line, nnk_neighbors(line, n_neighbors=4), normalize=False)
    array([0., 2., 2., 2., 0.])
    """
    matrix = check_weights(neighborhoods)
    points = check_points("X", X, matrix)
    if normalize:
        points = unit_rows(points)
    return np.array([pdist(points[near]).max(initial=0.0) for near in _rows(matrix)])


def polytope_affinity(X, neighborhoods, *, norm="min_rank"):
    """How well the polytopes of neighbouring points are aligned: low where data is curved.

    Compared are the spaces spanned by the neighbours (as vectors from the origin) of a
    point and of each of its neighbours.

    Parameters
    ----------
    X : (N, d) array_like
    neighborhoods : Neighborhoods, or (N, N) scipy.sparse matrix
        Neighbours of the points themselves.
    norm : {'min_rank', 'product'}
        Divisor of the sum of the squared cosines of the principal angles, under the root:
        the smaller of the two dimensions, so that 1 means that one space holds the other;
        or, as printed, the product of the numbers of neighbours, which never gives 1
        unless both are 1.

    Returns
    -------
    (nnz,) float64 ndarray
        In 0 to 1, for each pair of a point and its neighbour, row by row; 0 where either
        spans nothing.

    Raises
    ------
    TypeError, ValueError
        Points and neighbourhoods that do not fit.

    References
    ----------
    S. Shekkizhar, PhD thesis, 2023, eq. 4.7.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> from nnk_image.learning import polytope_affinity
    >>> angle = np.linspace(0, 1, 9)
    >>> arc = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(9)])
    >>> near = nnk_neighbors(arc, n_neighbors=4)
    >>> bool(np.allclose(polytope_affinity(arc, near), 1))
    True
    """
    check_choice("norm", norm, ("min_rank", "product"))
    matrix = check_weights(neighborhoods, square=True)
    points = check_points("X", X, matrix)
    bases = [_basis(points[near]) for near in _rows(matrix)]
    rank = np.array([basis.shape[1] for basis in bases])
    size = np.diff(matrix.indptr) if norm == "product" else rank
    result = np.zeros(matrix.nnz)
    for i, near in enumerate(_rows(matrix)):
        if rank[i] == 0 or not rank[near].any():
            continue
        cosines = (bases[i].T @ np.hstack([bases[j] for j in near])) ** 2
        start = np.cumsum(rank[near]) - rank[near]
        total = np.add.reduceat(np.append(cosines.sum(axis=0), 0), start)
        divisor = np.minimum(size[i], size[near]) if norm == "min_rank" else size[i] * size[near]
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        result[part] = np.where(rank[near] > 0, np.sqrt(total / np.maximum(divisor, 1)), 0)
    return np.minimum(result, 1)


def dimension_vector(weights, return_dimension=False):
    """Dimension estimation vector of data from weights that add up to 1.

    The mean over points of their weights, largest first.  On a curve that is sampled
    evenly it is close to (1/2, 1/2, 0): the largest drop comes after d + 1 weights.

    Parameters
    ----------
    weights : Neighborhoods, or (n, N) scipy.sparse matrix
        Such as those of ``method='lnp'``.
    return_dimension : bool
        Also return the dimension.

    Returns
    -------
    dev : (m + 1,) float64 ndarray
        m is the largest number of neighbours; the last is 0.
    dimension : int
        If `return_dimension`: place of the largest drop, less 1. Reliable on evenly sampled
        curves only.

    Raises
    ------
    TypeError, ValueError
        Not neighbourhoods.

    References
    ----------
    D. Chen, J. Lv, Z. Yi, "A local non-negative pursuit method for intrinsic manifold
    structure preservation", AAAI 2014, eq. 8 and 9.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> from nnk_image.learning import dimension_vector
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> near = nnk_neighbors(ring, n_neighbors=6, kernel="lle")
    >>> dev, dimension = dimension_vector(near, return_dimension=True)
    >>> dimension
    1
    """
    matrix = check_weights(weights)
    count = np.diff(matrix.indptr)
    dev = np.zeros(count.max() + 1)
    row = np.repeat(np.arange(matrix.shape[0]), count)
    order = np.lexsort([-matrix.data, row])
    place = np.arange(matrix.nnz) - matrix.indptr[:-1][row]
    np.add.at(dev, place, matrix.data[order])
    dev /= matrix.shape[0]
    if not return_dimension:
        return dev
    if len(dev) == 1:
        raise ValueError("no point has a neighbour: there is no dimension to estimate")
    return dev, int(np.argmax(dev[:-1] - dev[1:]))


def _rows(matrix):
    """Columns of the entries of a CSR matrix, as one array per row."""
    return np.split(matrix.indices, matrix.indptr[1:-1])


def _basis(vectors):
    """Orthonormal columns that span the rows of `vectors`."""
    if not vectors.any():
        return np.zeros((vectors.shape[1], 0))
    _, values, basis = np.linalg.svd(vectors, full_matrices=False)
    return basis[values > _RANK * values[0]].T
