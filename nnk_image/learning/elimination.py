"""Elimination for the sparse symmetric systems of graphs."""

from scipy.sparse.linalg import splu


def factorized(matrix):
    """Factors, with a method ``solve``, of a symmetric matrix that needs no pivoting.

    The rows and columns are ordered by minimum degree, which keeps the factors of a graph's
    matrix sparse.  A singular matrix may raise RuntimeError.
    """
    return splu(
        matrix.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
