"""Magnitudes of complex values with noise, such as those of magnetic resonance imaging (MRI).

A scanner records complex values with Gaussian noise and stores their magnitude, or the root of the
sum of squares over its coils. The noise of magnitudes is Rician (one coil) or noncentral chi. Where
there is no signal, magnitudes are above zero nevertheless, and their variance is less.

Everything here is in units of sigma, the standard deviation of the real part of the noise.

References
----------
A. Foi, "Noise estimation and removal in MR imaging: the variance-stabilization approach", IEEE
International Symposium on Biomedical Imaging (2011).

C. G. Koay, P. J. Basser, "Analytically exact correction scheme for signal extraction from noisy
magnitude MR signals", Journal of Magnetic Resonance 179 (2006).
"""

from functools import lru_cache

import numpy as np
from scipy.special import gammaln, ive, xlogy

from nnk_image.base.image import Floats

_STEP = 0.03  # distance between tabulated magnitudes
_FAR = 30.0  # largest tabulated signal, less the mean of noise alone; noise is Gaussian beyond
_TAIL = 8.0  # how far tabulated magnitudes extend beyond the largest signal


class Magnitudes:
    """Mean, variance and variance stabilization of magnitudes with noise, by numerical integration.

    `coils` is the number of coils whose squares are summed; 1 for Rician noise.

    The derivative of the transform is one over the standard deviation of the noise at each mean
    magnitude. The standard deviation of the transformed noise is then 0.89 without a signal, at
    most 1.07 for a weak one, and 1 for others. To make it 1 everywhere gains nothing in denoised
    volumes, and leaves more bias in the background.
    """

    def __init__(self, coils: int) -> None:
        weak = np.sqrt(2 * coils)  # about the mean of the noise alone
        far = weak + _FAR
        self._z = np.arange(_STEP / 2, far + _TAIL, _STEP)
        self._signals = np.append(np.linspace(0, weak, 80), np.linspace(weak, far, 160)[1:])
        probability = _density(self._signals[:, None], self._z, coils)
        probability /= probability.sum(axis=1, keepdims=True)
        self._means, deviations = _moments(probability, self._z)
        self._variances = deviations**2
        slope = np.interp(self._z, self._means, 1 / deviations)
        self._transform = np.cumsum(slope) * _STEP
        self._stable_means = _moments(probability, self._transform)[0]

    def variance(self, signal: Floats) -> Floats:
        """Return the variance of the magnitudes of a signal: below 1 for a weak one."""
        return np.interp(signal, self._signals, self._variances)

    def signal_of_mean(self, mean: Floats) -> Floats:
        """Return the signal with this mean magnitude; 0 for means below that of pure noise."""
        return _interpolate(mean, self._means, self._signals)

    def forward(self, z: Floats) -> Floats:
        """Transform magnitudes such that the standard deviation of their noise is about 1."""
        return _interpolate(z, self._z, self._transform)

    def inverse(self, d: Floats) -> Floats:
        """Return the signal for which transformed magnitudes have the mean `d`: unbiased."""
        return _interpolate(d, self._stable_means, self._signals)


magnitudes = lru_cache(maxsize=4)(Magnitudes)
"""The `Magnitudes` of a number of coils, computed once."""


def _density(signals: Floats, z: Floats, coils: int) -> Floats:
    """Return the density of magnitudes z for each signal, up to a factor."""
    safe = np.where(signals > 0, signals, 1)
    present = z * (z / safe) ** (coils - 1) * np.exp(-((z - safe) ** 2) / 2)
    absent = np.exp(xlogy(2 * coils - 1, z) - z**2 / 2 - (coils - 1) * np.log(2) - gammaln(coils))
    return np.where(signals > 0, present * ive(coils - 1, z * safe), absent)


def _moments(probability: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of a function of the magnitude, for each signal."""
    mean = probability @ values
    return mean, np.sqrt(probability @ values**2 - mean**2)


def _interpolate(x: Floats, known: Floats, values: Floats) -> Floats:
    """Interpolate in a table; beyond its end, where noise is Gaussian, the slope is 1."""
    x = np.asarray(x)
    result = np.interp(x, known, values) + np.maximum(x - known[-1], 0)
    return result.astype(x.dtype, copy=False)
