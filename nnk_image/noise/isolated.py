"""Isolated pixels, such as hot ones, which are neither noise nor part of a structure.

A few of them in a thousand would dominate the statistics of the noise, and the filter would spread
them over their neighbors. So they are left out, like masked pixels, where noise is estimated.
"""

import numpy as np

from nnk_image.base.image import Array, Bools, Image, check_image, filled
from nnk_image.noise.clipping import few_values

_LEAST_DISTANCE = 2.5
"""Distance of an isolated pixel from the nearest value of its neighbors, in units of their range,
or of a large range in the image if that is more. Normal noise is hardly ever as far: not once in 30
million pixels."""

_LARGE = 0.75  # quantile of the ranges above 0


def without_isolated_pixels(image: Image) -> Image:
    """Return a checked image with a mask that leaves out its isolated pixels, if there are any."""
    if min(image.shape[-2:]) < 3 or image.low == image.high:
        return image
    inside = image.pixels if image.valid is None else image.pixels[image.valid]
    if few_values(inside) is not None:  # counts: in the dark, photons are isolated
        return image
    isolated = _isolated(filled(image.pixels, image.valid), image)
    if not isolated.any():
        return image
    valid = ~isolated if image.valid is None else image.valid & ~isolated
    axis = image.channel_axis
    pixels = image.pixels[..., 0] if axis is None else np.moveaxis(image.pixels, -1, axis)
    return check_image(pixels, axis, valid)


def _isolated(pixels: Array, image: Image) -> Bools:
    """Return which pixels are far above, or below, all eight neighbors in their slice."""
    luminance = np.zeros(image.shape, image.dtype)
    for channel in np.moveaxis(pixels, -1, 0):  # divided first: the sum of large ones overflows
        luminance += np.divide(channel, image.half_range * image.channels, dtype=image.dtype)
    low, high = _around(luminance, np.minimum), _around(luminance, np.maximum)
    ranges = high - low
    large = np.quantile(ranges[ranges > 0], _LARGE).astype(image.dtype)
    distance = np.maximum(luminance - high, low - luminance)
    return distance > _LEAST_DISTANCE * np.maximum(ranges, large)


def _around(values: Array, of: np.ufunc) -> Array:
    """Return the minimum, or the maximum, of the eight neighbors of each pixel."""
    padded = np.pad(values, [(0, 0)] * (values.ndim - 2) + [(1, 1), (1, 1)], mode="reflect")
    rows = of(padded[..., :-2], padded[..., 2:])
    found = of(rows[..., :-2, :], rows[..., 2:, :])
    of(found, rows[..., 1:-1, :], out=found)
    middle = padded[..., 1:-1]
    return of(of(found, middle[..., :-2, :], out=found), middle[..., 2:, :], out=found)
