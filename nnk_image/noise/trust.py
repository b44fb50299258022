"""How far what the flattest blocks hold beyond white noise is noise, and not texture."""

import numpy as np

MOST_TRUST = 2.2
WEIGHTS = (0.45, 3.6, -2.0, 1.7, -0.8, 0.9, 0.0, -2.9, 0.0)
"""Constant, and weights of the `signs`; fitted by ``python -m benchmarks.noise_fit``."""

_STRONG = 0.02  # level, relative to the contrast of an image, from which noise counts as strong


def signs(scales):
    """Return signs of noise and of texture in the luminance of an image.

    Parameters
    ----------
    scales : list of nnk_image.noise.blocks.Scale

    Returns
    -------
    (8,) ndarray
        - Logarithm of the level in the flattest blocks over that of white noise, 0 to 1.5.
        - Elasticity at low frequencies, at high ones, and at half the size, 0 to 1.
        - Flatness, and that at half the size, -4 to 0.
        - Elasticity, and flatness, times the logarithm of the level relative to the contrast:
          strong noise must be seen everywhere.
    """
    full, half = scales[0], scales[min(1, len(scales) - 1)]
    level, white = full.typical[0], full.typical_white.mean()
    beyond = np.log(level * np.median(full.spectra[0]) / max(white, 1e-12)) / 2
    low, high = np.clip(full.elasticity, 0, 1)
    flat, flat_half = np.clip([full.flatness, half.flatness], -4, 0)
    strength = np.clip(np.log(np.sqrt(level) / (_STRONG * max(full.contrast, 1e-12))), 0, 3)
    elastic_half = np.clip(half.elasticity.mean(), 0, 1)
    beyond = np.clip(beyond, 0, 1.5)
    products = strength * (low + high) / 2, strength * flat
    return np.array([beyond, low, high, elastic_half, flat, flat_half, *products])


def trust(scales):
    """Return the factor of the correlated part: 0 for texture, about 1.5 to 2 for noise.

    Above 1, because the flattest blocks are those with the least noise, and because noise that is
    left in an image is worse than as much texture that is taken from it.
    """
    score = WEIGHTS[0] + np.dot(WEIGHTS[1:], signs(scales))
    return float(MOST_TRUST / (1 + np.exp(-score)))
