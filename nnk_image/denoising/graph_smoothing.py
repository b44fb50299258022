"""A last light smoothing of a denoised image on its NNK graph."""

import numpy as np

from nnk_image.base.image import check_image
from nnk_image.base.reach import Reach
from nnk_image.graph.build import build_graph
from nnk_image.graph.pruning import EDGE_SWEEPS, GraphSpec
from nnk_image.spectral.chebyshev import GridRecurrence
from nnk_image.wavelets import filter_bank

WINDOW, SIGMA_D, SIGMA_F = 3, 2.0, 0.3  # of the graph, in pixels, and in units of the noise
ORDER = 4  # of the polynomial
_BOUND = 2.0  # on the eigenvalues of the regularized Laplacian, of any graph

_COEFFICIENTS = filter_bank.chebyshev_coefficients(
    lambda x: 1 / (1 + x[None]), ORDER, _BOUND, "projection"
)
_COEFFICIENTS /= np.polynomial.chebyshev.chebval(-1.0, _COEFFICIENTS[0])  # keeps constant images

# Of `polish`: how many times it processes all rows of an image, and the overlap that it needs.
SWEEPS = EDGE_SWEEPS + GridRecurrence.SETUP_SWEEPS + GridRecurrence.sweeps(ORDER)
REACH = Reach.of_polynomial(ORDER, (WINDOW, WINDOW))


def polish(channel, executor):
    """Smooth a channel (1, H, W) on its own NNK graph, which removes the last specks of noise.

    The channel is in units of the noise that was removed. The result is ``(I + L)^-1 f`` as a
    polynomial of L, the regularized Laplacian ``(D + I)^-1 (D - W)`` of the NNK graph of f.
    The I is the weight of the pixel itself; so pixels unlike all neighbors do not change.
    """
    pixels = channel[0].astype(np.float32)  # precise enough, as the change is small
    graph = build_graph(GraphSpec(check_image(pixels), WINDOW, SIGMA_D, SIGMA_F), executor)
    recurrence = GridRecurrence.of_graph(graph, pixels.dtype, executor, keep=False)
    divisor = recurrence.degrees + np.float32(1)
    recurrence.set_laplacian(recurrence.degrees / divisor, 1 / divisor)
    smoothed = recurrence.analyze(pixels, _COEFFICIENTS, _BOUND, executor)[0]
    return channel + (smoothed - pixels)
