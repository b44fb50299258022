"""The kernel ratio interval: which of two candidates hides the other from a query."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nnk_image.neighbors.weights import check_problem


def kernel_ratio_test(K: ArrayLike, b: ArrayLike) -> NDArray[np.bool_]:
    """Test which candidates of a query make other candidates redundant (hide them).

    Candidate i is hidden behind j if non-negative kernel regression on these two alone gives i the
    weight 0: i is so similar to j that it adds nothing. Use the test to see why a point is not a
    neighbor of a query.

    Parameters
    ----------
    K : (..., k, k) array_like
        Kernel between the k candidates: symmetric and positive semi-definite (not checked).
        Leading axes are for many independent queries.
    b : (..., k) array_like
        Kernel between the query and its candidates, with the same leading axes.

    Returns
    -------
    hidden : (..., k, k) bool ndarray
        ``hidden[..., i, j]`` is True if candidate i is hidden behind candidate j. Equal candidates
        hide each other; none hides itself.

    Raises
    ------
    TypeError, ValueError
        If shapes do not match, numbers are not finite or K is not symmetric.

    Notes
    -----
    For i and j alone, i has a positive weight exactly if ``K_ij / K_jj < K_qi / K_qj`` for a query
    q. Both have one if the ratio ``K_qi / K_qj`` lies between ``K_ij / K_jj`` and ``K_ii / K_ij``,
    the kernel ratio interval. The test is computed without divisions, which makes it exact for
    every kernel: similarities may be negative, and those of points with themselves may differ from
    1.

    The test is about two candidates: one that is hidden behind another can have a positive weight
    when there is a third. `nnk_weights` solves the whole problem.

    References
    ----------
    S. Shekkizhar, PhD thesis, University of Southern California, 2023, Theorem 2.3.

    Examples
    --------
    With the linear kernel (products of vectors) the longer of two vectors of similar direction
    hides the other: here candidate 1 hides candidate 0.

    >>> import numpy as np
    >>> from nnk_image.neighbors import kernel_ratio_test
    >>> candidates = np.array([[1.0, 0.2], [4.0, 1.0], [0.0, 2.0]])
    >>> query = np.array([2.0, 1.0])
    >>> kernel_ratio_test(candidates @ candidates.T, candidates @ query)
    array([[False,  True, False],
           [False, False, False],
           [False, False, False]])
    """
    K, b = check_problem(K, b)
    own = np.diagonal(K, axis1=-2, axis2=-1)[..., None, :]
    similarity, other = b[..., :, None], b[..., None, :]
    behind = similarity * own <= K * np.maximum(other, 0)
    hidden = np.where(own > 0, behind, similarity <= 0)  # what is 0 hides nothing
    n = b.shape[-1]
    hidden[..., np.arange(n), np.arange(n)] = False
    return hidden
