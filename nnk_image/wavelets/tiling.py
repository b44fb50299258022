"""How large a border a tile of an image needs for exact results inside."""

import numpy as np

from nnk_image.base.checks import check_count
from nnk_image.graph.laplacian import check_kind
from nnk_image.graph.window import check_window
from nnk_image.wavelets.transform import MAX_ORDER


def halo(order, window, laplacian="combinatorial"):
    """Border, in pixels, that makes a tile's wavelet transform equal the whole image's.

    A polynomial of degree m reaches m windows far; the weights there depend on one window
    more, and the symmetric normalised Laplacian on the degrees at the far end, another one.
    Cut out a tile with that border on each side (less at the image's own edges), build its
    graph, transform, and drop the border: what remains equals the transform of the whole
    image up to rounding.

    Numbers that belong to the whole image have to be given to every tile: `sigma_f`, `bound`
    (and `lmax`, if it is not the default), and for the regularised Laplacian `tau`.

    Parameters
    ----------
    order : int
        Degree of the polynomials.
    window : int or sequence of int
        Side of the graph's window, or one per axis, as for `image_graph`.
    laplacian : {'combinatorial', 'normalized', 'random_walk', 'regularized'}
        As in `SpectralGraphWavelets`.

    Returns
    -------
    int, or tuple of int for a window of one side per axis
        ``(order + 1) r`` with r = window // 2; ``(order + 2) r`` for 'normalized'.

    Raises
    ------
    TypeError, ValueError
        Bad order, window or Laplacian.

    Examples
    --------
    >>> import nnk_image
    >>> nnk_image.halo(order=30, window=5)
    62
    >>> nnk_image.halo(order=30, window=(3, 5, 5))
    (31, 62, 62)
    """
    order = check_count("order", order, 0, MAX_ORDER)
    reach = order + 2 if check_kind(laplacian) == "normalized" else order + 1
    sides = check_window(window, len(window) if np.iterable(window) else 2)
    if isinstance(sides, tuple):
        return tuple(reach * (side // 2) for side in sides)
    return reach * (sides // 2)
