"""Simulated noise of known kinds, added to clean images.

The argument `seed` of all functions is a seed of `numpy.random.default_rng`: an int, a sequence of
ints, or a `numpy.random.Generator`.
"""

from dataclasses import dataclass

import numpy as np


def white(clean, sigma, seed):
    """Return an image with white Gaussian noise.

    `sigma` is the standard deviation, in the units of the image: a number, or one value per pixel.
    """
    return clean + sigma * np.random.default_rng(seed).standard_normal(clean.shape)


def poisson(clean, peak, seed):
    """Return photon counts of an image, with Poisson noise, as float64.

    The expected count is `peak` where the image is 255.
    """
    return np.random.default_rng(seed).poisson(clean * (peak / 255)).astype(float)


def poisson_gaussian(clean, gain, read_noise, seed):
    """Return an image with Poisson noise and Gaussian read noise.

    The Poisson noise is that of `gain` times photon counts. `read_noise` is the standard deviation
    of the read noise, in the units of the image.
    """
    rng = np.random.default_rng(seed)
    return gain * rng.poisson(clean / gain) + rng.normal(0, read_noise, clean.shape)


def rician(clean, sigma, seed):
    """Return magnitudes with Rician noise, in the dtype of `clean`.

    `sigma` is the standard deviation of the real and the imaginary part of the complex noise: a
    number, or one value per pixel.
    """
    real, imaginary = sigma * np.random.default_rng(seed).normal(size=(2, *clean.shape))
    return np.hypot(clean + real, imaginary).astype(clean.dtype)


def as_8_bit(image):
    """Return an image clipped to 0 to 255 and rounded, as uint8."""
    return np.rint(image).clip(0, 255).astype(np.uint8)


@dataclass(frozen=True)
class CorrelatedNoise:
    """Stationary noise with a standard deviation of 1.

    Attributes
    ----------
    psd : (H, W) ndarray
        Power spectral density in the frequency order of `numpy.fft`; its mean is 1.
    noise : (H, W) ndarray
        A sample of the noise.
    """

    psd: np.ndarray
    noise: np.ndarray


def correlated(kind, shape, seed):
    """Generate correlated noise.

    Parameters
    ----------
    kind : {'binomial', 'mild', 'pink', 'rows'} or float
        White noise filtered by [1 2 1] / 4 or by [1 4 1] / 6 along each axis; noise of power 1/f;
        or white noise plus row noise of the same variance. A number, 0 to 0.5, is the correlation
        of neighbors along each axis; pixels further apart are independent, as in a picture that
        was shifted by less than a pixel by linear interpolation.
    shape : (H, W)
        Height and width in pixels.
    seed : int or sequence of int
        Seed of the sample.

    Returns
    -------
    CorrelatedNoise
    """
    rng = np.random.default_rng(seed)
    waves = np.fft.fft2(rng.standard_normal(shape))
    psd = _POWER[kind](*shape) if isinstance(kind, str) else _of_neighbors(kind, *shape)
    psd = psd / psd.mean()
    return CorrelatedNoise(psd, np.fft.ifft2(waves * np.sqrt(psd)).real)


def _filtered(side):
    """Return a function for the power of white noise filtered by [side 1 side] along each axis."""

    def power(height, width):
        y, x = (1 + 2 * side * np.cos(2 * np.pi * np.fft.fftfreq(n)) for n in (height, width))
        return np.outer(y, x) ** 2

    return power


def _of_neighbors(correlation, height, width):
    """Return the power of noise in which only neighbors are correlated, along each axis."""
    y, x = (1 + 2 * correlation * np.cos(2 * np.pi * np.fft.fftfreq(n)) for n in (height, width))
    return np.outer(y, x)


def _pink(height, width):
    """Return the power of 1/f noise; at frequency 0, it is that of the next frequency."""
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width))
    frequency[0, 0] = frequency[0, 1]
    return 1 / frequency


def _white_and_rows(height, width):
    """Return the power of white noise plus row noise of the same variance."""
    psd = np.ones((height, width))
    psd[:, 0] += width
    return psd


_POWER = {
    "binomial": _filtered(0.5),
    "mild": _filtered(0.25),
    "pink": _pink,
    "rows": _white_and_rows,
}

KINDS = tuple(_POWER)
"""Kinds of correlated noise."""


def rising_levels(shape, low, high):
    """Return (H, W) noise levels that rise linearly from the left edge of an image to the right."""
    return np.tile(np.linspace(low, high, shape[1]), (shape[0], 1))
