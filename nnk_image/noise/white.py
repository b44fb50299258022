"""White noise of an image: independent in each channel, or shared by them, apart from texture."""

from typing import Any

import numpy as np

from nnk_image.base.image import Floats
from nnk_image.noise.brightness import weighted_medians
from nnk_image.noise.scale import Scale
from nnk_image.noise.texture import between

_CHROMA_LEVELS = 0.012, 0.024
"""Standard deviations of the chroma's white noise, in an image from -1 to 1. Up to the first, which
is 1.5 of 255, JPEG and rounding may explain it, and the luminance is not limited; from the second
on, the limit applies fully."""

_INDEPENDENT_RATIO = 3.0
"""Ratio of the variances of white noise in luminance and chroma, up to which channels count as
independent. From twice this ratio on, they share their noise."""

_MOST_EXCESS = 1.3
"""Ratio of a sum of variances to what was measured, up to which texture need not be the reason;
docs/estimation_figures.md says how it was chosen."""


def shared_white(scale: Scale) -> float:
    """Return the variance of the white noise that is the same in all channels.

    Such noise is left where colors were smoothed. It is that of the quietest channel, times the
    mean correlation of the channels.
    """
    white = scale.typical_white
    if len(white) == 1:
        return 0.0
    if_equal = np.sqrt(white).sum() ** 2 - white.sum()  # of the sum of all channels
    correlation = (len(white) * scale.white_luminance - white.sum()) / if_equal
    return float(np.clip(correlation, 0, 1) * white.min())


def independent_white(scale: Scale) -> Floats:
    """Return the (C,) variances of the white noise that the channels do not share."""
    return scale.typical_white - shared_white(scale)


def possible_texture(scale: Scale) -> Floats:
    """Return which part of the (C,) variances of `independent_white` may be texture.

    In gray, all of it. In color, what is above a limit: the largest one with which the weighted sum
    of the variances in no opponent channel is clearly greater than what was measured there.
    """
    variances = independent_white(scale)
    if len(variances) == 1:
        return variances
    limits = np.array([0, *np.sort(variances)])
    sums = scale.matrix**2 @ np.minimum(variances[:, None], limits)
    most = _MOST_EXCESS * scale.typical_white_own
    limit = min(np.interp(m, own, limits) for m, own in zip(most, sums, strict=True))
    return np.maximum(variances - limit, 0)


def most_luminance(scale: Scale) -> Floats:
    """Return (B,) bounds on the variance of the luminance noise, given that of the chroma.

    There is no bound if the chroma's white noise is weak, or if the channels share theirs.
    """
    unlimited = np.full(len(scale.brightness), np.inf)
    if len(scale.matrix) == 1:
        return unlimited
    chroma = weighted_medians(scale.bin_variances[1:], scale.certainty)
    luminance, *white = scale.typical_white_own
    independent = 2 - luminance / max(_INDEPENDENT_RATIO * np.mean(white), 1e-24)
    known: Any = between(*_CHROMA_LEVELS, np.sqrt(np.mean(white)))
    known *= np.clip(independent, 0, 1)
    share = np.clip(white / np.maximum(chroma, 1e-24), 1e-6, 1).min()
    return scale.bin_variances[1:].mean(axis=0) / share**2 / known if known else unlimited
