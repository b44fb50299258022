"""Noise of the kinds that pictures have, put on clean images, so that the truth is known."""

from dataclasses import dataclass

import numpy as np


def white(clean, sigma, seed):
    """The image with white Gaussian noise."""
    return clean + sigma * np.random.default_rng(seed).standard_normal(clean.shape)


def as_8_bit(image):
    """Return the image clipped to 0 to 255, and rounded."""
    return np.rint(image).clip(0, 255).astype(np.uint8)


def counted(clean, peak, seed):
    """Return the image with Poisson noise: counts whose mean is `peak` where the image is 255."""
    return np.random.default_rng(seed).poisson(clean * (peak / 255)).astype(float)


def counted_and_read(clean, gain, read, seed):
    """Return the image with Poisson noise, ``gain`` times counts, plus Gaussian read noise."""
    rng = np.random.default_rng(seed)
    return gain * rng.poisson(clean / gain) + rng.normal(0, read, clean.shape)


@dataclass(frozen=True)
class Grain:
    """Stationary noise of standard deviation 1.

    Attributes
    ----------
    psd : (H, W) ndarray
        Its power by frequency, in the order of `numpy.fft`; the mean is 1.
    noise : (H, W) ndarray
        One sample of it.
    """

    psd: np.ndarray
    noise: np.ndarray


def grain(kind, shape, seed):
    """Correlated noise of one kind.

    Parameters
    ----------
    kind : {'binomial', 'mild', 'pink', 'rows'}
        White noise smoothed by [1 2 1] / 4 or by [1 4 1] / 6 along each axis, noise of power 1/f,
        and white noise beside an offset of every row, as strong.
    shape : (H, W)
    seed : int

    Returns
    -------
    Grain
    """
    rng = np.random.default_rng(seed)
    waves = np.fft.fft2(rng.standard_normal(shape))
    psd = _POWER[kind](*shape)
    psd = psd / psd.mean()
    return Grain(psd, np.fft.ifft2(waves * np.sqrt(psd)).real)


def _smoothed(side):
    """Power of white noise after the filter [side 1 side] along each axis."""

    def power(height, width):
        y, x = (1 + 2 * side * np.cos(2 * np.pi * np.fft.fftfreq(n)) for n in (height, width))
        return np.outer(y, x) ** 2

    return power


def _pink(height, width):
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width))
    frequency[0, 0] = frequency[0, 1]
    return 1 / frequency


def _rows(height, width):
    psd = np.ones((height, width))
    psd[:, 0] += width
    return psd


_POWER = {"binomial": _smoothed(0.5), "mild": _smoothed(0.25), "pink": _pink, "rows": _rows}

KINDS = tuple(_POWER)
"""Names of the kinds of correlated noise."""


def rising_levels(shape, low, high):
    """Standard deviations that rise from the left edge of an image to the right."""
    return np.tile(np.linspace(low, high, shape[1]), (shape[0], 1))
