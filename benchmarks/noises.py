"""Simulated noise of known kinds, added to clean images.

The argument `seed` of all functions is a seed of `numpy.random.default_rng`: an int, a sequence of
ints, or a `numpy.random.Generator`.
"""

import numpy as np


def white(clean, sigma, seed):
    """Return an image with white Gaussian noise.

    `sigma` is the standard deviation, in the units of the image: a number, or one value per pixel.
    """
    return clean + sigma * np.random.default_rng(seed).standard_normal(clean.shape)


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
    noise, psd : (H, W) ndarray
        A sample of variance 1, and its power spectral density in the frequency order of
        `numpy.fft`, whose mean is 1.
    """
    rng = np.random.default_rng(seed)
    waves = np.fft.fft2(rng.standard_normal(shape))
    psd = _POWER[kind](*shape) if isinstance(kind, str) else _of_neighbors(kind, *shape)
    psd = psd / psd.mean()
    return np.fft.ifft2(waves * np.sqrt(psd)).real, psd


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
