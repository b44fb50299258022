"""Denoising an image in tiles, as dask tasks, with the same result as for the whole image."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import warn
from nnk_image.base.image import Image, Layout, check_image
from nnk_image.base.lazy import delayed, part_of, task
from nnk_image.base.parallel import RowExecutor
from nnk_image.base.reach import Slices, Tile, cut, largest_side
from nnk_image.denoising.methods import METHODS
from nnk_image.denoising.pipeline import Options, adapted, denoise_pixels, plan
from nnk_image.denoising.statistics import Statistics
from nnk_image.noise.clipping import unclip
from nnk_image.noise.defects import without_defects
from nnk_image.noise.estimation import estimated_noise
from nnk_image.noise.given import check_magnitudes, given_noise
from nnk_image.noise.model import NoiseModel
from nnk_image.noise.slices import SLAB

_MOST_WORK = 8  # pixels of all tiles with overlap, over those of the image, without a warning
_COPIES_OF_TILE = 2  # arrays of the size of a tile in memory, in addition to the method's own
_SAMPLE_SIDES = 1, SLAB, 512, 512
_SAMPLES = {2: (4, 4), 3: (4, 2, 2), 4: (2, 2, 2, 2)}
"""Noise is estimated from 16 squares or slabs with these sides; numbers along the last axes."""


class TiledDenoising:
    """Denoising of one image in tiles, as tasks.

    `given` is the noise that the caller gives, if any; else `noise` is a task that estimates it.
    """

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
        layout = self.layout = Layout.of(image, channel_axis, spacing is not None)
        if 1 in layout.shape[:-2]:
            raise ValueError(
                f"image has shape {layout.shape}: remove axes of length 1 before the last two, "
                "such as image[0]"
            )
        self.image = image
        self.options = Options.of(method, spacing, strength, None, layout.shape)
        self.given = None if sigma is None else self._checked(sigma)
        self.noise = self._estimated() if self.given is None else self.given
        itemsize, chosen = layout.dtype.itemsize, METHODS[method]
        per_pixel = chosen.bytes_per_pixel(layout.channels, 8, len(layout.shape))
        per_pixel += _COPIES_OF_TILE * layout.channels * itemsize
        reach = chosen.reach(layout.shape, layout.channels, self.options.spacing)
        self.side = largest_side(layout.shape, reach, max_bytes, per_pixel)
        self.tiles = cut(layout.shape, self.side, reach)
        padded = sum(math.prod(s.stop - s.start for s in tile.padded) for tile in self.tiles)
        work = padded / math.prod(layout.shape)
        if work > _MOST_WORK:
            warn(
                f"tiles of {'x'.join(map(str, self.side))} pixels overlap so much that they take "
                f"{work:.0f} times as long as the whole image: give a larger max_memory, or a "
                "smaller n_jobs"
            )

    def statistics(self) -> Any:
        """Return a task that computes the `Statistics` of the image."""
        given = self.image, self.layout
        parts = [task(_statistics_of_part, *given, tile.core, self.noise) for tile in self.tiles]
        return delayed(merge_statistics)(parts, self.given)

    def denoised(self, tile: Tile, noise: Any, statistics: Any) -> Any:
        """Return a task that computes the core of a tile."""
        how = noise, statistics, self.options, tile.inside
        return task(denoise_part, self.image, self.layout, tile.padded, *how)

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
        return noise

    def _estimated(self) -> Any:
        """Return a task that estimates the noise from squares all over the image."""
        layout = self.layout
        axes = len(layout.shape)
        parts = map(_samples, layout.shape, _SAMPLE_SIDES[-axes:], _SAMPLES[axes])
        *leading, rows, columns = parts
        squares = [
            [[part_of(self.image, layout, (*slab, y, x)) for x in columns] for y in rows]
            for slab in product(*leading)
        ]
        return delayed(_noise_of)(squares, layout)


def _samples(n: int, side: int, number: int) -> list[slice]:
    """Return parts of an axis of length n, each in the middle of its share, or the whole axis."""
    if n <= side * number:
        return [slice(0, n)]
    starts = (((np.arange(number) + 0.5) * n / number) - side / 2).astype(int).tolist()
    return [slice(start, start + side) for start in starts]


def _noise_of(squares: Any, layout: Layout) -> NoiseModel:
    """Return the noise of squares in slabs, without row and column noise."""
    parts = [
        [[check_image(part, layout.axis).pixels for part in row] for row in slab]
        for slab in squares
    ]
    slabs = [np.concatenate([np.concatenate(row, -2) for row in slab], -3) for slab in parts]
    pixels = np.concatenate([slab.reshape(-1, *slab.shape[-4:]) for slab in slabs])
    pixels = pixels[0] if len(layout.shape) == 2 else pixels
    noise, _ = estimated_noise(without_defects(check_image(pixels, -1)))
    return replace(noise, rows=0.0, columns=0.0)


def _statistics_of_part(image: Image, executor: RowExecutor, noise: NoiseModel) -> Statistics:
    return Statistics.of(image, noise.for_channels(image.channels))


def merge_statistics(parts: Sequence[Statistics], given: NoiseModel | None = None) -> Statistics:
    """Return the statistics of the whole image from those of its parts.

    ValueError if they do not fit noise that was `given`.
    """
    sizes = [part.extremes.n_pixels for part in parts]
    means, squares = (
        tuple(np.average([getattr(part, name) for part in parts], axis=0, weights=sizes))
        for name in ("means", "squares")
    )
    extremes = reduce(operator.add, (part.extremes for part in parts))
    keys = _keys_of_parts([part.keys for part in parts])
    merged = Statistics(extremes, means, squares, keys)
    if given is not None and given.rician:
        check_magnitudes(merged.limits[0])
    return merged


def _keys_of_parts(parts: Sequence[tuple[tuple[bool, float], ...]]) -> tuple[Any, ...]:
    """Return the `channel_keys` of an image from those of its parts."""
    channels = list(zip(*parts, strict=True))
    keys = []
    for own in channels:
        (constant, _), *others = own
        same = constant and all(key == own[0] for key in others)
        keys.append(own[0] if same else (False, float(channels.index(own))))
    return tuple(keys)


def denoise_part(
    image: Image,
    executor: RowExecutor,
    noise: NoiseModel,
    statistics: Statistics,
    options: Options,
    inside: Slices,
) -> npt.NDArray[Any]:
    """Return the denoised pixels inside a part."""
    low, high = statistics.limits
    image = replace(image, low=low, high=high)  # those of the whole image
    part, own, options = adapted(image, noise, options)
    steps = plan(part, own, options, statistics)
    pixels = denoise_pixels(part, own, steps, executor).reshape(image.pixels.shape)
    if own.is_white:
        unclip(pixels, statistics.extremes.clipped, own.sigma)
    return image.restore(pixels[inside])
