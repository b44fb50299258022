"""A last light smoothing of a denoised image on its NNK graph."""

import numpy as np

from nnk_image.base.image import Image
from nnk_image.base.reach import Reach
from nnk_image.graph.build import build_graph
from nnk_image.graph.pruning import DEFAULT_WINDOW, GraphSpec
from nnk_image.spectral.chebyshev import GridRecurrence
from nnk_image.spectral.operator import LaplacianOperator, WeightsOutOfRange
from nnk_image.wavelets import filter_bank

SIGMA_D, SIGMA_F = 2.0, 0.3
STRENGTH, ORDER = 0.6, 8


SWEEPS = LaplacianOperator.SETUP_SWEEPS + GridRecurrence.sweeps(ORDER)
"""How many times `polish` processes all rows of an image."""


def reach():
    """Return the `Reach` of `polish`."""
    return Reach.of_polynomial(ORDER, (DEFAULT_WINDOW[2],) * 2, "random_walk")


def polish(channel, executor):
    """Smooth a channel on its own NNK graph, which removes the last specks of noise.

    ``(I + g L)^-1 f`` with the random-walk Laplacian of the NNK graph of f, as one polynomial.

    Parameters
    ----------
    channel : (1, H, W) ndarray
        In units of the noise that was removed.
    executor : RowExecutor

    Returns
    -------
    (1, H, W) ndarray
    """
    low, high = float(channel.min()), float(channel.max())
    image = Image(channel[0][..., None], channel.dtype, None, low, high, None)
    try:
        graph = build_graph(GraphSpec(image, None, SIGMA_D, SIGMA_F), "nnk", executor)
        operator = LaplacianOperator.of_graph(
            graph, "random_walk", channel.dtype, executor, keep=False
        )
    except WeightsOutOfRange:  # no two pixels are similar
        return channel
    if operator.bound == 0:
        return channel
    coefficients = filter_bank.chebyshev_coefficients(
        lambda x: 1 / (1 + STRENGTH * x[None]), ORDER, operator.bound, "projection"
    )
    coefficients /= np.polynomial.chebyshev.chebval(-1.0, coefficients[0])
    return operator.analyze(channel[0], coefficients, operator.bound, executor)
