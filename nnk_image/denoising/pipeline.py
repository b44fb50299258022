"""Steps of every denoising: divide by the noise level or stabilize the noise, denoise, and invert.

A method sees only images whose noise has variance 1. That makes it equivariant: adding a constant,
or scaling image and noise together, does the same to the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.channels import channel_sources
from nnk_image.base.checks import check_choice, check_number
from nnk_image.base.image import Image, relative_spacing
from nnk_image.base.memory import require
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising import low_counts
from nnk_image.denoising.low_counts import Round
from nnk_image.denoising.methods import METHODS
from nnk_image.denoising.statistics import Statistics
from nnk_image.denoising.units import GaussianUnits, PoissonUnits, RicianUnits
from nnk_image.graph.pixel_graph import ImageGraph
from nnk_image.noise import row_column
from nnk_image.noise.model import LEAST_NOISE, NoiseModel, with_levels
from nnk_image.noise.unit import WHITE, UnitNoise

FLOAT32_RANGE = 200
"""Largest range of an image, in standard deviations of its noise, that is denoised in float32:
rounding of the Gram matrices of 'fast' stays below 1 % of the noise left after the first pass."""

_CORRECTIONS = 2  # of the offsets of rows and columns


@dataclass(frozen=True)
class Options:
    """How an image is to be denoised."""

    method: str  # name in `METHODS`
    spacing: tuple[float, ...] | None = None  # 1 along the finest axis; None if all are equal
    strength: float = 1.0  # factor of the noise level in the units that a method sees
    guide: ImageGraph | None = None  # graph for 'sgw'; None: that of the image

    @classmethod
    def of(
        cls, method: str, spacing: Any, strength: float, guide: Any, shape: tuple[int, ...]
    ) -> Options:
        """Check arguments of `denoise` for an image of this shape, without channels."""
        check_choice("method", method, METHODS)
        strength = check_number("strength", strength, "values above 1 denoise more strongly")
        if guide is not None:
            if method != "sgw":
                raise ValueError(f"guide is for method='sgw', not {method!r}: leave it out")
            if not isinstance(guide, ImageGraph):
                raise TypeError(
                    f"guide must be an ImageGraph, as from image_graph, not {type(guide).__name__}"
                )
            if guide.shape != shape:
                raise ValueError(
                    f"guide has shape {guide.shape}, the image {shape}: they must be equal"
                )
        strength = min(max(strength, 1e-6), 1e6)  # so that nothing overflows
        return cls(method, relative_spacing(spacing, len(shape)), strength, guide)

    def sides_of_sums(self, side: int, axes: int) -> tuple[int, ...]:
        """Return the sides of blocks of pixels; in volumes, these are as high as they are wide.

        They are powers of 2 like `side`, which is that along the finest axis.
        """
        if self.spacing is None or axes == 2:
            return (side,) * axes
        return tuple(max(1, side // 2 ** round(math.log2(n))) for n in self.spacing)

    def of_sums(self, sides: tuple[int, ...]) -> Options:
        """Return the options for an image of sums of blocks with these sides."""
        if self.spacing is None:
            return self
        distances = [n * distance for n, distance in zip(sides, self.spacing, strict=True)]
        return replace(self, spacing=relative_spacing(distances, len(sides)))


@dataclass(frozen=True)
class Plan:
    """The steps of denoising an image."""

    options: Options
    groups: tuple[npt.NDArray[np.intp], ...]  # channels denoised together; in none without noise
    rounds: tuple[Round, ...]  # a single one, except for Poisson noise with few counts per pixel
    sources: tuple[int, ...] = ()  # channel whose result each takes; -1 for a constant channel

    def rows(self, shape, white: bool) -> int:
        """Return how many rows all rounds process, for progress reports."""
        rows = 0
        for channels in self.groups:
            for name, side, _ in self.rounds:
                sides = self.options.sides_of_sums(side, len(shape))
                part = tuple(-(-n // own) for n, own in zip(shape, sides, strict=True))
                # Noise of sums of pixels is treated as white.
                units = METHODS[name].progress_units(part, len(channels), white or side > 1)
                rows += round(math.prod(part[:-1]) * units)
        return rows


_CORRECTION = Options("fast")
"""For offsets of rows and columns. It has no spacing, which would make results worse if rows are
far apart, and better if columns are."""


def denoise_image(
    image: Image,
    noise: NoiseModel,
    options: Options,
    n_jobs: int | None,
    progress: bool | Callable[[int, int], Any],
):
    """Return the (..., C) pixels of a whole checked image without its noise."""
    shape = image.pixels.shape
    image, noise, options = adapted(image, noise, options)
    steps = plan(image, noise, options, Statistics.of(image, noise))
    rows = steps.rows(image.shape, noise.correlation is None)
    if noise.has_row_or_column_noise:
        corrections = Plan(_CORRECTION, (np.arange(image.channels),), (Round("fast"),))
        rows += _CORRECTIONS * corrections.rows(image.shape, white=False)
    with RowExecutor(n_jobs, progress, rows, "denoise") as executor:
        if noise.has_row_or_column_noise:
            image = _without_row_and_column_noise(image, noise.scaled(options.strength), executor)
        pixels = denoise_pixels(image, noise, steps, executor)
    return pixels.reshape(shape)


def adapted(image: Image, noise: NoiseModel, options: Options) -> tuple[Image, NoiseModel, Options]:
    """Return a checked image, its noise and the options as the other functions expect them.

    The noise gets one value per channel, and `levels` instead of a curve, or neither if the method
    assumes one level.
    """
    noise = METHODS[options.method].supported_noise(noise.for_channels(image.channels))
    noise = with_levels(noise, image)
    return _without_single_axes(image, noise, options)


def denoise_pixels(image: Image, noise: NoiseModel, steps: Plan, executor: RowExecutor):
    """Return the (..., C) pixels of an image, or of a part of it, without its noise.

    Image and noise are `adapted`, and row and column noise was removed before. The plan `steps` and
    the limits `image.low` and `image.high` are those of the whole image.
    """
    inside = image.inside
    pixels: Any = None
    for channels in steps.groups:
        denoised = _denoise_together(image, noise, channels, steps, executor)
        if len(channels) == image.channels and image.valid is None:
            return denoised
        pixels = image.pixels.astype(image.dtype) if pixels is None else pixels
        for place, channel in enumerate(channels):
            pixels[..., channel][inside] = denoised[..., place][inside]
    pixels = image.pixels.astype(image.dtype) if pixels is None else pixels
    for channel, source in enumerate(steps.sources):
        if source not in (-1, channel):
            pixels[..., channel][inside] = pixels[..., source][inside]
    return pixels


def plan(image: Image, noise: NoiseModel, options: Options, statistics: Statistics) -> Plan:
    """Decide which channels are denoised together, and in which rounds."""
    least = max(LEAST_NOISE * image.half_range, float(np.finfo(image.dtype).tiny))
    sigmas, gains = np.array(noise.sigma), np.array(noise.gain)
    with np.errstate(under="ignore"):
        shot = np.sqrt(gains) * np.sqrt(image.half_range)
    given = zip(statistics.keys, noise.sigma, noise.gain, noise.offset, strict=True)
    sources = channel_sources([(*key, *own) for key, *own in given])
    noisy = ((sigmas > least) | (shot > least)) & (image.half_range > 0)
    channels = np.flatnonzero(noisy & (np.arange(image.channels) == sources))
    if not len(channels):
        return Plan(options, (), ())
    groups, rounds = [channels], [Round(options.method)]
    if any(noise.gain):
        rounds = low_counts.plan_rounds(noise, channels, options.method, statistics, image.shape)
    elif noise.rician:
        groups = np.split(channels, len(channels))
    return Plan(options, tuple(groups), tuple(rounds), sources)


def _denoise_together(image, noise, channels, steps, executor):
    """Return the denoised (..., n) pixels of n channels: to unit noise, denoise, and back."""
    unit_noise = UnitNoise.of(noise, channels, len(image.shape))
    noisy = image.pixels if len(channels) == image.channels else image.pixels[..., channels]
    noisy, estimate = image.filled(noisy), None
    options = steps.options
    for name, side, share in steps.rounds:
        sides = options.sides_of_sums(side, len(image.shape))
        units = _units(image, noise, channels, unit_noise, sides, share)
        mixture = noisy if estimate is None else share * noisy + (1 - share) * estimate
        if not any(noise.gain):
            noisy = None  # not needed again: free its memory
        unit_image = _unit_image(image, units, mixture, options.strength)
        del mixture
        own_noise = unit_noise if side == 1 else WHITE
        if noise.rician:  # stabilized with the level of each pixel
            own_noise = replace(unit_noise, variances=None)
        _require_memory(name, unit_image)
        denoised = METHODS[name].denoise(unit_image, own_noise, options.of_sums(sides), executor)
        del unit_image
        denoised = denoised.astype(image.dtype, copy=False) * image.dtype.type(options.strength)
        estimate = units.inverse(denoised)
        if any(noise.gain):
            parameters = low_counts.poisson_parameters(noise, channels)
            low_counts.keep_means(estimate, noisy, parameters, image.valid)
    return estimate


def _units(image, noise, channels, unit_noise, sides, share):
    """Return the units in which the noise of these channels has standard deviation 1."""
    if any(noise.gain):
        parameters = low_counts.poisson_parameters(noise, channels)
        return PoissonUnits(parameters, sides, share, image.shape, image.dtype)
    sigmas = np.array(noise.sigma)[channels]
    if noise.rician:
        return RicianUnits(noise.rician, sigmas, unit_noise.variances, image.dtype)
    return GaussianUnits(sigmas, image.low, image.high, image.dtype)


def _unit_image(image, units, pixels, strength):
    """Return an image in units of the noise times `strength`."""
    pixels = units.forward(pixels)
    pixels /= pixels.dtype.type(strength)
    # Tiles have the limits of the whole image, and so the same dtype.
    low, high = float(pixels.min()), float(pixels.max())
    if units.limits:
        low, high = (limit / strength for limit in units.limits)
    dtype = np.dtype(np.float32 if high - low <= FLOAT32_RANGE else np.float64)
    valid = image.valid if pixels.shape[:-1] == image.shape else None
    pixels = np.ascontiguousarray(pixels, dtype)
    return replace(image, pixels=pixels, valid=valid, dtype=dtype, low=low, high=high)


def _require_memory(name, image):
    """Raise MemoryError unless the method of this name can denoise the image."""
    per_pixel = METHODS[name].bytes_per_pixel(
        image.channels, image.dtype.itemsize, len(image.shape)
    )
    require(int(per_pixel * math.prod(image.shape)), f"denoising in {image.dtype}")


def _without_row_and_column_noise(image, noise, executor):
    """Return the image without its row and column offsets.

    They are first estimated from differences between rows. Then the image is denoised, as if the
    offsets were still there, and the mean of what this removes from a row is added to its offset.
    This may remove too much from the image, but little of that is the same in a whole row.
    """
    offsets = row_column.estimate_offsets(image, noise.rows, noise.columns)
    for _ in range(_CORRECTIONS):
        rest = row_column.without_offsets(image, offsets)
        statistics = Statistics.of(rest, noise)
        model = row_column.offsets_as_correlation(noise, rest, statistics.means)
        steps = plan(rest, model, _CORRECTION, statistics)
        estimate = denoise_pixels(rest, model, steps, executor)
        offsets = offsets + row_column.remaining_offsets(rest, estimate, noise)
    return row_column.without_offsets(image, offsets)


def _without_single_axes(
    image: Image, noise: NoiseModel, options: Options
) -> tuple[Image, NoiseModel, Options]:
    """Return image, noise and options without axes of one pixel, as far as two axes remain.

    So a volume of one slice is treated as an image. A column becomes a row, which is faster, unless
    its noise depends on the direction. With a guide, whose axes are fixed, nothing changes.
    """
    if options.guide is not None:
        return image, noise, options
    axes = len(image.shape)
    kept = [axis for axis, n in enumerate(image.shape) if n > 1 or axis >= axes - 2]
    shape, spacing = tuple(image.shape[axis] for axis in kept), options.spacing
    if spacing is not None:
        spacing = relative_spacing([spacing[axis] for axis in kept], len(kept))
    correlation, levels = noise.correlation, noise.levels
    if correlation is not None and correlation.ndim == 3 and axes - 3 not in kept:
        correlation = correlation[len(correlation) // 2]
    by_axis = noise.has_row_or_column_noise or correlation is not None or levels is not None
    if len(shape) == 2 and shape[1] == 1 and not by_axis:
        shape = shape[::-1]
        spacing = None if spacing is None else spacing[::-1]
    if shape == image.shape:
        return image, noise, options
    levels = None if levels is None else levels.reshape(shape)
    noise = replace(noise, levels=levels, correlation=correlation)
    valid = None if image.valid is None else image.valid.reshape(shape)
    pixels = image.pixels.reshape(*shape, image.channels)
    return replace(image, pixels=pixels, valid=valid), noise, replace(options, spacing=spacing)
