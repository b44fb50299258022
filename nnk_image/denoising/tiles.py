"""Tiles of a large image, denoised one by one as they are in the whole.

What belongs to the whole image is found first, tile by tile (`measure`), and added up to the
`Statistics` of the whole (`whole_statistics`).  With these `denoise_tile` gives, for white noise that is
told, the pixels that `denoise` gives to the whole image, bit for bit, by each method but 'best',
which differs by less than .01 dB.  So it is with noise that grows with the brightness.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from nnk_image.base.color import to_opponent
from nnk_image.base.image import Image, check_image
from nnk_image.base.reach import Reach
from nnk_image.denoising import wavelet_lowpass
from nnk_image.denoising.methods import METHODS
from nnk_image.denoising.pipeline import denoise_pixels, plan, standardize
from nnk_image.denoising.statistics import Statistics, mean_degree, sum_of_degrees
from nnk_image.noise.estimation import estimated_noise
from nnk_image.noise.model import with_levels
from nnk_image.noise.standard import StandardNoise

_SAMPLE_SIDE, _SAMPLES_PER_AXIS = 512, 4
"""Noise is looked for in so many squares along each axis, or in a smaller image as a whole."""

_SLICES = 8  # and in so many slices of a volume


@dataclass(frozen=True)
class Measured:
    """Statistics of a part of an image; those of several parts add up.

    Attributes
    ----------
    number : int
        Of pixels.
    low, high : float
    means : (C,) ndarray
    products : (C, C) ndarray
        Sums of the products of the deviations from the means of two channels.
    least, most : (C,) ndarray
        Of the opponent channels of the values over their noise; empty if there is none.
    """

    number: int
    low: float
    high: float
    means: np.ndarray
    products: np.ndarray
    least: np.ndarray
    most: np.ndarray

    def __add__(self, other):
        number = self.number + other.number
        apart, share = other.means - self.means, other.number / number
        return Measured(
            number,
            min(self.low, other.low),
            max(self.high, other.high),
            self.means + share * apart,
            self.products + other.products + self.number * share * np.outer(apart, apart),
            np.minimum(self.least, other.least),
            np.maximum(self.most, other.most),
        )


def measure(image, noise):
    """`Measured` of a checked image or a part of it.

    Parameters
    ----------
    image : Image
    noise : NoiseModel
        Of the whole.
    """
    values = image.pixels.reshape(-1, image.channels).astype(np.float64)
    means = values.mean(axis=0)
    opponent = _opponent_of(image, noise)
    apart = values - means
    return Measured(
        len(values),
        image.low,
        image.high,
        means,
        apart.T @ apart,
        opponent.min(axis=1),
        opponent.max(axis=1),
    )


def whole_statistics(measured, image, noise, spacing=None):
    """Return the `Statistics` of an image whose parts have been measured.

    Parameters
    ----------
    measured : Measured
        Of all of it.
    image : Image
        Any part of it.
    noise : NoiseModel
    spacing
        As in `Statistics`.
    """
    limits, means = (measured.low, measured.high), tuple(measured.means.tolist())
    whole = Statistics(limits, spacing, means)
    noise = noise.for_channels(image.channels)
    steps = plan(noise, image.dtype, "fast", whole)
    if steps.poisson or len(steps.groups) != 1 or len(steps.groups[0]) < image.channels:
        return whole  # each part is looked at by itself
    standard = StandardNoise.of(noise, steps.groups[0], len(image.shape))
    sigmas = _sigmas(image, noise)
    rotation = to_opponent(np.diag(1 / sigmas)[:, None]).reshape(len(sigmas), -1)
    levels = np.ones(len(sigmas)) if standard.levels is None else standard.levels
    variance = rotation[0] @ (measured.products / measured.number) @ rotation[0] / levels[0] ** 2
    centre = rotation @ np.full(len(sigmas), limits[0] / 2 + limits[1] / 2)
    spread = max((measured.most - centre) / levels) - min((measured.least - centre) / levels)
    contrast = 1 / math.sqrt(max(variance - 1, 1e-12))
    return replace(whole, noise_to_signal=contrast, spread=float(spread))


def degrees_of_part(image, noise, whole, inside, executor):
    """`sum_of_degrees` of a part of the graph that 'sgw' filters on; None without noise.

    Parameters
    ----------
    image : Image
        The part, with the border of `reach_of_degrees` as far as the whole goes.
    noise : NoiseModel
    whole : Statistics
    inside : tuple of slice
        The part without the border.
    executor : RowExecutor
    """
    noise = noise.for_channels(image.channels)
    steps = plan(noise, image.dtype, "sgw", whole)
    if steps.poisson or len(steps.groups) != 1:
        return None
    _, unit_image = standardize(image, noise, steps.groups[0], whole.limits)
    degrees = wavelet_lowpass.degrees_of_units(unit_image, whole.spacing, executor)
    return sum_of_degrees(degrees[inside])


def reach_of_degrees(axes):
    """The `Reach` of `degrees_of_part`."""
    return Reach.of_polynomial(1, (wavelet_lowpass.DEFAULT_WINDOW[axes],) * axes)


def with_degrees(whole, sums, dtype):
    """`Statistics` with tau and bound, from the `degrees_of_part` of all parts."""
    if any(part is None for part in sums):
        return whole
    tau = float(dtype.type(mean_degree(sums)))
    largest = max(part[2] for part in sums)
    bound = wavelet_lowpass.bound_of(largest, tau) if largest > 0 else 0.0
    return replace(whole, tau=tau, bound=bound)


def denoise_tile(image, noise, whole, method, inside, executor):
    """(..., C) denoised pixels of a tile, without its border.

    Parameters
    ----------
    image : Image
        The tile as `Tile.padded` cuts it out.
    noise : NoiseModel
    whole : Statistics
        Of the image that it is part of.
    method : str
    inside : tuple of slice
        `Tile.inside`.
    executor : RowExecutor
    """
    noise = with_levels(noise.for_channels(image.channels), image)
    steps = plan(noise, image.dtype, method, whole)
    return denoise_pixels(image, noise, steps, whole, executor)[inside]


def sample(read, shape, channel_axis):
    """Pixels of a small image with the noise of a large one: itself, or squares from all over it.

    Parameters
    ----------
    read : function
        ``read(slices)`` gives the pixels of a part, as an array with its channels where
        `channel_axis` says.
    shape : tuple of int
        Of the image, without channels.
    channel_axis : int or None

    Returns
    -------
    (..., H, W, C) array of the kind that `read` gives
    """
    ranges = [_samples(n) for n in shape[-2:]]
    numbers = np.unique(np.linspace(0, math.prod(shape[:-2]) - 1, _SLICES).round().astype(int))
    volume = []
    for number in numbers:
        place = np.unravel_index(number, shape[:-2]) if len(shape) > 2 else ()
        plane = tuple(slice(int(i), int(i) + 1) for i in place)
        rows = [[read((*plane, y, x)) for x in ranges[1]] for y in ranges[0]]
        rows = [[_channels_last(pixels, channel_axis) for pixels in row] for row in rows]
        volume.append(np.concatenate([np.concatenate(row, -2) for row in rows], -3))
    return volume[0] if len(shape) == 2 else np.concatenate(volume, 0)


def _samples(n):
    """Slices of an axis of n pixels: all of it, or some."""
    if n <= _SAMPLE_SIDE * _SAMPLES_PER_AXIS:
        return [slice(0, n)]
    starts = np.linspace(0, n - _SAMPLE_SIDE, _SAMPLES_PER_AXIS).astype(int).tolist()
    return [slice(start, start + _SAMPLE_SIDE) for start in starts]


def noise_of_sample(pixels, method):
    """The `NoiseModel` that is found in a `sample`, without stripes."""
    axes = pixels.ndim - 1
    noise = estimated_noise(check_image(pixels, axes, None, axes))
    noise = replace(noise, rows=0.0, columns=0.0)
    return noise if METHODS[method].uneven else replace(noise, curve=None)


def checked_part(read, slices, channel_axis, axes):
    """The `Image` of a part; errors say where it is."""
    try:
        return check_image(read(slices), channel_axis, None, axes)
    except ValueError as error:
        place = ", ".join(str(part.start) for part in slices)
        raise ValueError(f"in the part that begins at ({place}): {error}") from error


def _channels_last(pixels, channel_axis):
    return pixels[..., None] if channel_axis is None else np.moveaxis(pixels, channel_axis, -1)


def _sigmas(image, noise):
    """The noise of each channel by which it is divided; None if some have none."""
    sigmas = np.array(noise.for_channels(image.channels).sigma)
    return sigmas if sigmas.all() else None


def _opponent_of(image, noise):
    """(C, pixels) opponent channels of the values over their noise, in the floating type."""
    sigmas = _sigmas(image, noise)
    if sigmas is None:
        return np.empty((0, 1))
    channels = to_opponent((image.pixels / sigmas).astype(image.dtype))
    return channels.reshape(len(sigmas), -1)


def empty_image(shape, channels, dtype):
    """An `Image` of a shape that takes no memory, to ask how much work it would be."""
    pixels = np.broadcast_to(np.zeros((), dtype), (*shape, channels))
    return Image(pixels, np.dtype(dtype), None, 0.0, 1.0, None)
