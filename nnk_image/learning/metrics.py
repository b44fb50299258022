"""How far apart data sets are, and how alike neighborhoods before and after an embedding."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from nnk_image.base.image import Array
from nnk_image.learning.inputs import Weights, check_points, check_weights
from nnk_image.neighbors.features import check_features
from nnk_image.neighbors.neighborhoods import nnk_neighbors
from nnk_image.neighbors.options import check_params


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
    first, second = (check_weights(matrix, square=True) for matrix in (neighbors_X, neighbors_Y))
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
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    distance = np.linalg.norm(points[row] - points[matrix.indices], axis=1)
    order = np.lexsort([matrix.indices, distance, row])
    return np.split(matrix.indices[order], matrix.indptr[1:-1])
