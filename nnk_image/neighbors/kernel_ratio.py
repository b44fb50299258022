"""The kernel ratio interval: which of two candidates hides the other from a query."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nnk_image.neighbors.weights import check_problem


def kernel_ratio_test(K: ArrayLike, b: ArrayLike) -> NDArray[np.bool_]:
    """Test which candidates are hidden behind which, seen from the query.

    Of two candidates alone, i and j, non-negative kernel regression gives i a weight exactly if
    ``K_ij / K_jj < K_qi / K_qj``; otherwise i is hidden behind j. Both are neighbors if the ratio
    ``K_qi / K_qj`` lies in the kernel ratio interval, from ``K_ij / K_jj`` to ``K_ii / K_ij``.
    The test is computed without quotients, which makes it exact for every kernel: similarities
    may be negative, and those of points with themselves may differ from 1.

    Parameters
    ----------
    K : (..., k, k) array_like
        Kernel between the candidates, symmetric and positive semi-definite.
    b : (..., k) array_like
        Kernel between the query and its candidates.

    Returns
    -------
    hidden : (..., k, k) bool ndarray
        ``hidden[i, j]``: candidate i has weight 0 if j is the only other one. Equal candidates
        hide each other; none hides itself.

    Raises
    ------
    TypeError, ValueError
        Shapes that do not fit, numbers that are not finite, K not symmetric.

    Notes
    -----
    The test is about two candidates: one that is hidden behind another can have a positive weight
    when there is a third. `nnk_weights` solves the whole problem.

    References
    ----------
    S. Shekkizhar, "Neighborhood and graph constructions using non-negative kernel
    regression", PhD thesis, 2023, Theorem 2.3.

    Examples
    --------
    For the linear kernel candidates are vectors, and the longer of two alike hides the
    other:

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
