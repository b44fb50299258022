"""Denoising by keeping the lowest spectral graph wavelet bands of the NNK graph."""

from dataclasses import replace

import numpy as np

from nnk_image.base.reach import Reach
from nnk_image.denoising.statistics import mean_degree, sum_of_degrees
from nnk_image.graph.pruning import DEFAULT_WINDOW, GraphSpec
from nnk_image.spectral.chebyshev import GridRecurrence
from nnk_image.spectral.operator import LaplacianOperator, WeightsOutOfRange
from nnk_image.spectral.spectrum import bound_of_degrees
from nnk_image.wavelets import filter_bank

SIGMA_D, SIGMA_F = 2.0, 1.7
"""Graph of the noisy image; SIGMA_F in units of the noise, for grey and colour alike."""

BANDS, BANDS_KEPT = 7, 3
LAPLACIAN, BOUND_RATIO, ORDER, APPROXIMATION = "regularized", 1.5, 16, "jackson"


SURE_SIGMA_F, SURE_BOUND_RATIO = (1.2, 1.7, 2.2), (1.2, 1.5, 2.0)
"""What `tune='sure'` chooses from."""


def denoise(image, whole, executor, guide=None):
    """Low-pass an `Image` in units of its noise on its own NNK graph or a given one.

    Parameters
    ----------
    image : Image
    whole : WholeImage
    executor : RowExecutor
    guide : ImageGraph, optional

    Returns
    -------
    (H, W, C) ndarray
    """
    return next(_candidates(image, whole, guide, SIGMA_F, [BOUND_RATIO], executor))


def denoise_tuned(image, whole, executor, guide=None):
    """The same with graph width and cut-off of least estimated error.

    Monte-Carlo SURE: the divergence of the whole method, graph included, from its
    response to a small random change of the image.
    """
    probe = np.random.default_rng(0).choice([-1.0, 1.0], image.pixels.shape).astype(image.dtype)
    small = image.dtype.type(0.01 if image.dtype == np.float64 else 0.05)
    changed = replace(image, pixels=image.pixels + small * probe)
    best, least = None, np.inf
    for sigma_f in SURE_SIGMA_F:
        plain = _candidates(image, whole, guide, sigma_f, SURE_BOUND_RATIO, executor)
        moved = _candidates(changed, whole, guide, sigma_f, SURE_BOUND_RATIO, executor)
        for result, other in zip(plain, moved, strict=True):
            divergence = float(np.mean(probe * (other - result), dtype=np.float64)) / float(small)
            residual = float(np.mean((result - image.pixels) ** 2, dtype=np.float64))
            risk = residual + 2 * divergence - 1
            if risk < least:
                best, least = result, risk
    return best


def progress_units(image):
    """How many times the method goes over all rows of an `Image`, for progress bars."""
    return LaplacianOperator.SETUP_SWEEPS + image.channels * GridRecurrence.sweeps(ORDER)


def tuned_progress_units(image):
    """The same for `denoise_tuned`."""
    sweeps = image.channels * GridRecurrence.sweeps(ORDER) * len(SURE_BOUND_RATIO)
    return 2 * len(SURE_SIGMA_F) * (LaplacianOperator.SETUP_SWEEPS + sweeps)


def reach(shape, channels, spacing=None):
    """The `Reach` of the method in an image of a shape and so many channels."""
    window = DEFAULT_WINDOW[len(shape)]
    return Reach.of_polynomial(ORDER, (window,) * len(shape), LAPLACIAN)


def degrees_of_units(image, spacing, executor):
    """Degrees of the pixels of an `Image` in units of its noise, in the graph of the method."""
    spec = GraphSpec(image, None, SIGMA_D, SIGMA_F, spacing=spacing)
    return GridRecurrence.of_spec(spec, "nnk", executor).degrees


def bound_of(largest_degree, tau):
    """The end of the spectral interval."""
    return bound_of_degrees(largest_degree, LAPLACIAN, None, tau, None)


def _candidates(image, whole, guide, sigma_f, bound_ratios, executor):
    """Results on one graph for several cut-offs."""
    if guide is None:
        spec = GraphSpec(image, None, SIGMA_D, sigma_f, spacing=whole.spacing)
        recurrence = GridRecurrence.of_spec(spec, "nnk", executor)
        tau = mean_degree([sum_of_degrees(recurrence.degrees)]) if whole.tau is None else whole.tau
        tau = image.dtype.type(tau)
        try:
            operator = LaplacianOperator(
                recurrence, LAPLACIAN, executor, tau, whole.bound, pruned=True
            )
        except WeightsOutOfRange:  # no two pixels have more than next to nothing in common
            yield from (image.pixels.copy() for _ in bound_ratios)
            return
    else:
        operator = LaplacianOperator.of_graph(guide, LAPLACIAN, image.dtype, executor)
    for ratio in bound_ratios:
        yield _low_pass(operator, image.pixels, ratio, executor)


def _low_pass(operator, pixels, bound_ratio, executor):
    """Filter each channel with ``sum_kept g_s^2 / sum g_s^2``.

    Keeping wavelet bands and inverting the frame is one function of the Laplacian,
    hence one polynomial.  It is scaled to be 1 at eigenvalue 0: constants stay.
    """
    if operator.bound == 0:
        return pixels.copy()
    bank = filter_bank.design("abspline", BANDS - 1, operator.bound / bound_ratio)

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
