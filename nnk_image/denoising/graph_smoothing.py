"""A last light smoothing on the NNK graph of an already denoised image."""

import numpy as np

from nnk_image.base.reach import Reach
from nnk_image.graph.build import build_graph
from nnk_image.graph.pruning import DEFAULT_WINDOW, GraphSpec
from nnk_image.spectral.chebyshev import GridRecurrence
from nnk_image.spectral.operator import LaplacianOperator, WeightsOutOfRange
from nnk_image.wavelets import filter_bank

SIGMA_D, SIGMA_F = 2.0, 0.3
STRENGTH, ORDER = 0.6, 8


def progress_units(channels):
    """Return how many times `polish` processes all rows of an image."""
    return LaplacianOperator.SETUP_SWEEPS + channels * GridRecurrence.sweeps(ORDER)


def reach():
    """Return the `Reach` of `polish`."""
    return Reach.of_polynomial(ORDER, (DEFAULT_WINDOW[2],) * 2, "random_walk")


def polish(image, executor):
    """Smooth an image on its own NNK graph, which removes the last specks of noise.

    ``(I + g L)^-1 f`` with the random-walk Laplacian of the NNK graph of f, as one polynomial.

    Parameters
    ----------
    image : Image
        In units of the noise that was removed.
    executor : RowExecutor

    Returns
    -------
    (H, W, C) ndarray
    """
    spec = GraphSpec(image, None, SIGMA_D, SIGMA_F)
    try:
        graph = build_graph(spec, "nnk", executor)
        operator = LaplacianOperator.of_graph(
            graph, "random_walk", image.dtype, executor, keep=False
        )
    except WeightsOutOfRange:  # no two pixels are similar
        return image.pixels.copy()
    if operator.bound == 0:
        return image.pixels.copy()
    coefficients = filter_bank.chebyshev_coefficients(
        lambda x: 1 / (1 + STRENGTH * x[None]), ORDER, operator.bound, "projection"
    )
    at_zero = np.polynomial.chebyshev.chebval(-1.0, coefficients[0])
    channels = np.moveaxis(image.pixels, -1, 0)
    smooth = [
        operator.analyze(np.ascontiguousarray(c), coefficients / at_zero, operator.bound, executor)[
            0
        ]
        for c in channels
    ]
    return np.stack(smooth, axis=-1)
