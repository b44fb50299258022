"""Clipping: the limits of noisy values, noise that is clipped, and the means of clipped values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import minimum_filter, uniform_filter
from scipy.special import ndtr, ndtri

from nnk_image.base.image import Array, Bools, Floats

_CLIPPED_SHARE, _FEWEST_CLIPPED = 0.002, 16  # if more pixels have an extreme, it is clipped
_FEW_VALUES = 64  # images with fewer different values count as counts, whose zeros are not clipped
_PART = 1 << 14  # number of values that are searched at a time
_MOST_VALUES = 2  # different values of single pixels in drawings, such as dots
_LEAST_ALONE, _MOST_CLIPPED_NOISE = 0.5, 0.97
"""Least number of unclipped pixels whose neighbors are all clipped, relative to that in independent
noise, and largest share of clipped pixels, for which noise is the reason for constant areas."""

_NEARBY = 17  # side, in pixels, of the squares in which the share of clipped pixels is taken
_NEAR = 6.0  # distance from a limit, in standard deviations, beyond which clipping has no effect

AROUND = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]])  # the eight neighbors of a pixel


@dataclass(frozen=True)
class Extremes:
    """Smallest and largest values of an image, or of a part, and how many pixels have them."""

    values: Array  # (2, C), smallest and largest of each channel
    counts: npt.NDArray[np.int64]  # (2, C), how many pixels have these values
    n_pixels: int
    few: Array | None  # all different values; None if they are many

    @classmethod
    def of(cls, pixels: Array) -> Extremes:
        """Return the extremes of (..., C) pixels."""
        channels = np.moveaxis(pixels, -1, 0)
        limits = [[c.min() for c in channels], [c.max() for c in channels]]
        counts = [
            [np.count_nonzero(own == limit) for own, limit in zip(channels, row, strict=True)]
            for row in limits
        ]
        values = np.array(limits, dtype=np.float64)
        return cls(values, np.array(counts), channels[0].size, few_values(pixels))

    def __add__(self, other: Extremes) -> Extremes:
        """Return the extremes of two parts together."""
        low, high = zip(self.values, other.values, strict=True)
        values = np.array([np.minimum(*low), np.maximum(*high)])
        counts = sum(np.where(part.values == values, part.counts, 0) for part in (self, other))
        few = None
        if self.few is not None and other.few is not None:
            few = few_values(np.append(self.few, other.few))
        return Extremes(values, np.asarray(counts), self.n_pixels + other.n_pixels, few)

    @property
    def clipped(self) -> Array:
        """The (2, C) limits at which values were clipped; -inf and inf where they were not."""
        beyond = np.array([[-np.inf], [np.inf]])
        many = self.counts > max(_CLIPPED_SHARE * self.n_pixels, _FEWEST_CLIPPED)
        return np.where(many & (self.few is None), self.values, beyond)


def few_values(values: Array) -> Array | None:
    """Return the different values of an array, or None if there are many."""
    found = values.flat[:0]
    for start in range(0, values.size, _PART):
        found = np.union1d(found, values.flat[start : start + _PART])
        if len(found) >= _FEW_VALUES:
            return None
    return found


def clipped_pixels(pixels: Array, valid: Bools) -> Bools:
    """Return (2, C, H, W) bools: where channels have the lowest and the highest value of them all.

    Counts, whose extremes are not those of clipping, have no such pixels.
    """
    channels = np.moveaxis(pixels, -1, 0)
    inside = pixels if valid.all() else pixels[valid]
    if few_values(inside) is not None:
        return np.zeros((2, *channels.shape), bool)
    # Unlike np.stack, np.array always returns C order, which is faster afterwards.
    return np.array([channels <= inside.min(), channels >= inside.max()])


def clipped_noise(pixels: Array, valid: Bools | None = None) -> Bools:
    """Return (2, H, W) bools: where noise has clipped all channels, at black and at white."""
    channels = np.moveaxis(pixels if valid is None else pixels[valid], -1, 0)
    valid = np.full(pixels.shape[:2], True) if valid is None else valid
    extremes = [c.min() for c in channels], [c.max() for c in channels]
    return np.stack([_clipped_noise(pixels, extreme, valid) for extreme in extremes])


def _clipped_noise(pixels: Array, extremes: Sequence[Any], valid: Bools) -> Bools:
    """Return which (H, W) pixels have the `extremes` because independent noise is clipped.

    Of such noise, a share p of which is clipped, (1 - p) p^8 of the pixels are not clipped while
    all around them are. In drawings, such pixels are rare or have at most two values.
    """
    channels = zip(np.moveaxis(pixels, -1, 0), extremes, strict=True)
    clipped = np.all([valid, *(channel == extreme for channel, extreme in channels)], axis=0)
    if np.count_nonzero(clipped) < np.count_nonzero(AROUND):  # no pixel is alone among them
        return np.zeros_like(clipped)
    complete = minimum_filter(valid, 3, mode="constant")  # with all eight neighbors
    alone = complete & ~clipped & minimum_filter(clipped, footprint=AROUND)
    if len(np.unique(pixels[alone], axis=0)) <= _MOST_VALUES:
        return np.zeros_like(clipped)
    known = np.maximum(uniform_filter(valid.astype(np.float32), _NEARBY), 1e-3)
    share = np.clip(uniform_filter(clipped.astype(np.float32), _NEARBY) / known, 0, 1)
    expected = np.sum(((1 - share) * share**8)[complete])
    is_noise = np.count_nonzero(alone) > _LEAST_ALONE * expected
    return clipped & is_noise & (share < _MOST_CLIPPED_NOISE)


def clipped_normal(share: Floats) -> tuple[Floats, Floats]:
    """Return standard deviation and kurtosis of unit normal noise of which this share was clipped.

    The share is limited to 0.85: a block has too few pixels to show the kurtosis of a greater one.
    """
    share = np.clip(share, 1e-12, 0.85)
    limit = ndtri(share)
    parts = [1 - share, np.exp(-(limit**2) / 2) / np.sqrt(2 * np.pi) - limit * (1 - share)]
    for order in (2, 3, 4):  # moments of what is above the limit, by integration by parts
        parts.append((order - 1) * parts[-2] - limit * parts[-1])
    _, mean, second, third, fourth = parts
    central = fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**4
    variance = second - mean**2
    return np.sqrt(variance), central / variance**2


def unclip(
    pixels: Array, limits: Array, sigmas: Sequence[float], valid: Array | None = None
) -> None:
    """Replace means of clipped values by those of the same values before clipping, in place.

    `pixels`, (..., C), are means of values with normal noise of standard deviations `sigmas`,
    clipped at the (2, C) `limits`, -inf and inf where there are none. Results do not lie beyond
    them. A channel is unchanged if its sigma is 0, or not less than the distance of the limits.
    Only `valid` pixels change. The source is Foi (2009), see `nnk_image.denoise`.
    """
    for channel, ((low, high), sigma) in enumerate(zip(limits.T, sigmas, strict=True)):
        if not high - low > sigma > 0 or np.isinf([low, high]).all():
            continue
        own, reach = pixels[..., channel], _NEAR * sigma
        near = (own - low < reach) | (high - own < reach)
        if valid is not None:
            near &= valid
        if near.any():
            depths = np.linspace(0, reach, 1201)
            values = np.concatenate([low + depths, high - depths])
            values = np.sort(values[(values >= low) & (values <= high) & np.isfinite(values)])
            beyond = _excess((low - values) / sigma) - _excess((values - high) / sigma)
            own[near] = np.interp(own[near], values + sigma * beyond, values).astype(own.dtype)


def _excess(distance: Array) -> Array:
    """Return the mean of ``max(distance + noise, 0)`` with unit noise: about 0 if far below 0."""
    distance = np.maximum(distance, -2 * _NEAR)
    density = np.exp(-(distance**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(distance * ndtr(distance) + density)
