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
from scipy.fft import dctn
from scipy.special import gammaln, ive, xlogy

from nnk_image.base.geometry import as_blocks
from nnk_image.base.image import Bools, Floats, Image
from nnk_image.noise.blocks import SIDE

_STEP = 0.03  # distance between tabulated magnitudes
_FAR = 30.0  # largest tabulated signal, less the mean of noise alone; noise is Gaussian beyond
_TAIL = 8.0  # how far tabulated magnitudes extend beyond the largest signal

_MEAN, _DEVIATION = np.sqrt(np.pi / 2), np.sqrt(2 - np.pi / 2)  # of Rician noise without signal
_SKEWNESS = 2 * np.sqrt(np.pi) * (np.pi - 3) / (4 - np.pi) ** 1.5
_TOLERANCE = 0.2  # relative difference from what is expected without signal
_SIGNAL = 4.0  # mean of blocks with signal, where noise is nearly Gaussian
_USUAL_VARIANCES = 0.6, 1.8  # of their noise: texture and the signal's noise may change it
_STRUCTURED = 1.6  # variance of a block, over the median, above which it contains an edge
_LEAST_SHARE, _FEWEST = 0.05, 16  # of blocks without, and number with or without signal


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


def shows_magnitudes(image: Image) -> bool:
    """Whether an image of two axes shows Rician noise, in places without signal and with it.

    Without, the mean, the variance, the variation of the means of blocks and the skewness follow
    from a single sigma. With signal, the variance is sigma^2, where that of counts or speckle would
    be far larger.
    """
    if image.channels > 1 or not 0 <= image.low < image.high:
        return False
    pixels = image.pixels[..., 0] / image.dtype.type(image.high)
    blocks, valid = (as_blocks(a, SIDE, SIDE).reshape(-1, SIDE**2) for a in (pixels, image.mask))
    blocks = blocks[valid.all(axis=1) & (blocks.max(axis=1) > blocks.min(axis=1))]
    if len(blocks) < 2 * _FEWEST:
        return False
    means = blocks.mean(axis=1, dtype=np.float64)
    is_dark = _in_darkest_mode(means)
    sigma = np.median(means[is_dark]) / _MEAN
    is_bright = means > _SIGNAL * sigma
    if np.count_nonzero(is_dark) < max(_FEWEST, _LEAST_SHARE * len(blocks)):
        return False
    if np.count_nonzero(is_bright) < _FEWEST:
        return False
    least, most = _USUAL_VARIANCES
    return _is_without_signal(blocks[is_dark] / sigma) and bool(
        least < _variance_of_flattest(blocks[is_bright] / sigma) < most
    )


def _in_darkest_mode(means: Floats) -> Bools:
    """Return which of the means of blocks are as near their darkest mode as noise alone is."""
    mode = np.quantile(means, _LEAST_SHARE)
    for _ in range(20):
        near = np.abs(means / mode - 1) < 3 * _DEVIATION / _MEAN / SIDE
        mode = np.median(means[near])
    return near


def _is_without_signal(blocks: Floats) -> bool:
    """Whether (n, pixels) blocks, in units of sigma, have the moments of noise without signal."""
    variances = blocks.var(axis=1, ddof=1)
    blocks = blocks[variances < _STRUCTURED * np.median(variances)]
    centered = blocks - blocks.mean(axis=1, keepdims=True)
    found = (
        blocks.var(axis=1, ddof=1).mean() / _DEVIATION**2,
        blocks.mean(axis=1).std() * SIDE / _DEVIATION,
        (centered**3).mean() / (centered**2).mean() ** 1.5 / _SKEWNESS,
    )
    return bool(np.abs(np.array(found) - 1).max() < _TOLERANCE)


def _variance_of_flattest(blocks: Floats) -> float:
    """Return the median variance at high frequencies of the blocks with least at low ones."""
    waves = dctn(blocks.reshape(-1, SIDE, SIDE), axes=(1, 2), norm="ortho")
    frequency = np.add.outer(np.arange(SIDE), np.arange(SIDE))
    low, high = (frequency > 0) & (frequency < SIDE), frequency >= SIDE
    flattest = np.argsort((waves[:, low] ** 2).mean(axis=1))[: max(_FEWEST, len(blocks) // 10)]
    return float(np.median((waves[flattest][:, high] ** 2).mean(axis=1)))
