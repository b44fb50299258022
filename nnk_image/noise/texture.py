"""Signs of texture in the coefficients of blocks, which distinguish it from noise.

The energy of one part of a flat block grows with that of the other part if it is texture, but not
if it is noise. Texture also has other directions in bright places than in dark ones, hardly more
than two colors, and, if it is text, two values.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.image import Floats
from nnk_image.noise.blocks import (
    DCT_MATRIX,
    FLAT,
    PARTS,
    U,
    V,
    epsilon,
    flattest,
    logarithms,
)

Chosen = list[list[npt.NDArray[np.intp]]]  # blocks in which each part is measured, for each bin

LOW, HIGH = U + V < 5, U + V >= 8  # frequencies
_ELASTICITIES = 0.2, 0.8  # largest elasticity of noise alone, least of texture alone

_VARIATION = 0.02
"""Variance, over the squared mean, of the energy of one part in the flattest third of blocks of
noise: that of the lower third of the chi-squared distribution with 30 degrees of freedom."""

_LEAST_LEFT = 0.7
"""Least share of the measured variance that is kept when that of noise is subtracted; 0.5 is as
good for photographs, but not for the picture of grass."""

_LONG_TAIL = 1.05, 1.2
"""Values of `noise_share` from which the noise has a long tail, as the logarithm of speckle does,
and the largest one. Its spikes are in both parts of a block, so flat blocks have fewer of them.
Clipped noise has a long tail too, but how much weaker it is in a block is known."""

_MOST_SLOPE = 0.9  # of the line: the noise is divided by 1 minus the slope

_TWO_VALUES = 0.15, 0.2
"""Similarity to black and white, as text is, in the bins: that of noisy photographs is at most
0.14. From the second number on, nothing counts as noise."""

_COLORED = 0.2, 0.4
"""Standard deviations of the logarithm of a spectrum: that of white noise, and one from which it is
clearly not that of white noise."""


def between(low: float, high: float, value: Any) -> Any:
    """Return 0 up to `low`, 1 from `high` on, and proportions between them."""
    return np.clip((value - low) / (high - low), 0, 1)


def texture_of_bins(whitened: Floats, chosen: Chosen) -> Floats:
    """Return the (B,) shares of texture in the blocks that were chosen in each bin."""
    elasticity = [
        [_growth(whitened[blocks][:, ~part], whitened[blocks][:, part]) for blocks in bins]
        for part, bins in zip(PARTS, chosen, strict=True)
    ]
    return np.asarray(between(*_ELASTICITIES, np.mean(elasticity, axis=0)))


def elasticity(whitened: Floats) -> Floats:
    """Return the `elasticity` of flat blocks, the mean of the odd and of the even part."""
    found = np.zeros((2, 2))
    for own, part in zip(found, PARTS, strict=True):
        flat = flattest((whitened[:, ~part] ** 2).mean(axis=1), FLAT)
        for i, values in enumerate((LOW & part, HIGH & part)):
            own[i] = _growth(whitened[flat][:, ~part], whitened[flat][:, values])
    return found.mean(axis=0)


def flatness(whitened: Floats) -> float:
    """Return the `flatness` of the (n, frequencies) whitened coefficients of blocks."""
    energies = np.sort((whitened**2).mean(axis=1))
    tenth = energies[: max(1, len(energies) // 10)]
    return float(np.log(max(np.median(tenth), 1e-6) / max(np.median(energies), 1e-6)))


def noise_share(
    whitened: Floats, luminance: Floats, directions: list[Floats], is_clipped: bool
) -> float:
    """Return the `noise_share` of flat blocks, at most 1 if their noise is clipped.

    `whitened` is `luminance` over the root of its spectrum, and `directions` are those of white
    noise. It is where both energies are equal on a line through those of the blocks.
    """
    moments = []
    for part, white in zip(PARTS, directions, strict=True):
        x = (whitened[:, ~part] ** 2).mean(axis=1)
        flat = flattest(x, FLAT)
        x, y = x[flat], ((luminance[flat][:, part] @ white) ** 2).mean(axis=1)
        moments.append((x.mean(), y.mean(), np.var(x), np.mean((x - x.mean()) * y)))
    mean_x, mean_y, variance, covariance = np.mean(moments, axis=0)
    of_texture = max(variance - _VARIATION * mean_x**2, _LEAST_LEFT * variance, 1e-24)
    slope = min(covariance / of_texture, _MOST_SLOPE)
    noise = (mean_y - slope * mean_x) / (1 - slope)
    share, (least, most) = float(noise / max(mean_y, 1e-24)), _LONG_TAIL
    return float(np.clip(share, 0, 1 if share < least or is_clipped else most))


def turns(variances: Floats) -> float:
    """Return the standard deviation over the bins of the log power down less that to the right.

    It is that of the mean logarithms of the (B, frequencies) variances at low frequencies.
    """
    power = logarithms(variances)
    down, right = (power[:, part & ~HIGH].mean(axis=1) for part in (U > V, V > U))
    return float(np.std(down - right))


def third_color(covariances: Floats) -> float:
    """Return the `third_color` of (B, frequencies, C, C) covariances of the channels.

    The colors are the principal components of the covariances, each of which was divided by its
    trace, in the mean over the bins.
    """
    low = covariances[:, LOW].mean(axis=1)
    totals = np.trace(low, axis1=1, axis2=2)[:, None, None]
    variances = np.linalg.eigvalsh((low / (totals + epsilon(totals))).mean(axis=0))
    weakest, strongest = np.maximum(variances[[0, -1]], 1e-12)  # of all, in ascending order
    return float(np.log(weakest / strongest) / 2)


def two_values_of_bins(
    luminance: Floats, bins: list[Any], variances: Floats, spectrum: Floats
) -> float:
    """Return how clearly the luminance has two values in a quarter of the bins, at most 1.

    It is what the kurtosis lacks of that of noise, multiplied by the level (Pearson 1916). Strong
    white noise that is clipped at both ends has almost two values too, but a flat spectrum.
    """
    found = []
    for blocks, variance in zip(bins, variances, strict=True):
        values = (luminance[blocks] @ DCT_MATRIX.T).ravel()
        values -= values.mean()
        squares = values * values
        second, third, fourth = squares.mean(), squares @ values / len(values), np.mean(squares**2)
        above = (fourth * second - third**2) / max(second**3, 1e-24) - 1
        found.append((1 - above / 2) * np.sqrt(variance))
    similarity = np.quantile(found, 0.75)
    similarity *= between(*_COLORED, np.std(logarithms(spectrum)))
    return float(between(*_TWO_VALUES, similarity))


def _growth(others: Floats, values: Floats) -> float:
    """Return the slope of energies of (n, m) values against those of others, relative to means."""
    energy, y = ((rows**2).mean(axis=1) for rows in (others, values))
    x = energy / max(energy.mean(), 1e-12) - 1
    return float((x @ y) / max(x @ x, 1e-12) / max(y.mean(), 1e-12))
