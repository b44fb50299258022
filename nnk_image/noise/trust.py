"""How far what the flattest blocks hold beyond white noise is noise, and not texture."""

import numpy as np

MOST = 2.6
WEIGHTS = (-2.8, 7.2, 3.4, -1.9, 3.2, -1.3, 1.8, -2.4, -3.4)
"""Largest factor; constants and weights of `signs`, by ``python -m benchmarks.noise_fit``.

That of elasticity at high frequencies is positive: in JPEG files some blocks have lost their high
frequencies and others have not, whether they hold texture or noise. Texture shows at low
frequencies and at half the size.
"""

_STRONG = 0.02  # level, relative to the contrast of an image, from which noise counts as strong
_CHANCE, _TEXTURE = 0.2, 0.8  # elasticity that noise alone may show, and that of texture alone
_LEAST_TRUST = 0.05
_CHROMA = 0.22  # level of the chroma relative to the luminance, of noise and texture alike
_GRAY = 0.01  # the same, below which an image is gray
_LEAST_EXCESS = 0.02  # of a level, that is beyond white noise


def signs(scales):
    """Return signs of noise and of texture in an image.

    Parameters
    ----------
    scales : list of nnk_image.noise.blocks.Scale

    Returns
    -------
    (7,) ndarray
        - Logarithm of the level in the flattest blocks over that of white noise, 0 to 1.5.
        - Elasticity at low frequencies, at high ones, and at high ones at half the size, 0 to 1.
        - Logarithm of the level of the chroma beyond white noise relative to that of the luminance,
          over a typical one, -1 to 1.5: channels share texture, but hardly noise. 0 in a gray
          image.
        - Logarithm of the level at half the size over that at full size, 0 to 2: 0 for white noise,
          most for texture.
        - Elasticity times the logarithm of the level relative to the contrast: strong noise must be
          seen everywhere.
    """
    full, half = scales[0], scales[min(1, len(scales) - 1)]
    level, white = full.typical[0], full.typical_white.mean()
    beyond = np.log(level * np.median(full.spectra[0]) / max(white, 1e-12)) / 2
    low, high = np.clip(full.elasticity, 0, 1)
    high_half = np.clip(half.elasticity[1], 0, 1)
    of_white = np.full(len(full.typical), white - full.shared_white)
    of_white[0] += len(of_white) * full.shared_white
    luminance, *others = np.maximum(full.typical - of_white, _LEAST_EXCESS * full.typical)
    chroma = np.sqrt(np.mean(others) / luminance) if others else 0.0
    chroma = np.log(chroma / _CHROMA) if chroma > _GRAY else 0.0
    growth = np.log(max(half.typical[0], 1e-24) / max(level, 1e-24)) / 2
    strong = min(3.0, _strength(level, full.contrast)) * (low + high) / 2
    found = np.clip(beyond, 0, 1.5), low, high, high_half, np.clip(chroma, -1, 1.5)
    return np.array([*found, np.clip(growth, 0, 2), strong])


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

    Among flat blocks only the energy of texture grows with that of the other part. So elasticity
    grows with the share of texture in the variance.
    """
    full = scales[0]
    strength = min(1.0, _strength(full.typical_white.mean(), full.contrast))
    texture = (full.elasticity[1] - _CHANCE) / (_TEXTURE - _CHANCE)
    return 1 - strength * float(np.clip(texture, 0, 1 - _LEAST_TRUST))


def _strength(variance, contrast):
    """Logarithm of a level, relative to what counts as strong; at least 0."""
    return max(0.0, float(np.log(np.sqrt(variance) / (_STRONG * max(contrast, 1e-12)))))
