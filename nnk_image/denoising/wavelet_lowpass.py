"""Denoising by keeping the lowest spectral graph wavelet bands of the NNK graph."""

import numpy as np

from nnk_image.base.reach import Reach
from nnk_image.denoising.method import Method
from nnk_image.denoising.statistics import mean_degree, sum_of_degrees
from nnk_image.graph.build import build_graph
from nnk_image.graph.pruning import DEFAULT_WINDOW, GraphSpec
from nnk_image.spectral import spectrum
from nnk_image.spectral.chebyshev import GridRecurrence
from nnk_image.spectral.operator import LaplacianOperator, WeightsOutOfRange
from nnk_image.wavelets import filter_bank

SIGMA_D, SIGMA_F = 2.0, 1.7
"""Graph of the noisy image; SIGMA_F in units of the noise, for grayscale and color alike."""

BANDS, BANDS_KEPT = 7, 3
LAPLACIAN, BOUND_RATIO, ORDER, APPROXIMATION = "regularized", 1.5, 16, "jackson"


def denoise(image, noise, statistics, executor, guide=None):
    """Low-pass an `Image` with unit noise on its own NNK graph, or on the graph `guide`."""
    if guide is not None:
        operator = LaplacianOperator.of_graph(guide, LAPLACIAN, image.dtype, executor)
        return _low_pass(operator, image.pixels, executor)
    spec = GraphSpec(image, None, SIGMA_D, SIGMA_F, spacing=statistics.spacing)
    graph = build_graph(spec, "nnk", executor)
    recurrence = GridRecurrence.of_graph(graph, image.dtype, executor, keep=False)
    tau = statistics.tau
    if tau is None:
        tau = mean_degree([sum_of_degrees(recurrence.degrees)])
    tau = image.dtype.type(tau)
    try:
        operator = LaplacianOperator(recurrence, LAPLACIAN, executor, tau, statistics.bound)
    except WeightsOutOfRange:  # no two pixels are similar
        return image.pixels.copy()
    return _low_pass(operator, image.pixels, executor)


def _progress_units(shape, channels, white):
    return LaplacianOperator.SETUP_SWEEPS + channels * GridRecurrence.sweeps(ORDER)


def _reach(shape, channels, spacing=None):
    window = DEFAULT_WINDOW[len(shape)]
    return Reach.of_polynomial(ORDER, (window,) * len(shape), LAPLACIAN)


def degrees_of_units(image, spacing, executor):
    """Return the degrees in the graph of the method, of an `Image` with unit noise."""
    spec = GraphSpec(image, None, SIGMA_D, SIGMA_F, spacing=spacing)
    graph = build_graph(spec, "nnk", executor)
    return GridRecurrence.of_graph(graph, image.dtype, executor, keep=False).degrees


def bound_of(largest_degree, tau):
    """Return the upper bound of the spectrum."""
    return spectrum.bound_of(largest_degree, LAPLACIAN, tau)


def _low_pass(operator, pixels, executor):
    """Filter each channel with ``sum_kept g_s^2 / sum g_s^2``.

    Keeping wavelet bands and inverting the frame is one function of the Laplacian,
    hence one polynomial.  It is scaled to be 1 at eigenvalue 0: constants stay.
    """
    if operator.bound == 0:
        return pixels.copy()
    bank = filter_bank.design("abspline", BANDS - 1, operator.bound / BOUND_RATIO)

    def response(x):
        power = bank.evaluate(x) ** 2
        return power[:BANDS_KEPT].sum(axis=0, keepdims=True) / power.sum(axis=0)

    coefficients = filter_bank.chebyshev_coefficients(
        response, ORDER, operator.bound, APPROXIMATION
    )
    coefficients /= np.polynomial.chebyshev.chebval(-1.0, coefficients[0])
    channels = (np.ascontiguousarray(channel) for channel in np.moveaxis(pixels, -1, 0))
    results = [operator.analyze(x, coefficients, operator.bound, executor)[0] for x in channels]
    return results[0][..., None] if len(results) == 1 else np.stack(results, axis=-1)


def _bytes_per_pixel(channels, itemsize):
    return 5 * (1 + channels) * itemsize


METHOD = Method(denoise, _progress_units, _reach, _bytes_per_pixel, uneven=False)
