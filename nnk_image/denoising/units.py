"""Standardize an image to noise of variance 1, and back.

That makes every method equivariant: adding a constant, or scaling image and noise together, does
the same to the result, in any range of values.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.ndimage import distance_transform_edt

from nnk_image.base.image import Image
from nnk_image.noise.model import NoiseModel

LEAST_NOISE = 1e-6
"""Noise below this share of half the image's range is left alone."""

UNEVEN = 2.0
"""Channels whose white noise differs by more than this factor are denoised one by one."""


@dataclass(frozen=True)
class Units:
    """Values minus `center`, over a scale per channel; numbers of the image's dtype."""

    center: np.floating
    scales: npt.NDArray[np.floating]

    def inverse(self, units):
        """Return denoised (..., C) unit-noise pixels in the image's units."""
        return units * self.scales + self.center


def standardize(image: Image, noise: NoiseModel, channels, limits):
    """Bring channels of an image to unit noise, centered at the middle of the range.

    Parameters
    ----------
    image : Image
    noise : NoiseModel
        Neither Poisson noise nor row and column noise.
    channels : (n,) ndarray of int
        Which of the image's channels.
    limits : (float, float)
        Smallest and largest value of the whole image.

    Returns
    -------
    units : Units
        The way back.
    unit_image : Image
        The channels in units of their noise. Masked pixels have the values of the nearest valid
        ones.
    """
    dtype = image.dtype
    sigmas = noise.of_channels("sigma", image.channels)[channels]
    if _is_joint(noise):  # channels keep their proportions
        sigmas = np.full(len(channels), np.sqrt(np.mean(sigmas**2)))
    scales = np.minimum(sigmas, float(np.finfo(dtype).max) / 16).astype(dtype)
    units = Units(dtype.type(limits[0] / 2 + limits[1] / 2), scales)
    pixels = np.subtract(_selected(image, channels), units.center, dtype=dtype)
    pixels /= scales
    return units, unit_image(image, pixels)


def unit_image(image: Image, pixels) -> Image:
    """Return the image with other pixels, masked ones replaced by the nearest valid ones."""
    if image.valid is not None:
        nearest = distance_transform_edt(
            ~image.valid, return_distances=False, return_indices=True
        )
        pixels = pixels[tuple(nearest)]
    low, high = float(pixels.min()), float(pixels.max())
    return replace(image, pixels=np.ascontiguousarray(pixels), low=low, high=high)


def noisy_channels(image: Image, noise: NoiseModel, limits):
    """Return the numbers of the channels with noise above the rounding of their values."""
    half_range = limits[1] / 2 - limits[0] / 2
    least = max(LEAST_NOISE * half_range, float(np.finfo(image.dtype).tiny))
    sigmas, gains = (noise.of_channels(name, image.channels) for name in ("sigma", "gain"))
    with np.errstate(under="ignore"):
        shot = np.sqrt(gains) * np.sqrt(half_range)
    return np.flatnonzero(((sigmas > least) | (shot > least)) & (half_range > 0))


def joint_channels(image: Image, noise: NoiseModel, channels):
    """Split noisy channels into groups that are denoised together: all, or one by one."""
    sigmas = noise.of_channels("sigma", image.channels)[channels]
    if len(channels) and not _is_joint(noise) and sigmas.max() / UNEVEN > sigmas.min():
        return np.split(channels, len(channels))
    return [channels] if len(channels) else []


def put_channels(pixels, valid, channels, denoised):
    """Write denoised channels into an image's pixels; masked pixels stay as they are."""
    inside = ... if valid is None else valid
    for place, channel in enumerate(channels):
        pixels[..., channel][inside] = denoised[..., place][inside]


def _selected(image, channels):
    return image.pixels if len(channels) == image.channels else image.pixels[..., channels]


def _is_joint(noise):
    """Whether the covariance of each channel with each is known."""
    return noise.correlation is not None and noise.correlation.ndim == 4
