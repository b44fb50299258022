"""Low frequencies from a run at half the size, where patches reach twice as far.

Noise of low frequency, such as the coloured blotches of a photograph, is wider than a patch.
"""

import math
from dataclasses import replace
from functools import reduce

import numpy as np
from scipy.fft import dctn, idctn

from nnk_image.denoising import patch_filter

_SMALLEST = 16  # below that the half-size image has too few patches to help


def helps(noisy, whole):
    """Whether (C, H, W) opponent channels are large enough, and noise strong or correlated."""
    worth = whole.noise_is_moderate or not whole.standard.is_white
    return worth and min(noisy.shape[1:]) >= 2 * _SMALLEST


def progress_units(preset, image):
    """How many times `run` goes over all rows of an `Image`, for progress bars."""
    half = math.prod(n // 2 for n in image.shape[:-1]) / math.prod(image.shape[:-1])
    return half * patch_filter.progress_units(preset, image.channels)


def run(noisy, preset, whole, executor):
    """Spectrum (C, H/2, W/2) of the denoised lower half of the frequencies.

    Cut from an orthonormal transform, the half-size image keeps unit noise while its
    signal doubles, and so its range: that is looked at anew.
    """
    shape, axes = tuple(n // 2 for n in noisy.shape[1:]), range(1, noisy.ndim)
    spectrum = dctn(noisy, axes=axes, norm="ortho")[:, *(slice(n) for n in shape)]
    small = np.ascontiguousarray(idctn(spectrum, axes=axes, norm="ortho"))
    noise = whole.standard.halved(shape)
    levels = np.ones(len(small)) if noise.levels is None else noise.levels
    levels = levels.reshape(-1, *(1,) * len(shape)).astype(small.dtype)
    small /= levels
    whole = replace(whole, spread=None, standard=noise).completed(small)
    denoised = patch_filter.wiener(small, preset, whole, executor)
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
