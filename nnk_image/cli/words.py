"""Describe noise in plain words."""

from __future__ import annotations

import numpy as np

from nnk_image.noise.checks import root_mean_square
from nnk_image.noise.model import NoiseModel, deviations

_STRENGTHS = ((0.004, "very weak"), (0.02, "weak"), (0.05, "moderate"), (0.12, "strong"))
"""Largest standard deviation, as a share of the range of values, for each word."""

GRAINY = 0.15  # correlation of neighboring pixels above which noise is called grainy
_CHANGE = 1.25  # ratio of the levels in dark and in bright parts above which it is mentioned


def described(noise: NoiseModel, low: float, high: float) -> str:
    """Describe noise in an image with values from `low` to `high` in a few words.

    >>> described(NoiseModel(2.4, curve=[[0, 255], [3.0, 1.5]]), 0, 255)
    'weak noise, about 2.4 of 255, stronger in the dark'
    """
    levels = np.sqrt(np.mean(deviations(noise, np.linspace(low, high, 65)) ** 2, axis=0))
    level = typical_level(noise, low, high)
    shared = {"row": noise.rows, "column": noise.columns}
    offsets = " and ".join(f"{name} noise of {_rounded(n)}" for name, n in shared.items() if n)
    if not level > 0:
        return f"no noise but {offsets}" if offsets else "no noise"
    extent = high - low
    strength = next((word for most, word in _STRENGTHS if level <= most * extent), "very strong")
    grainy = ", grainy" if max(noise.neighbor_correlation()) > GRAINY else ""
    dark, bright = (np.mean(part) for part in (levels[:16], levels[-16:]))
    error = "" if noise.uncertainty is None else f" (+- {100 * noise.uncertainty:.0f} %)"
    parts = [
        f"{strength}{grainy} noise",
        f"about {_rounded(level)}{f' of {extent:.5g}' if extent else ''}{error}",
    ]
    if dark > _CHANGE * bright:
        parts.append("stronger in the dark")
    if bright > _CHANGE * dark:
        parts.append("stronger in bright parts")
    if noise.is_uneven:
        parts.append("stronger in some places")
    if offsets:
        parts.append(f"with {offsets}")
    return ", ".join(parts)


def typical_level(noise: NoiseModel, low: float, high: float) -> float:
    """Return the level of noise; that of Poisson noise as a mean over all intensities."""
    levels = deviations(noise, np.linspace(low, high, 65)) if any(noise.gain) else noise.sigma
    return float(root_mean_square(np.array(levels)))


def _rounded(level: float) -> str:
    """Return a level with two significant digits."""
    return f"{float(f'{level:.2g}'):g}"
