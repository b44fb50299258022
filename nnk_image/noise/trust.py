"""How much of the variance beyond white noise in the flattest blocks is noise, and not texture."""

import numpy as np

MOST_TRUST = 2.2  # factor of the correlated part; the fit's score is flat from 2.0 to 2.6
MOST_TRUST_IN_DIFFERENCES = 1.7
"""The same for differences of slices with independent noise. It would be 1.3 for noise of one level
(blocks without mean and slopes show three quarters of it), and 2.2 for speckle, whose flattest
blocks are the darkest ones."""

WEIGHTS = (4.2, 2.48, -2.79, -2.15, 2.2, -2.55)
"""Constant and weights of the `features`, fitted by ``python -m benchmarks.noise_fit``, that of the
color after the others: docs/estimation_figures.md has those that the command gives now."""

CLEAR = 0.6 * MOST_TRUST  # trust above which noise is clearly there
_STRONG = 0.02  # level, relative to the contrast of an image, from which noise counts as strong
_TYPICAL_COLOR = -1.9  # `Scale.third_color` for which its feature is 0, as it is without colors
_LEAST_SHARE = 0.02  # least share of a variance that counts as beyond white noise
_FEWEST_BLOCKS = 16  # least number that may be text: in fewer, one edge has two values too


def features(scales):
    """Return the five features that distinguish noise from texture, given the list of `Scale`.

    They are those of step 4 in docs/estimation.md, in the same order.
    """
    full, half, quarter = (scales[min(i, len(scales) - 1)] for i in range(3))
    # Color matrices make the noise of the luminance weaker than that of the channels.
    variance = full.typical_variances[0]
    white = min(full.typical_white.mean(), full.white_luminance)
    share = np.log(max(1 - white / (variance * np.median(full.spectra[0])), _LEAST_SHARE))
    medians = [max(np.median(scale.bin_variances[0]), 1e-24) for scale in (full, half)]
    growth = np.log(medians[1] / medians[0]) / 2
    contrast = max(full.range[1] - full.range[0], 1e-12)
    strength = np.log(max(1.0, np.sqrt(variance) / (_STRONG * contrast)))
    strong = min(3.0, strength) * np.clip(full.elasticity, 0, 1).mean()
    color = 0.0
    if len(full.matrix) == 3:
        color = max(-1.0, (half.third_color + quarter.third_color) / 2 - _TYPICAL_COLOR)
    return np.array([share, np.clip(growth, 0, 2.5), strong, color, min(1.0, full.turns)])


def trust_by_features(values, weights=WEIGHTS):
    """Return the trust in the correlated part, its factor, from the values of `features`.

    It is near 0 for texture and white noise, and 1.5 to 2.2 for other noise. It may be above 1,
    because the flattest blocks are those with the least noise.
    """
    return MOST_TRUST / (1 + np.exp(-weights[0] - values @ np.array(weights[1:])))


def trust_in_correlation(scales):
    """Return the trust in the correlated part of an image's noise, given the list of `Scale`."""
    return float(trust_by_features(features(scales))) * (1 - two_values(scales))


def two_values(scales):
    """Return how clearly an image is text, at full or at half the size, where noise is weaker."""
    large = (scale.two_values for scale in scales[:2] if scale.disjoint >= _FEWEST_BLOCKS)
    return max(large, default=0.0)
