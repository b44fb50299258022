"""Numbers that belong to the whole image, and decide how each part of it is treated."""

from dataclasses import dataclass, replace

import numpy as np

from nnk_image.noise.model import NoiseModel
from nnk_image.noise.standard import WHITE, StandardNoise

MODERATE, STRONG = 0.4, 0.8
"""Contrasts from which noise is moderate and strong: sigma 20 and 40 on photographs of 8 bits."""

_BITS_OF_PART = 16  # 2^16 degrees below 2^10 in units of 2^-20, or 2^-52, are sums below 2^53


@dataclass(frozen=True)
class WholeImage:
    """Numbers of a whole image, handed to a method together with the image or a part of it.

    It can be pickled.  What is None is found in the image that a method is given.  So a part of
    an image is treated as it is in the whole if all of them are given.

    Attributes
    ----------
    noise : NoiseModel
        In the image's own units.
    limits : (float, float)
        Smallest and largest value, in the image's own units; the centre is between them.
    contrast : float or None
        Standard deviation of the noise over that of the luminance beneath it.  Stays None, like
        `spread`, where channels of uneven noise are denoised one by one.
    spread : float or None
        Range of the opponent channels, in units of the noise.
    standard : StandardNoise
        The noise after standardisation.
    spacing : tuple of float or None
        Distance of pixels along each axis, 1 along the finest; None for all 1.
    means : tuple of float or None
        Mean of each channel, in the image's own units.
    tau, bound : float or None
        Of the graph that 'sgw' filters on: regularisation, and end of the spectral interval.
    """

    noise: NoiseModel
    limits: tuple[float, float]
    contrast: float | None = None
    spread: float | None = None
    standard: StandardNoise = WHITE
    spacing: tuple[float, ...] | None = None
    means: tuple[float, ...] | None = None
    tau: float | None = None
    bound: float | None = None

    def completed(self, channels):
        """The same with what is still unknown of (C, H, W) opponent channels in units of noise."""
        contrast, spread = self.contrast, self.spread
        return replace(
            self,
            contrast=noise_to_signal(channels[0]) if contrast is None else contrast,
            spread=float(np.ptp(channels)) if spread is None else spread,
        )

    @property
    def noise_is_moderate(self):
        """Whether noise is at least moderate; after `completed`."""
        return self.contrast >= MODERATE

    @property
    def noise_is_strong(self):
        """Whether noise is strong; after `completed`."""
        return self.contrast >= STRONG


def noise_to_signal(luminance):
    """Standard deviation of unit noise over that of the image beneath it."""
    variance = float(np.var(luminance, dtype=np.float64))
    return 1 / np.sqrt(max(variance - 1, 1e-12))


def sum_of_degrees(degrees):
    """Sum, number and largest of those above 0; sums of parts add up to that of the whole exactly.

    Parameters
    ----------
    degrees : ndarray of float32 or float64
        Below 1000.

    Returns
    -------
    total : int
        In units of 2^-52, to which each degree is rounded.
    number : int
    largest : float
    """
    total = 0
    for part in np.array_split(degrees.ravel(), max(1, degrees.size >> _BITS_OF_PART)):
        fraction, whole = np.modf(part.astype(np.float64) * 2.0**20)
        total += (int(whole.sum()) << 32) + int(np.rint(fraction * 2.0**32).sum())
    return total, int(np.count_nonzero(degrees)), float(degrees.max())


def mean_degree(sums):
    """Mean of the degrees above 0, from the `sum_of_degrees` of all parts; 0 without any."""
    total, number = (sum(part[i] for part in sums) for i in (0, 1))
    return total / (number << 52) if number else 0.0
