"""Low frequencies from a run at half the size, where patches reach twice as far.

Noise of low frequency, such as the coloured blotches of a photograph, is wider than a patch.
"""

from dataclasses import replace

import numpy as np
from scipy.fft import dctn, idctn

from nnk_image.denoising import patch_filter

_SMALLEST = 16  # below that the half-size image has too few patches to help


def helps(noisy, whole):
    """Whether (C, H, W) opponent channels are large enough, and noise strong or correlated."""
    worth = whole.noise_is_moderate or not whole.standard.is_white
    return worth and min(noisy.shape[1:]) >= 2 * _SMALLEST


def run(noisy, preset, whole, executor):
    """Spectrum (C, H/2, W/2) of the denoised lower half of the frequencies.

    Cut from an orthonormal transform, the half-size image keeps unit noise while its
    signal doubles, and so its range: that is looked at anew.
    """
    height, width = (n // 2 for n in noisy.shape[1:])
    spectrum = dctn(noisy, axes=(1, 2), norm="ortho")[:, :height, :width]
    small = np.ascontiguousarray(idctn(spectrum, axes=(1, 2), norm="ortho"))
    noise = whole.standard.halved((height, width))
    levels = 1.0 if noise.levels is None else noise.levels[:, None, None].astype(small.dtype)
    small /= levels
    whole = replace(whole, spread=None, standard=noise).completed(small)
    denoised = patch_filter.wiener(small, preset, whole, executor)
    denoised *= levels
    return dctn(denoised, axes=(1, 2), norm="ortho")


def with_low_frequencies(estimate, low):
    """Replace the lowest frequencies of `estimate`, with a smooth transition."""
    height, width = low.shape[1:]
    y, x = np.arange(height) / (0.2 * height), np.arange(width) / (0.2 * width)
    weight = np.clip((1.3 - np.hypot(y[:, None], x)) / 0.6, 0, 1).astype(estimate.dtype)
    spectrum = dctn(estimate, axes=(1, 2), norm="ortho")
    part = spectrum[:, :height, :width]
    part += weight * (low - part)
    return idctn(spectrum, axes=(1, 2), norm="ortho")
