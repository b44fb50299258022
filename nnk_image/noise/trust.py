"""How far what the flattest blocks hold beyond white noise is noise, and not texture."""

import numpy as np

MOST = 2.6
WEIGHTS = (-3.6, 8.9, 4.6, -1.6, 1.0, 1.5, 1.2, -3.2)
"""Largest factor; constants and weights of `signs`, by ``python -m benchmarks.noise_fit``."""

_STRONG = 0.02  # level, relative to the contrast of an image, from which noise counts as strong
_CHANCE = 0.25  # elasticity that noise alone may show


def signs(scales):
    """Return signs of noise and of texture in the luminance of an image.

    Parameters
    ----------
    scales : list of nnk_image.noise.blocks.Scale

    Returns
    -------
    (6,) ndarray
        - Logarithm of the level in the flattest blocks over that of white noise, 0 to 1.5.
        - Elasticity at low frequencies, and at high ones, 0 to 1.
        - Flatness, and that at half the size, -4 to 0.
        - Elasticity times the logarithm of the level relative to the contrast: strong noise must be
          seen everywhere.
    """
    full, half = scales[0], scales[min(1, len(scales) - 1)]
    level, white = full.typical[0], full.typical_white.mean()
    beyond = np.log(level * np.median(full.spectra[0]) / max(white, 1e-12)) / 2
    low, high = np.clip(full.elasticity, 0, 1)
    flat, flat_half = np.clip([full.flatness, half.flatness], -4, 0)
    strong = min(3.0, _strength(level, full.contrast)) * (low + high) / 2
    return np.array([np.clip(beyond, 0, 1.5), low, high, flat, flat_half, strong])


def factor(found, weights=WEIGHTS):
    """Return the factor of the correlated part, from `signs`: 0 for texture, 1.5 to 2.5 for noise.

    It is the product of two logistic functions: whether there is more than white noise, and
    whether that does not look like texture. It may be above 1, because the flattest blocks are
    those with the least noise, and because noise that is left in an image is worse than as much
    texture that is taken from it.
    """
    beyond = weights[0] + weights[1] * found[..., 0]
    noise = weights[2] + found[..., 1:] @ np.array(weights[3:])
    return MOST / (1 + np.exp(-beyond)) / (1 + np.exp(-noise))


def white_trust(scales):
    """Return the share of the white part that is noise: less where strong texture is in it too.

    Among flat blocks the energy of noise does not grow with that of the other part.
    """
    full = scales[0]
    strength = min(1.0, _strength(full.typical_white.mean(), full.contrast))
    return 1 - strength * float(np.clip(full.elasticity[1] - _CHANCE, 0, 0.9))


def _strength(variance, contrast):
    """Logarithm of a level, relative to what counts as strong; at least 0."""
    return max(0.0, float(np.log(np.sqrt(variance) / (_STRONG * max(contrast, 1e-12)))))
