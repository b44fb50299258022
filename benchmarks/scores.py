"""Scores of denoised images, and summaries of tables."""

from statistics import fmean

import numpy as np
from skimage.metrics import peak_signal_noise_ratio, structural_similarity


def psnr(clean, result, peak=255):
    """Return the peak signal-to-noise ratio in dB; it is infinite for equal images."""
    with np.errstate(divide="ignore"):
        return peak_signal_noise_ratio(clean, np.asarray(result, dtype=float), data_range=peak)


def ssim(clean, result):
    """Return the structural similarity of images from 0 to 255, with Gaussian weights."""
    return structural_similarity(
        clean,
        result,
        data_range=255,
        gaussian_weights=True,
        sigma=1.5,
        use_sample_covariance=False,
        channel_axis=-1 if clean.ndim == 3 else None,
    )


def column_means(rows):
    """Return a row with the mean of each numeric column."""
    numeric = [name for name, value in rows[0].items() if isinstance(value, int | float)]
    return {name: fmean(row[name] for row in rows) for name in numeric}


def group_means(rows, by, of):
    """Return one row per combination of the columns `by`, with the means of the columns `of`."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return [
        dict(zip(by, key, strict=True)) | {name: fmean(row[name] for row in group) for name in of}
        for key, group in groups.items()
    ]
