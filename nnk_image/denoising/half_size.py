"""Low frequencies from a run at half the size, where patches reach twice as far.

Noise of low frequency, such as the colored blotches of a photograph, is wider than a patch.
"""

import math
from dataclasses import replace
from functools import reduce

import numpy as np
from scipy.fft import dctn, idctn

from nnk_image.denoising import patch_filter

_SMALLEST = 16  # below that the half-size image has too few patches to help


def helps(noisy, noise, statistics):
    """Whether (C, H, W) opponent channels are large enough, and noise strong or correlated."""
    worth = statistics.noise_is_moderate or not noise.is_white
    return worth and min(noisy.shape[1:]) >= 2 * _SMALLEST


def progress_units(preset, shape, channels):
    """Return how many times `run` processes all rows of an image."""
    half = math.prod(n // 2 for n in shape[:-1]) / math.prod(shape[:-1])
    return half * patch_filter.progress_units(preset, channels)


def run(noisy, preset, noise, statistics, executor):
    """Return the spectrum (C, H/2, W/2) of the denoised lower half of the frequencies.

    Cut from an orthonormal transform, the half-size image keeps unit noise while its signal
    doubles, and so does its range.
    """
    shape, axes = tuple(n // 2 for n in noisy.shape[1:]), range(1, noisy.ndim)
    spectrum = dctn(noisy, axes=axes, norm="ortho")[:, *(slice(n) for n in shape)]
    small = np.ascontiguousarray(idctn(spectrum, axes=axes, norm="ortho"))
    half_noise = noise.halved(shape)
    levels = np.ones(len(small)) if half_noise.levels is None else half_noise.levels
    levels = levels.reshape(-1, *(1,) * len(shape)).astype(small.dtype)
    small /= levels
    statistics = replace(statistics, spread=None).completed(small)
    denoised = patch_filter.wiener(small, preset, half_noise, statistics, executor)
    denoised *= levels
    return dctn(denoised, axes=axes, norm="ortho")


def with_low_frequencies(estimate, low):
    """Replace the lowest frequencies of `estimate`, with a smooth transition."""
    shape, axes = low.shape[1:], range(1, low.ndim)
    frequency = reduce(np.hypot, np.ix_(*(np.arange(n) / (0.2 * n) for n in shape)))
    weight = np.clip((1.3 - frequency) / 0.6, 0, 1).astype(estimate.dtype)
    spectrum = dctn(estimate, axes=axes, norm="ortho")
    part = spectrum[:, *(slice(n) for n in shape)]
    part += weight * (low - part)
    return idctn(spectrum, axes=axes, norm="ortho")
