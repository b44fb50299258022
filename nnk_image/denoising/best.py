"""'best': growing patches, low frequencies from a half-size run, a second look."""

from dataclasses import replace

import numpy as np
from scipy.fft import dctn, idctn

from nnk_image.denoising import patch_filter
from nnk_image.denoising.color import from_opponent, to_opponent
from nnk_image.denoising.presets import PRESETS, SECOND_LOOK

_SMALLEST_HALF = 16  # below that the half-size image has too few patches to help


def denoise(image, whole, executor):
    """Denoise an `Image` in units of its noise; parameters and result as in 'balanced'."""
    noisy = to_opponent(image.pixels)
    whole = whole.completed(noisy)
    estimate = patch_filter.wiener(noisy, PRESETS["best"], whole, executor)
    if not whole.noise_is_moderate or min(noisy.shape[1:]) < 2 * _SMALLEST_HALF:
        return from_opponent(estimate)
    low = _half_size_run(noisy, whole, executor)
    estimate = _with_low_frequencies(estimate, low)
    if whole.noise_is_strong:
        again = patch_filter.look_again(noisy, estimate, SECOND_LOOK, executor)
        estimate = _with_low_frequencies((estimate + again) / 2, low)
    return from_opponent(estimate)


def progress_units(image):
    """How many times the method goes over all rows, for progress bars; more in strong noise."""
    units = (patch_filter.progress_units(PRESETS[name]) for name in ("best", "balanced"))
    return sum(units) * image.channels


def _half_size_run(noisy, whole, executor):
    """Spectrum (C, H/2, W/2) of the denoised lower half of the frequencies.

    Cut from an orthonormal transform, the half-size image keeps unit noise while its
    signal doubles, and so its range: that is looked at anew.
    """
    height, width = (n // 2 for n in noisy.shape[1:])
    spectrum = dctn(noisy, axes=(1, 2), norm="ortho")[:, :height, :width]
    small = np.ascontiguousarray(idctn(spectrum, axes=(1, 2), norm="ortho"))
    whole = replace(whole, spread=None).completed(small)
    denoised = patch_filter.wiener(small, PRESETS["balanced"], whole, executor)
    return dctn(denoised, axes=(1, 2), norm="ortho")


def _with_low_frequencies(estimate, low):
    """Replace the lowest frequencies of `estimate`, with a smooth transition."""
    height, width = low.shape[1:]
    y, x = np.arange(height) / (0.2 * height), np.arange(width) / (0.2 * width)
    weight = np.clip((1.3 - np.hypot(y[:, None], x)) / 0.6, 0, 1).astype(estimate.dtype)
    spectrum = dctn(estimate, axes=(1, 2), norm="ortho")
    part = spectrum[:, :height, :width]
    part += weight * (low - part)
    return idctn(spectrum, axes=(1, 2), norm="ortho")
