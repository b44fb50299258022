"""Clipping: the limits of the noisy values, and the correction of the means of clipped values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from nnk_image.base.image import Array

_CLIPPED_SHARE, _FEWEST_CLIPPED = 0.002, 16  # if more pixels have an extreme, it is clipped
_FEW_VALUES = 64  # images with fewer different values count as counts, whose zeros are not clipped
_PART = 1 << 14  # number of values that are searched at a time
_NEAR = 6.0  # distance from a limit, in standard deviations, beyond which clipping has no effect


@dataclass(frozen=True)
class Extremes:
    """Smallest and largest values of an image, or of a part, and how many pixels have them."""

    values: Array  # (2, C), smallest and largest of each channel
    numbers: npt.NDArray[np.int64]  # (2, C), how many pixels have these values
    pixels: int  # number of all pixels
    few: Array | None  # all different values; None if they are many

    @classmethod
    def of(cls, pixels: Array) -> Extremes:
        """Return the extremes of (..., C) pixels."""
        channels = np.moveaxis(pixels, -1, 0)
        limits = [[c.min() for c in channels], [c.max() for c in channels]]
        numbers = [
            [np.count_nonzero(own == limit) for own, limit in zip(channels, row, strict=True)]
            for row in limits
        ]
        values = np.array(limits, dtype=np.float64)
        return cls(values, np.array(numbers), channels[0].size, few_values(pixels))

    def __add__(self, other: Extremes) -> Extremes:
        """Return the extremes of two parts together."""
        low, high = zip(self.values, other.values, strict=True)
        values = np.array([np.minimum(*low), np.maximum(*high)])
        numbers = sum(np.where(part.values == values, part.numbers, 0) for part in (self, other))
        few = None
        if self.few is not None and other.few is not None:
            few = few_values(np.append(self.few, other.few))
        return Extremes(values, np.asarray(numbers), self.pixels + other.pixels, few)

    @property
    def clipped(self) -> Array:
        """The (2, C) limits at which values were clipped; -inf and inf where they were not."""
        beyond = np.array([[-np.inf], [np.inf]])
        many = self.numbers > max(_CLIPPED_SHARE * self.pixels, _FEWEST_CLIPPED)
        return np.where(many & (self.few is None), self.values, beyond)


def few_values(values: Array) -> Array | None:
    """Return the different values of an array, or None if there are many."""
    found = values.flat[:0]
    for start in range(0, values.size, _PART):
        found = np.union1d(found, values.flat[start : start + _PART])
        if len(found) >= _FEW_VALUES:
            return None
    return found


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
