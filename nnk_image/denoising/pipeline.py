"""The one way an image is denoised: standardize -> method -> inverse.

Low counts of light, and row and column noise, are functions around these three steps.
"""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from nnk_image.base.image import Image
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising.low_counts import (
    PoissonUnits,
    keep_means,
    masked_filled,
    plan_rounds,
    poisson_parameters,
)
from nnk_image.denoising.methods import METHODS
from nnk_image.denoising.statistics import Statistics
from nnk_image.denoising.units import (
    joint_channels,
    noisy_channels,
    put_channels,
    standardize,
    unit_image,
)
from nnk_image.noise.autocovariance import correlation_of, variances_of
from nnk_image.noise.model import NoiseModel, with_levels
from nnk_image.noise.row_column import estimate_offsets, without_offsets
from nnk_image.noise.standard import WHITE, StandardNoise, cut

_REMAINING = (0.35, 0.15)
"""Share of the standard deviation of row and column offsets assumed to remain in each round."""

_REACH = 48  # offsets between pixels up to which row and column noise counts as correlation


def denoise_pixels(
    image: Image,
    noise: NoiseModel,
    method: str,
    statistics: Statistics,
    executor: RowExecutor,
    guide=None,
):
    """Return the (..., C) pixels of a checked image without its noise.

    Parameters
    ----------
    image : Image
        The whole image or a part of it.
    noise : NoiseModel
        Without row and column noise.
    method : str
    statistics : Statistics
        Of the whole image.
    executor : RowExecutor
    guide : ImageGraph, optional
        For 'sgw'.
    """
    noise = with_levels(noise, image)
    channels = noisy_channels(image, noise, statistics.limits)
    pixels = image.pixels.astype(image.dtype)
    if len(channels) and any(noise.gain):
        denoised = _denoise_poisson(image, noise, channels, method, statistics, executor, guide)
        put_channels(pixels, image.valid, channels, denoised)
        return pixels
    for group in joint_channels(image, noise, channels):
        run = _method(method, guide)
        units, standardized = standardize(image, noise, group, statistics.limits)
        unit_noise = StandardNoise.of(noise, group, len(image.shape))
        denoised = run(standardized, unit_noise, statistics, executor)
        put_channels(pixels, image.valid, group, units.inverse(denoised))
    return pixels


def _denoise_poisson(image, noise, channels, method, statistics, executor, guide):
    """Return the denoised (..., n) pixels of n channels with Poisson noise."""
    parameters = poisson_parameters(image, noise, channels)
    noisy = masked_filled(image, channels)
    unit_noise = StandardNoise.of(noise, channels, len(image.shape))
    estimate = None
    for round_ in plan_rounds(image, noise, channels, method, statistics.means):
        run = _method(round_.method, guide)
        mixture = noisy
        if estimate is not None:
            mixture = round_.share * noisy + (1 - round_.share) * estimate
        units = PoissonUnits(parameters, round_, noisy.shape)
        whole = round_.side == 1
        part = unit_image(replace(image, valid=None), units.forward(mixture))
        part = replace(part, valid=image.valid) if whole else part
        denoised = run(part, unit_noise if whole else WHITE, statistics, executor)
        estimate = units.inverse(denoised)
        keep_means(estimate, noisy, parameters, image.valid)
    return estimate


def without_row_and_column_noise(
    image: Image, noise: NoiseModel, spacing, executor: RowExecutor
) -> Image:
    """Return the image without its row and column offsets.

    They are estimated from differences between rows; then the image is denoised, with what
    remains of them counted as correlated noise, and the mean of what was removed from a row is
    added to its offset.
    """
    if not noise.has_row_or_column_noise:
        return image
    offsets = estimate_offsets(image, noise.rows, noise.columns)
    for share in _REMAINING:
        rest = without_offsets(image, offsets)
        model = _with_offsets_as_correlation(noise, rest, share)
        statistics = Statistics.of(rest, spacing)
        estimate = denoise_pixels(rest, model, "fast", statistics, executor)
        removed = np.moveaxis(rest.pixels - estimate, -1, 0).astype(np.float64)
        if noise.rows:
            means = _centered_means(removed, image.valid)[:, :, None]
            offsets, removed = offsets + means, removed - means
        if noise.columns:
            valid = None if image.valid is None else image.valid.T
            offsets = offsets + _centered_means(removed.swapaxes(1, 2), valid)[:, None, :]
    return without_offsets(image, offsets)


def progress_rows(image: Image, noise: NoiseModel, method: str, statistics: Statistics) -> int:
    """Return how many rows all steps of denoising process at most, for progress reports."""
    runs = [("fast", image.channels, 1)] * len(_REMAINING) if noise.has_row_or_column_noise else []
    channels = noisy_channels(image, noise, statistics.limits)
    if len(channels) and any(noise.gain):
        rounds = plan_rounds(image, noise, channels, method, statistics.means)
        runs += [(r.method, len(channels), r.side) for r in rounds]
    else:
        runs += [(method, len(group), 1) for group in joint_channels(image, noise, channels)]
    rows = 0
    for name, n, side in runs:
        shape = tuple(-(-length // side) for length in image.shape)
        rows += round(math.prod(shape[:-1]) * METHODS[name].progress_units(shape, n))
    return rows


def _method(name, guide):
    """Return the function that denoises a unit-noise image."""
    run = METHODS[name].denoise
    return run if guide is None else partial(run, guide=guide)


def _centered_means(channels, valid):
    """Return the (C, H) means of the rows minus their mean; 0 where no pixel is valid."""
    if valid is None:
        means = channels.mean(axis=2)
        return means - means.mean(axis=1, keepdims=True)
    count = valid.sum(axis=1)
    means = np.where(valid, channels, 0).sum(axis=2) / np.maximum(count, 1)
    means -= means[:, count > 0].mean(axis=1, keepdims=True)
    return np.where(count > 0, means, 0)


def _with_offsets_as_correlation(noise, image, share):
    """Return a model of one level whose correlation includes a share of the offsets."""
    valid = slice(None) if image.valid is None else image.valid
    light = image.pixels[valid].reshape(-1, image.channels).mean(axis=0, dtype=np.float64)
    gains, offsets = (noise.of_channels(name, image.channels) for name in ("gain", "offset"))
    shot = np.mean(gains * np.maximum(light - offsets, 0))
    variance = float(np.mean(noise.of_channels("sigma", image.channels) ** 2) + shot)
    a, b = (min(_REACH, n - 1) for n in image.shape)
    covariance = np.zeros((2 * a + 1, 2 * b + 1))
    covariance[a, b] = variance
    if noise.correlation is not None:
        covariance = variance * cut(noise.mean_correlation(), (a, b))
    covariance[a] += (share * noise.rows) ** 2
    covariance[:, b] += (share * noise.columns) ** 2
    return NoiseModel(np.sqrt(variances_of(covariance)), correlation=correlation_of(covariance))
