"""Denoising by keeping the lowest spectral graph wavelet bands of the NNK graph."""

import numpy as np

from nnk_image import filters
from nnk_image.graph import GRAPH_STAGES, GraphPlan, build_graph
from nnk_image.operators import OPERATOR_STAGES, ORDERS_PER_SWEEP, LaplacianOperator

WINDOW, SIGMA_D, SIGMA_F = 11, 2.0, 1.7
"""Graph of the noisy image; SIGMA_F in units of the noise, for grey and colour alike."""

BANDS, BANDS_KEPT = 7, 3
LAPLACIAN, BOUND_RATIO, ORDER, APPROXIMATION = "regularized", 1.5, 16, "jackson"


def denoise_sgw(image, bands):
    """Low-pass an image of unit noise on its own NNK graph.

    Parameters
    ----------
    image : Image
        Centred, in units of the noise's standard deviation.
    bands : Bands

    Returns
    -------
    (H, W, C) ndarray
    """
    plan = GraphPlan(image, WINDOW, SIGMA_D, SIGMA_F)
    return keep_lowest_bands(build_graph(plan, "nnk", bands), image.pixels, bands)


def stages(image):
    """Passes over the rows that `denoise_sgw` makes, for progress bars."""
    return GRAPH_STAGES + OPERATOR_STAGES + image.channels * -(-ORDER // ORDERS_PER_SWEEP)


def keep_lowest_bands(graph, pixels, bands):
    """Filter each channel of (H, W, C) with ``sum_kept g_s^2 / sum g_s^2``.

    Keeping wavelet bands and inverting the frame is one function of the Laplacian,
    hence one polynomial.  It is scaled to be 1 at eigenvalue 0: constants stay.
    """
    operator = LaplacianOperator(graph, LAPLACIAN, pixels.dtype, bands)
    if operator.bound == 0:
        return pixels.copy()
    bank = filters.design("abspline", BANDS - 1, operator.bound / BOUND_RATIO)

    def response(x):
        power = bank.evaluate(x) ** 2
        return power[:BANDS_KEPT].sum(axis=0, keepdims=True) / power.sum(axis=0)

    coefficients = filters.chebyshev_coefficients(response, ORDER, operator.bound, APPROXIMATION)
    at_zero = np.polynomial.chebyshev.chebval(-1.0, coefficients[0])
    result = np.empty_like(pixels)
    for c in range(pixels.shape[2]):
        channel = np.ascontiguousarray(pixels[..., c])
        result[..., c] = operator.analyze(channel, coefficients / at_zero, operator.bound, bands)[0]
    return result
