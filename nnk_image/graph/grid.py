"""Graph of the pixel grid: links depend on the positions of pixels only, not on their values."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from nnk_image.graph.build import bilateral_graph


def grid_graph(
    shape: Sequence[int], window: int | Sequence[int] = 3, *, mask: npt.ArrayLike | None = None
) -> csr_array:
    """Build a graph that links every pixel to all others of its window, with weight 1.

    Use it for interpolation if no pixel values are known yet, or as the candidates of `nnk_graph`
    to compare pixels by other features: ``nnk_graph(features, neighbors=grid_graph(shape, 11))``.

    Parameters
    ----------
    shape : tuple of int
        (H, W) of an image, without its channels; 2 to 4 axes.
    window : int, or tuple or list of int
        Side of the window in pixels, as for `image_graph`; 3 (default) gives 8 neighbors in 2-D.
    mask : bool array_like of that shape, optional
        True for valid pixels; the others have no links. Default: all are valid.

    Returns
    -------
    (N, N) scipy.sparse.csr_array
        Symmetric matrix of float32 ones; the pixel at (row, column) is node ``row * W + column``.

    Examples
    --------
    >>> from nnk_image.graph import grid_graph
    >>> grid_graph((2, 2)).toarray()
    array([[0., 1., 1., 1.],
           [1., 0., 1., 1.],
           [1., 1., 0., 1.],
           [1., 1., 1., 0.]], dtype=float32)
    """
    try:
        sides = tuple(operator.index(n) for n in shape)
    except TypeError:
        raise TypeError(
            f"shape must be a tuple of integers, such as (H, W), not {shape!r}"
        ) from None
    if not 2 <= len(sides) <= 4 or min(sides) < 1:
        raise ValueError(f"shape={shape!r} must hold 2 to 4 sides, each at least 1 pixel")
    # The kernel is so wide that no weight underflows; an edge whose weight does is left out.
    options: dict[str, Any] = {"sigma_d": 100.0, "sigma_f": 1.0, "mask": mask, "spacing": 1.0}
    blank = np.broadcast_to(np.float32(0), sides)  # takes no memory: that is checked by the call
    graph = bilateral_graph(blank, window, **options).adjacency
    return csr_array((np.ones_like(graph.data), graph.indices, graph.indptr), shape=graph.shape)
