"""Denoising an image in tiles, as dask tasks: each part as in the whole image.

The numbers that belong to the whole image add up from those of its parts: first `Range`, then the
spread of the values in units of the noise, or for 'sgw' the degrees of the graph.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import check_choice, check_positive
from nnk_image.base.image import (
    Image,
    as_row,
    check_image,
    is_column,
    relative_spacing,
    to_opponent,
)
from nnk_image.base.lazy import Layout, Slices, delayed, part_of, task
from nnk_image.base.parallel import RowExecutor
from nnk_image.base.reach import Reach, Tile, cut, largest_side
from nnk_image.denoising import wavelet_lowpass
from nnk_image.denoising.methods import METHODS
from nnk_image.denoising.pipeline import denoise_pixels, plan, standardize
from nnk_image.denoising.statistics import Statistics, mean_degree, moments_of, sum_of_degrees
from nnk_image.io.arrays import write
from nnk_image.noise.clipping import Extremes, unclip
from nnk_image.noise.estimation import estimated_noise
from nnk_image.noise.given import given_noise
from nnk_image.noise.model import NoiseModel, with_levels
from nnk_image.noise.slices import SLAB
from nnk_image.noise.standard import StandardNoise

Spacing = tuple[float, ...] | None

_BESIDE = 2  # numbers held for each value of a tile, beside what the method holds
_SAMPLE_SIDE, _SAMPLES_PER_AXIS, _SAMPLED_SLABS = 512, 4, 2  # where noise is estimated


class TiledDenoising:
    """Denoising of one image in tiles, as tasks; `noise` is a task if it is to be estimated."""

    def __init__(
        self,
        image: Any,
        sigma: Any,
        method: str,
        channel_axis: int | None,
        spacing: Any,
        strength: float,
        max_bytes: int,
    ) -> None:
        chosen = METHODS[check_choice("method", method, METHODS)]
        layout = self.layout = Layout.of(image, channel_axis, spacing is not None)
        if 0 in image.shape:
            raise ValueError(f"the image has no pixel: shape {tuple(image.shape)}")
        if 1 in layout.shape[:-2]:
            raise ValueError(
                f"image has shape {layout.shape}: remove axes of length 1 before the last two, "
                "such as image[0]"
            )
        self.image, self.method, self._uneven = image, method, chosen.uneven
        self.spacing = relative_spacing(spacing, len(layout.shape))
        self.strength = check_positive("strength", strength, "values above 1 denoise more strongly")
        self.noise = self._estimated() if sigma is None else self._checked(sigma)
        self.given = None if sigma is None else self.noise.to_json()
        itemsize = layout.dtype.itemsize
        per_pixel = chosen.bytes_per_pixel(layout.channels, itemsize)
        per_pixel += _BESIDE * layout.channels * itemsize
        reach = chosen.reach(layout.shape, layout.channels, self.spacing)
        most_pixels = max_bytes / per_pixel
        self.side = largest_side(layout.shape, reach, most_pixels)
        self.tiles = cut(layout.shape, self.side, reach)

    def whole(self, noise: Any) -> Any:
        """Return a task that computes the noise to remove and the `Statistics` of the image."""
        image, layout = self.image, self.layout
        noise = delayed(NoiseModel.scaled)(noise, self.strength)
        ranges = [task(Range.of, image, layout, tile.core) for tile in self.tiles]
        statistics = delayed(Range.statistics)(ranges, self.spacing)
        if self.method != "sgw":
            numbers = [
                task(extremes, image, layout, tile.core, noise, self.method, statistics)
                for tile in self.tiles
            ]
            return delayed(_pair)(noise, delayed(with_spread)(statistics, numbers))
        reach = reach_of_degrees(len(layout.shape))
        degrees = [
            task(degrees_inside, image, layout, tile.padded, noise, statistics, tile.inside)
            for tile in cut(layout.shape, self.side, reach)
        ]
        return delayed(_pair)(noise, delayed(with_degrees)(statistics, degrees, layout.dtype))

    def denoised(self, tile: Tile, whole: Any, target: Any = None) -> Any:
        """Return a task that computes the core of a tile, or writes it to `target`."""
        how = whole, self.method, self.strength
        where = tile.inside, target, self.layout.slices(tile.core)
        return task(denoise_part, self.image, self.layout, tile.padded, *how, *where)

    def _checked(self, sigma: Any) -> NoiseModel:
        if np.ndim(sigma) > 1 or getattr(sigma, "levels", None) is not None:
            raise ValueError(
                "per-pixel noise levels are not supported when denoising in tiles: give a number "
                "per channel, or a NoiseModel without levels"
            )
        layout = self.layout
        pixels = np.broadcast_to(np.zeros((), layout.dtype), (*layout.shape, layout.channels))
        noise = given_noise(sigma, Image(pixels, layout.dtype, None, 0.0, 1.0, None))
        if noise.has_row_or_column_noise:
            raise ValueError(
                f"row and column noise (rows={noise.rows:g}, columns={noise.columns:g}) cannot be "
                "removed in tiles: remove it before, or leave it out of the noise model"
            )
        return noise if self._uneven else replace(noise, curve=None)

    def _estimated(self) -> Any:
        """Return a task that estimates the noise from squares all over the image."""
        layout = self.layout
        rows, columns = (_samples(n) for n in layout.shape[-2:])
        squares = [
            [[part_of(self.image, layout, (*slab, y, x)) for x in columns] for y in rows]
            for slab in _slabs(layout.shape[:-2])
        ]
        return delayed(_noise_of)(squares, layout, self._uneven)


def _samples(n: int) -> list[slice]:
    if n <= _SAMPLE_SIDE * _SAMPLES_PER_AXIS:
        return [slice(0, n)]
    starts = np.linspace(0, n - _SAMPLE_SIDE, _SAMPLES_PER_AXIS).astype(int).tolist()
    return [slice(start, start + _SAMPLE_SIDE) for start in starts]


def _slabs(leading: tuple[int, ...]) -> list[Slices]:
    """Return slabs of neighboring slices, evenly spread over the axes before the last two."""
    if not leading:
        return [()]
    *others, depth = leading
    thickness = min(depth, SLAB)
    starts = (*others, depth - thickness + 1)
    numbers = np.unique(np.linspace(0, math.prod(starts) - 1, _SAMPLED_SLABS).round().astype(int))
    slabs = []
    for *place, z in zip(*np.unravel_index(numbers, starts), strict=True):
        slabs.append(
            (*(slice(int(i), int(i) + 1) for i in place), slice(int(z), int(z) + thickness))
        )
    return slabs


def _noise_of(squares: Any, layout: Layout, uneven: bool) -> NoiseModel:
    """Return the noise of squares in slabs, without row and column noise."""

    def channels_last(part: Any) -> npt.NDArray[Any]:
        pixels = np.asarray(part)
        return pixels[..., None] if layout.axis is None else np.moveaxis(pixels, layout.axis, -1)

    slabs = [
        np.concatenate([np.concatenate([*map(channels_last, row)], -2) for row in slab], -3)
        for slab in squares
    ]
    pixels = np.stack([slab.reshape(-1, *slab.shape[-3:]) for slab in slabs])
    pixels = pixels[0, 0] if len(layout.shape) == 2 else pixels
    noise = estimated_noise(check_image(pixels, -1))
    return replace(noise, rows=0.0, columns=0.0, curve=noise.curve if uneven else None)


def _pair(noise: NoiseModel, statistics: Statistics) -> tuple[NoiseModel, Statistics]:
    return noise, statistics


@dataclass(frozen=True)
class Range:
    """Extreme values, and moments of each channel of a part."""

    extremes: Extremes
    moments: npt.NDArray[np.float64]

    @classmethod
    def of(cls, image: Image, executor: RowExecutor | None = None) -> Range:
        """Measure a part."""
        moments = np.array([moments_of(c) for c in np.moveaxis(image.pixels, -1, 0)])
        return cls(Extremes.of(image.pixels), moments)

    @staticmethod
    def statistics(ranges: Sequence[Range], spacing: Spacing) -> Statistics:
        """Return the `Statistics` of the whole image as far as the ranges of its parts tell."""
        numbers = [r.extremes.pixels for r in ranges]
        moments = np.average([r.moments for r in ranges], axis=0, weights=numbers)
        total = reduce(operator.add, (r.extremes for r in ranges))
        means, squares = map(tuple, moments.T.tolist())
        limits = float(total.values[0].min()), float(total.values[1].max())
        return Statistics(limits, spacing, means, squares, clipped=total.clipped)


def extremes(
    image: Image, executor: RowExecutor, noise: NoiseModel, method: str, statistics: Statistics
) -> tuple[float, float] | None:
    """Return the least and the largest value of a part's opponent channels in units of the noise.

    None if the channels are denoised one by one or have Poisson or Rician noise: then each part is
    treated by its own numbers.
    """
    unit_image, unit_noise = _unit(image, noise, method, statistics)
    if unit_image is None or unit_noise is None:
        return None
    channels = to_opponent(unit_image.pixels, unit_noise.opponent)
    return float(channels.min()), float(channels.max())


def with_spread(statistics: Statistics, parts: Sequence[Any]) -> Statistics:
    """Return the statistics with the spread of the whole image."""
    if any(part is None for part in parts):
        return statistics
    least, most = zip(*parts, strict=True)
    return replace(statistics, spread=max(most) - min(least))


def degrees_inside(
    image: Image,
    executor: RowExecutor,
    noise: NoiseModel,
    statistics: Statistics,
    inside: Slices,
) -> tuple[int, int, float] | None:
    """Return the `sum_of_degrees` of the graph of 'sgw' inside a part; None as of `moments`."""
    unit_image, unit_noise = _unit(image, noise, "sgw", statistics)
    if unit_image is None or unit_noise is None:
        return None
    degrees = wavelet_lowpass.degrees_of_units(
        unit_image, unit_noise.opponent, statistics.spacing, executor
    )
    return sum_of_degrees(degrees[inside])


def reach_of_degrees(axes: int) -> Reach:
    """Return the overlap that `degrees_inside` needs."""
    return wavelet_lowpass.reach(axes, 1)


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
    executor: RowExecutor,
    whole: tuple[NoiseModel, Statistics],
    method: str,
    strength: float,
    inside: Slices,
    target: Any = None,
    slices: Slices = (),
) -> npt.NDArray[Any] | None:
    """Return the denoised pixels inside a part, or write them to slices of `target`.

    `whole` holds the noise to remove and the statistics of the whole image. Its standard deviation
    is that of the image times `strength`.
    """
    noise, statistics = whole
    noise, white = with_levels(noise.for_channels(image.channels), image), noise.is_white
    steps = plan(image, noise, method, statistics)
    part, shape = image, image.pixels.shape
    if is_column(image.shape) and noise.correlation is None and noise.levels is None:
        spacing = statistics.spacing and statistics.spacing[::-1]
        part, statistics = as_row(image), replace(statistics, spacing=spacing)
    pixels = denoise_pixels(part, noise, steps, statistics, executor).reshape(shape)
    if white and statistics.clipped is not None:
        unclip(pixels, statistics.clipped, [level / strength for level in noise.sigma])
    result: npt.NDArray[Any] = image.restore(pixels[inside])
    if target is None:
        return result
    write(target, slices, result)
    return None


def _unit(
    image: Image, noise: NoiseModel, method: str, statistics: Statistics
) -> tuple[Image | None, StandardNoise | None]:
    """Return the part with unit noise and its noise, None if that is not one image."""
    noise = noise.for_channels(image.channels)
    steps = plan(image, noise, method, statistics)
    if steps.kind != "gaussian" or len(steps.groups) != 1:
        return None, None
    _, unit_image = standardize(image, noise, steps.groups[0], statistics.limits)
    return unit_image, StandardNoise.of(noise, steps.groups[0], len(image.shape))
