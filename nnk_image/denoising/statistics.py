"""Numbers that belong to the whole image, and decide how each part of it is treated."""

from dataclasses import dataclass, replace

import numpy as np

from nnk_image.denoising.noise_model import NoiseModel
from nnk_image.denoising.standard_noise import WHITE, StandardNoise

MODERATE, STRONG = 0.4, 0.8
"""Contrasts from which noise is moderate and strong: sigma 20 and 40 on photographs of 8 bits."""


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
    tau, bound : float or None
        Of the graph that 'sgw' filters on: regularisation, and end of the spectral interval.
    """

    noise: NoiseModel
    limits: tuple[float, float]
    contrast: float | None = None
    spread: float | None = None
    standard: StandardNoise = WHITE
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
