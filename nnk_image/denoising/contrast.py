"""How strong the noise is against the image, whatever its units."""

import numpy as np

MODERATE, STRONG = 0.4, 0.8
"""Noise over signal, as standard deviations: 20 and 40 on photographs of 8 bits."""


def noise_to_signal(luminance):
    """Standard deviation of unit noise over that of the image beneath it."""
    variance = float(np.var(luminance, dtype=np.float64))
    return 1 / np.sqrt(max(variance - 1, 1e-12))
