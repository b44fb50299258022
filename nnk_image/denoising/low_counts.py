"""Poisson noise: rounds of denoising in variance-stabilized units.

Where a pixel has few counts, its noise is far from Gaussian even after stabilization, and one round
leaves much of it. So the image is denoised more than once, in sums of pixels and then in mixtures
with the estimate so far, see docs/noise.md (L. Azzari, A. Foi, `nnk_image.noise.stabilization`).
"""

from typing import NamedTuple

import numpy as np

from nnk_image.noise.model import NoiseModel

_FEW = 1.8  # counts per pixel below which sums of 4 x 4 pixels come before those of 2 x 2
_ENOUGH, _ENOUGH_IN_VOLUMES = 10.0, 3.5  # counts from which one round is as good as several

_SHARE, _POWER, _LEAST_SHARE, _MOST_SHARE = 0.37, 0.5, 0.2, 0.85
"""In the mixture with the estimate that the last round denoises, the noisy image has the share
``_SHARE * counts ** _POWER``, given the counts per pixel, within these limits."""

_SHARES_IN_VOLUMES = 0.65, 0.7  # the same in the last two rounds, for at least `_FEW` counts
_LEAST_GAIN = 1e-6  # relative to the read noise; smaller gains are raised to it


class Round(NamedTuple):
    """One round of denoising."""

    method: str  # name in `methods.METHODS` of what denoises the stabilized image
    side: int = 1  # of the blocks of pixels whose sums are denoised; 1: the pixels themselves
    share: float = 1.0  # of the noisy image in its mixture with the estimate of the round before


def poisson_parameters(noise: NoiseModel, channels):
    """Return (gain, sigma, offset) of each of the given channels, gains bounded from below."""
    gains, sigmas, offsets = (
        np.array(v)[channels] for v in (noise.gain, noise.sigma, noise.offset)
    )
    gains = np.maximum(gains, _LEAST_GAIN * sigmas)
    return list(zip(gains.tolist(), sigmas.tolist(), offsets.tolist(), strict=True))


def plan_rounds(noise: NoiseModel, channels, method, statistics, shape):
    """Return the rounds that suit the channel with the fewest counts, given its `Statistics`."""
    moments = list(zip(statistics.means, statistics.squares, strict=True))
    parameters = zip(channels, poisson_parameters(noise, channels), strict=True)
    counts = min(effective_counts(*moments[c], *p) for c, p in parameters)
    return rounds_for(method, counts, len(shape))


def effective_counts(mean, square, gain, read=0.0, offset=0.0):
    """Return the counts per pixel whose Poisson noise alone is as strong as all noise in the light.

    They are the squared intensity above the offset over the variance of the noise: the mean count
    if there is no read noise. The intensity is averaged with itself as weight, so that a dark
    background does not lower it. `mean` and `square` are the means of the noisy pixels and of their
    squares, `read` is the standard deviation of the read noise.
    """
    light = mean - offset
    if not 0 < light < np.inf:
        return 0.0 if light <= 0 else np.inf
    squares = square - 2 * offset * mean + offset * offset - (gain * light + read * read)
    light = max(light, squares / light)
    return light / (gain + read * (read / light)) if light < np.inf else np.inf


def rounds_for(method, counts, axes=2):
    """Return the rounds for `effective_counts`; only 'fast' and 'best' take more than one."""
    if method == "sgw" or counts >= (_ENOUGH if axes == 2 else _ENOUGH_IN_VOLUMES):
        return [Round(method)]
    if counts >= _FEW and axes > 2:
        before, last = _SHARES_IN_VOLUMES
        return [Round("fast", 2), Round("fast", 1, before), Round(method, 1, last)]
    last = Round(method, 1, float(np.clip(_SHARE * counts**_POWER, _LEAST_SHARE, _MOST_SHARE)))
    if counts >= _FEW:
        return [Round("fast", 2), last]
    return [Round("fast", 4), Round("fast", 2, 0.6), last]


def keep_means(estimate, noisy, parameters, valid):
    """Scale each channel, in place, to the mean of the noisy image where there is light.

    Denoising in stabilized units alone would darken textures. The scale starts at the intensity at
    which the noise would have variance 0. Pixels with an estimate at the offset are left out, or a
    background whose noisy values are below the offset would darken the bright parts.
    """
    for c, (gain, read, offset) in enumerate(parameters):
        lift = read**2 / gain  # height of the offset above that intensity
        light = np.maximum(estimate[..., c] - offset, 0)
        lit = light > 0 if valid is None else (light > 0) & valid
        n = max(1, np.count_nonzero(lit))
        estimated = float(light.sum(where=lit, dtype=np.float64)) / n + lift
        given = float(noisy[..., c].sum(where=lit, dtype=np.float64)) / n - offset + lift
        if estimated > 0 and given > 0:
            # (light + lift) * given / estimated - lift, but without rounding errors of a large lift
            light += (light + lift) * ((given - estimated) / estimated)
        estimate[..., c] = light + offset
