"""Denoising by keeping the lowest spectral graph wavelet bands of the NNK graph.

The graph does not compare noisy pixels but their neighborhoods: each pixel is described by a
Gaussian mean of its neighborhood and by the derivatives of that mean along the axes.
"""

from dataclasses import replace
from functools import cache

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from nnk_image.base.channels import to_opponent
from nnk_image.base.image import check_image
from nnk_image.base.parallel import RowExecutor
from nnk_image.base.reach import Reach
from nnk_image.denoising.method import Method
from nnk_image.graph.build import build_graph
from nnk_image.graph.pruning import DEFAULT_WINDOW, GraphSpec
from nnk_image.spectral.chebyshev import GridRecurrence
from nnk_image.spectral.operator import LaplacianOperator, WeightsOutOfRange
from nnk_image.wavelets import filter_bank

SIGMA_D, SIGMA_F = 2.0, 1.1  # of the graph's kernel, in pixels and in deviations of the noise

SCALE, COLOR_SCALE, RADIUS = 0.55, 0.9, 2
"""Gaussians that describe neighborhoods, in pixels: standard deviation for the luminance, for the
colors, and the radius at which both are cut off."""

LEAST_SCALE = 0.15
"""Least standard deviation, in pixels, of the luminance's Gaussians, for slices far apart: with a
smaller one derivatives vanish. Means are still those of single pixels (neighbors weigh 2e-10)."""

BANDS, BANDS_KEPT = 7, 3
CUTOFF = 0.97  # largest eigenvalue that the bands are designed for; they are constant beyond
LAPLACIAN, BOUND = "regularized", 2.0  # (D + tau I)^-1 (D - W), with eigenvalues up to the bound

_TAU = 0.8
"""The regularization tau, relative to the mean degree of a graph of pure noise with the same axes
and spacing. It does not depend on the image, so that parts are filtered like the whole."""

_NOISE_SIDE = 16  # longest side, in pixels, of the noise that this graph is built on

ORDER, APPROXIMATION = 16, "jackson"


def denoise(image, noise, options, executor):
    """Low-pass an `Image` with unit noise on `options.guide`, or on its own NNK graph."""
    guide, spacing = options.guide, options.spacing
    tau = _tau(tuple(min(n, _NOISE_SIDE) for n in image.shape), spacing, image.channels)
    if guide is not None:
        operator = LaplacianOperator.of_graph(guide, LAPLACIAN, executor, tau, image.dtype)
        return _low_pass(operator, image.pixels, executor)
    graph = _graph(image, noise.opponent, spacing, executor)
    recurrence = GridRecurrence.of_graph(graph, image.dtype, executor, keep=False)
    try:
        operator = LaplacianOperator(recurrence, LAPLACIAN, executor, tau, BOUND)
    except WeightsOutOfRange:  # no two pixels are similar
        return image.pixels.copy()
    return _low_pass(operator, image.pixels, executor)


@cache
def _tau(shape, spacing, channels):
    """Return the regularization tau for images of at least this shape."""
    noise = check_image(np.random.default_rng(0).normal(size=(*shape, channels)), -1)
    with RowExecutor() as executor:
        graph = _graph(noise, None, spacing, executor)
    return round(_TAU * float(graph.degrees.mean()), 3) or 1.0  # the degree of a single pixel is 0


def _progress_units(shape, channels, white):
    return LaplacianOperator.SETUP_SWEEPS + channels * GridRecurrence.sweeps(ORDER)


def _reach(shape, channels, spacing=None):
    axes = len(shape)
    polynomial = Reach.of_polynomial(ORDER, (DEFAULT_WINDOW[axes],) * axes, LAPLACIAN)
    return polynomial + Reach((RADIUS,) * axes, (1,) * axes)


def _graph(image, opponent, spacing, executor):
    """Return the NNK graph of the neighborhoods of an `Image` with unit noise."""
    features = _neighborhoods(image.pixels, spacing or (1.0,) * len(image.shape), opponent)
    low, high = float(features.min()), float(features.max())
    described = replace(image, pixels=features, low=low, high=high)
    spec = GraphSpec(described, None, SIGMA_D, SIGMA_F, spacing=spacing)
    return build_graph(spec, executor)


def _neighborhoods(pixels, spacing, opponent=None):
    """Return features of pixels: means of opponent channels, and derivatives of the luminance."""
    luminance, *colors = to_opponent(pixels, opponent)
    fine = [max(SCALE / length, LEAST_SCALE) for length in spacing]
    wide = [COLOR_SCALE / length for length in spacing]
    features = [_smooth(luminance, fine), *(_smooth(color, wide) for color in colors)]
    for axis, scale in enumerate(fine):
        weight = _noise(scale, 0) / _noise(scale, 1)  # as much noise as in the luminance's mean
        features.append(_smooth(luminance, fine, axis) * luminance.dtype.type(weight))
    return np.ascontiguousarray(np.stack(features, axis=-1))


def _smooth(values, scales, derivative=None):
    """Filter by a Gaussian along each axis, or by its derivative along one."""
    order = [int(axis == derivative) for axis in range(values.ndim)]
    return gaussian_filter(values, scales, order, mode="nearest", radius=RADIUS)


def _noise(scale, order):
    """Return the standard deviation of white noise of variance 1 after `gaussian_filter1d`."""
    one = np.zeros(2 * RADIUS + 1)
    one[RADIUS] = 1
    return np.linalg.norm(gaussian_filter1d(one, scale, order=order, radius=RADIUS))


def _low_pass(operator, pixels, executor):
    """Filter each channel of an image."""
    channels = (np.ascontiguousarray(channel) for channel in np.moveaxis(pixels, -1, 0))
    results = [operator.analyze(x, _coefficients(), BOUND, executor)[0] for x in channels]
    return results[0][..., None] if len(results) == 1 else np.stack(results, axis=-1)


@cache
def _coefficients():
    """Return the Chebyshev coefficients of ``sum_kept g_s^2 / sum g_s^2``.

    Keeping wavelet bands and inverting the frame is one function of the Laplacian, hence one
    polynomial. It is scaled to be 1 at eigenvalue 0, so that constant images do not change.
    """
    bank = filter_bank.design("abspline", BANDS - 1, CUTOFF)

    def response(x):
        power = bank.evaluate(x) ** 2
        return power[:BANDS_KEPT].sum(axis=0, keepdims=True) / power.sum(axis=0)

    coefficients = filter_bank.chebyshev_coefficients(response, ORDER, BOUND, APPROXIMATION)
    return coefficients / np.polynomial.chebyshev.chebval(-1.0, coefficients[0])


def _bytes_per_pixel(channels, itemsize, axes):
    return ((15 if axes == 2 else 65) + 4 * channels) * itemsize


METHOD = Method(denoise, _progress_units, _reach, _bytes_per_pixel, uneven=False)
