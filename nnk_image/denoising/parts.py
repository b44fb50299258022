"""Denoising a part of an image as in the whole image.

The numbers that belong to the whole image add up from those of its parts: first `Range`, then the
spread of the values in units of the noise, or for 'sgw' the degrees of the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.color import to_opponent
from nnk_image.base.image import Image, as_row, is_column
from nnk_image.base.parallel import RowExecutor
from nnk_image.base.reach import Reach
from nnk_image.denoising import wavelet_lowpass
from nnk_image.denoising.pipeline import denoise_pixels, plan, standardize
from nnk_image.denoising.statistics import Statistics, mean_degree, sum_of_degrees
from nnk_image.graph.pruning import DEFAULT_WINDOW
from nnk_image.noise.model import NoiseModel, with_levels
from nnk_image.noise.standard import StandardNoise

Inside = tuple[slice, ...]
Spacing = tuple[float, ...] | None


@dataclass(frozen=True)
class Range:
    """Number of pixels, smallest and largest value, and mean of each channel of a part."""

    number: int
    low: float
    high: float
    means: npt.NDArray[np.float64]

    @classmethod
    def of(cls, image: Image) -> Range:
        """Measure a part."""
        axes = tuple(range(image.pixels.ndim - 1))
        means = image.pixels.mean(axis=axes, dtype=np.float64)
        return cls(image.pixels[..., 0].size, image.low, image.high, means)

    @staticmethod
    def statistics(ranges: Sequence[Range], spacing: Spacing) -> Statistics:
        """Return the `Statistics` of the whole image as far as the ranges of its parts tell."""
        means = np.average([r.means for r in ranges], axis=0, weights=[r.number for r in ranges])
        limits = min(r.low for r in ranges), max(r.high for r in ranges)
        return Statistics(limits, spacing, tuple(means.tolist()))


def moments(
    image: Image, noise: NoiseModel, method: str, statistics: Statistics
) -> npt.NDArray[np.float64] | None:
    """Return number, mean and variance of the luminance, least and largest opponent value.

    All are in units of the noise.  None if the channels are denoised one by one or have Poisson
    noise: then each part is treated by its own numbers.
    """
    unit_image, unit_noise = _unit(image, noise, method, statistics)
    if unit_image is None or unit_noise is None:
        return None
    channels = to_opponent(unit_image.pixels, unit_noise.levels)
    mean = channels[0].mean(dtype=np.float64)
    variance = channels[0].var(dtype=np.float64)
    return np.array([channels[0].size, mean, variance, channels.min(), channels.max()])


def with_moments(statistics: Statistics, parts: Sequence[Any]) -> Statistics:
    """Return the statistics with the contrast and spread of the whole image."""
    if any(part is None for part in parts):
        return statistics
    numbers, means, variances, least, most = np.transpose(parts)
    mean = np.average(means, weights=numbers)
    variance = np.average(variances + (means - mean) ** 2, weights=numbers)
    ratio = float(1 / np.sqrt(max(variance - 1, 1e-12)))
    return replace(statistics, noise_to_signal=ratio, spread=float(most.max() - least.min()))


def degrees(
    image: Image,
    noise: NoiseModel,
    statistics: Statistics,
    inside: Inside,
    executor: RowExecutor,
) -> tuple[int, int, float] | None:
    """Return the `sum_of_degrees` of the graph of 'sgw' inside a part; None as of `moments`."""
    unit_image, _ = _unit(image, noise, "sgw", statistics)
    if unit_image is None:
        return None
    all_degrees = wavelet_lowpass.degrees_of_units(unit_image, statistics.spacing, executor)
    return sum_of_degrees(all_degrees[inside])


def reach_of_degrees(axes: int) -> Reach:
    """Return the overlap that `degrees` needs."""
    return Reach.of_polynomial(1, (DEFAULT_WINDOW[axes],) * axes)


def with_degrees(statistics: Statistics, parts: Sequence[Any], dtype: np.dtype[Any]) -> Statistics:
    """Return the statistics with tau and bound of the graph of the whole image."""
    if any(part is None for part in parts):
        return statistics
    tau = float(dtype.type(mean_degree(parts)))
    largest = max(part[2] for part in parts)
    bound = wavelet_lowpass.bound_of(largest, tau) if largest > 0 else 0.0
    return replace(statistics, tau=tau, bound=bound)


def denoise_part(
    image: Image,
    noise: NoiseModel,
    method: str,
    statistics: Statistics,
    inside: Inside,
    executor: RowExecutor,
) -> npt.NDArray[Any]:
    """Return the denoised (..., C) pixels inside a part; `statistics` are those of the whole."""
    noise = with_levels(noise.for_channels(image.channels), image)
    steps = plan(noise, image.dtype, method, statistics)
    shape = image.pixels.shape
    if is_column(image.shape) and noise.correlation is None and noise.levels is None:
        spacing = statistics.spacing and statistics.spacing[::-1]
        image, statistics = as_row(image), replace(statistics, spacing=spacing)
    return denoise_pixels(image, noise, steps, statistics, executor).reshape(shape)[inside]


def _unit(
    image: Image, noise: NoiseModel, method: str, statistics: Statistics
) -> tuple[Image | None, StandardNoise | None]:
    """Return the part with unit noise and its noise, None if that is not one image."""
    noise = noise.for_channels(image.channels)
    steps = plan(noise, image.dtype, method, statistics)
    if steps.poisson or len(steps.groups) != 1:
        return None, None
    _, unit_image = standardize(image, noise, steps.groups[0], statistics.limits)
    return unit_image, StandardNoise.of(noise, steps.groups[0], len(image.shape))
