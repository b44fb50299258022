"""Pixels that show nothing of the scene: isolated ones, such as hot pixels, and those without data.

They are left out, like masked pixels, where noise is estimated; docs/noise.md says why.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.ndimage import maximum_filter, minimum_filter

from nnk_image.base.image import Array, Bools, Image
from nnk_image.noise.blocks import SIDE
from nnk_image.noise.clipping import AROUND, few_values
from nnk_image.noise.photons import photon_noise
from nnk_image.noise.sample import plane_of

_LEAST_DISTANCE = 2.5
"""Least distance of an isolated pixel from the nearest value of its neighbors. The unit is their
range, or a large one in the slice. None of 30 million pixels of normal noise was as far away."""

_TAIL = 0.5
"""Part of this distance. Between it and the whole, noise with a long tail, as of amplified photons,
has more pixels than beyond (1.7 to 100 times as many); hot pixels are mostly beyond."""

_BEYOND_TAIL = 4.0  # multiple of this distance that such noise does not reach

_LARGE = 0.75  # quantile of the ranges above 0

_FEWEST, _FEWEST_NEAR = 16, 16
"""Least number of pixels without data, and of different values that lie less than twice as far from
theirs as the nearest one does. Noise leaves no such gap beside a value at which it is clipped."""


def without_isolated_pixels(image: Image) -> Image:
    """Return a checked image with a mask that leaves out its isolated pixels, if there are any.

    If more pixels are nearly isolated than isolated, the noise has a long tail, and only pixels
    that are much farther from their neighbors are left out.
    """
    if min(image.shape[-2:]) < 3 or image.low == image.high:
        return image
    if few_values(image.pixels[image.inside]) is not None:  # counts, which are isolated in the dark
        return image
    near, isolated, far = found = np.zeros((3, *image.shape), bool)
    for index in np.ndindex(image.shape[:-2]):
        valid = None if image.valid is None else image.valid[index]
        if valid is None or valid.any():
            distance, unit = _distances(replace(image, pixels=image.pixels[index], valid=valid))
            for own_found, factor in zip(found, (_TAIL, 1.0, _BEYOND_TAIL), strict=True):
                own_found[index] = distance > factor * _LEAST_DISTANCE * unit
    is_tail = np.count_nonzero(near) > 2 * np.count_nonzero(isolated)
    return _without(image, far if is_tail else isolated)


def without_defects(image: Image) -> Image:
    """Return the image without pixels that have no data, and then without its isolated pixels.

    The former all have the same value, such as 0 or -9999, and a gap separates it from the others.
    """
    channels = np.moveaxis(image.pixels[image.inside], -1, 0)
    for extremes in zip(*((channel.min(), channel.max()) for channel in channels), strict=True):
        if all(map(_is_apart, channels, extremes)):
            if _are_counts(image):
                return image
            image = _without(image, np.all(image.pixels == np.array(extremes), axis=-1))
    return without_isolated_pixels(image)


def _are_counts(image: Image) -> bool:
    """Return whether values are counts of photons, among which 0 is data, although far from 1."""
    return min(image.shape[-2:]) >= SIDE and photon_noise(plane_of(image)) is not None


def _is_apart(values: Array, extreme: Any) -> bool:
    """Return whether many values equal the `extreme`, and a gap separates it from the others."""
    others = values[values != extreme]
    if not 0 < others.size <= values.size - _FEWEST:
        return False
    distances = np.abs(np.subtract(others, extreme, dtype=np.float64))
    with np.errstate(over="ignore"):
        near = others[distances < 2 * distances.min()]
    return len(np.unique(near)) >= _FEWEST_NEAR


def _without(image: Image, defects: Bools) -> Image:
    """Return the image with a mask that leaves out the `defects`, if there are any."""
    return image.replaced(valid=image.mask & ~defects) if defects.any() else image


def _distances(image: Image) -> tuple[Array, Array]:
    """Return how far the pixels of a slice are above, or below, all eight neighbors.

    The second value is the unit: the range of the neighbors, or a large one in the slice.
    """
    luminance = np.zeros(image.shape, np.float32)
    for channel in np.moveaxis(image.filled(image.pixels), -1, 0):
        luminance += np.subtract(channel, image.center, dtype=image.dtype) / image.half_range
    low = minimum_filter(luminance, footprint=AROUND, mode="mirror")
    high = maximum_filter(luminance, footprint=AROUND, mode="mirror")
    ranges = high - low
    positive = ranges[ranges > 0]
    place = int(_LARGE * positive.size)  # faster than np.quantile, which interpolates
    large = np.partition(positive, place)[place] if positive.size else 0
    return np.maximum(luminance - high, low - luminance), np.maximum(ranges, large)
