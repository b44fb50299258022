"""Locally linear embedding with given weights."""

import numpy as np
from scipy.linalg import eigh, null_space
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from nnk_image.base.checks import check_count, warn
from nnk_image.base.image import Array
from nnk_image.graph.laplacian import degrees
from nnk_image.learning.geometry import Weights, check_weights
from nnk_image.learning.harmonic import factorized
from nnk_image.spectral.block_gft import with_fixed_signs

_DENSE = 600  # up to this number of points a dense solver is fastest
_SHIFT = 1e-9  # of the largest diagonal entry; is added to the diagonal to make it invertible


def lle_embedding(weights: Weights, n_components: int = 2) -> Array:
    """Embed points in a few dimensions by locally linear embedding (LLE) with given weights.

    The weights express each point as a sum of its neighbors; the coordinates fit these sums best.

    Parameters
    ----------
    weights : Neighborhoods, or (N, N) scipy.sparse matrix
        Weights of the neighbors of each point, such as ``nnk_neighbors(X, kernel="lle")`` or
        ``nnk_neighbors(X, method="lnp")``. Row i of a matrix holds those of point i. Rows are
        scaled to sum to 1; a row that sums to 0, such as that of a point without neighbors, raises
        ValueError.
    n_components : int
        Number of coordinates, from 1 to N - 1; default 2.

    Returns
    -------
    coordinates : (N, n_components) float64 ndarray
        Orthonormal columns by rising eigenvalue; in each, the first of the entries of
        largest size is positive.

    Warns
    -----
    UserWarning
        If the points form several components, which the first coordinates then only separate.

    Notes
    -----
    The coordinates are the eigenvectors of the smallest eigenvalues of ``(I - W)' (I - W)``, the
    constant vector left out. `sklearn.manifold.LocallyLinearEmbedding` computes its own weights.

    References
    ----------
    S. Roweis, L. Saul, "Nonlinear dimensionality reduction by locally linear embedding",
    Science 290, 2000; D. Chen, J. Lv, Z. Yi, "A local non-negative pursuit method for
    intrinsic manifold structure preservation", AAAI 2014, eq. 2.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image import nnk_neighbors
    >>> from nnk_image.learning import lle_embedding
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle), np.ones(40)])
    >>> coordinates = lle_embedding(nnk_neighbors(ring, n_neighbors=6, kernel="lle"))
    >>> radius = np.linalg.norm(coordinates, axis=1)
    >>> bool(np.allclose(radius, radius[0]))
    True
    """
    matrix = check_weights(weights)
    n = matrix.shape[0]
    total = degrees(matrix)
    if (bad := np.abs(total) <= 1e-12 * np.abs(matrix).sum(axis=1)).any():
        raise ValueError(
            f"{int(bad.sum())} of {n} rows of weights sum to 0, the first is row "
            f"{int(np.argmax(bad))}; leave these points out, or use more candidates"
        )
    check_count("n_components", n_components, 1, n - 1)
    parts = connected_components(matrix, directed=False)[0]
    if parts > 1:
        warn(
            f"the neighborhoods fall into {parts} parts, so the first {parts - 1} coordinates only "
            "distinguish the parts; use more candidates, or embed each part by itself"
        )
    residual = eye_array(n, format="csr") - diags_array(1 / total) @ matrix
    return with_fixed_signs(_smallest(csr_array(residual.T @ residual), n_components))


def _smallest(matrix: csr_array, k: int) -> Array:
    """Return the eigenvectors of the k smallest eigenvalues, apart from the constant vector."""
    n = matrix.shape[0]
    if n <= _DENSE or k > n // 4:
        vectors = eigh(matrix.toarray(), subset_by_index=[0, k])[1]
    else:
        shift = _SHIFT * matrix.diagonal().max()
        factors = factorized(matrix + shift * eye_array(n))
        inverse = LinearOperator(matrix.shape, factors.solve, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(n)
        vectors = eigsh(matrix, k + 1, sigma=-shift, OPinv=inverse, v0=start, ncv=2 * k + 20)[1]
    # The constant vector lies in the span of these: keep what is orthogonal to it.
    constant = np.full(n, n**-0.5)
    basis = np.linalg.qr(vectors @ null_space((constant @ vectors)[None])[:, :k])[0]
    return basis @ np.linalg.eigh(basis.T @ (matrix @ basis))[1]
