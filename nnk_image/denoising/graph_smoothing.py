"""A last light smoothing of a denoised image on its NNK graph."""

from functools import cache

import numpy as np

from nnk_image.base.image import Image
from nnk_image.base.reach import Reach, cut
from nnk_image.graph.build import build_graph
from nnk_image.graph.pruning import DEFAULT_WINDOW, GraphSpec
from nnk_image.spectral.chebyshev import GridRecurrence
from nnk_image.spectral.operator import LaplacianOperator, WeightsOutOfRange
from nnk_image.wavelets import filter_bank

SIGMA_D, SIGMA_F = 2.0, 0.3  # widths of the graph's kernel: in pixels, and in units of the noise
STRENGTH, ORDER = 0.6, 4  # the g of `polish`, and the order of its polynomial
_PIXELS_OF_STRIP, _LEAST_ROWS = 1 << 18, 128  # strips of rows, so that their graphs stay small

SWEEPS = LaplacianOperator.SETUP_SWEEPS + GridRecurrence.sweeps(ORDER)
"""How many times `polish` processes all rows of an image."""


def reach():
    """Return the `Reach` of `polish`."""
    return Reach.of_polynomial(ORDER, (DEFAULT_WINDOW[2],) * 2, "random_walk")


def polish(channel, executor):
    """Smooth a channel on its own NNK graph, which removes the last specks of noise.

    The result is ``(I + g L)^-1 f``, where L is the random-walk Laplacian of the NNK graph of f,
    computed as one polynomial of L.

    Parameters
    ----------
    channel : (1, H, W) ndarray
        In units of the noise that was removed.
    executor : RowExecutor

    Returns
    -------
    (1, H, W) ndarray
    """
    shape = channel.shape[1:]
    strip = max(_LEAST_ROWS, _PIXELS_OF_STRIP // shape[1]), shape[1]
    result = np.empty_like(channel)
    for tile in cut(shape, strip, reach()):
        part = channel[0][tile.padded].astype(np.float32)  # precise enough, as the change is small
        change = _polished(part, executor) - part
        result[0][tile.core] = channel[0][tile.core] + change[tile.inside]
    return result


def _polished(pixels, executor):
    """Smooth (H, W) pixels."""
    low, high = float(pixels.min()), float(pixels.max())
    image = Image(pixels[..., None], pixels.dtype, None, low, high, None)
    try:
        graph = build_graph(GraphSpec(image, None, SIGMA_D, SIGMA_F), executor)
        operator = LaplacianOperator.of_graph(
            graph, "random_walk", pixels.dtype, executor, keep=False
        )
    except WeightsOutOfRange:  # no two pixels are similar
        return pixels
    if operator.bound == 0:
        return pixels
    return operator.analyze(pixels, _coefficients(operator.bound), operator.bound, executor)[0]


@cache  # `bound` is always 2, that of random-walk Laplacians
def _coefficients(bound):
    """Return the Chebyshev coefficients of the smoothing, scaled to keep constant images."""
    coefficients = filter_bank.chebyshev_coefficients(
        lambda x: 1 / (1 + STRENGTH * x[None]), ORDER, bound, "projection"
    )
    return coefficients / np.polynomial.chebyshev.chebval(-1.0, coefficients[0])
