"""What the tables of noise share: images, scores and times."""

import time
from statistics import fmean

import numpy as np
from skimage.metrics import peak_signal_noise_ratio

from benchmarks.pictures import images_of_8_bits


def images(options):
    """(name, pixels) of the gray images."""
    found = images_of_8_bits(options.noise_images, color=False)
    return [(name, pixels.astype(float)) for name, pixels in found]


def psnr(clean, result, peak=255):
    """Peak signal to noise ratio in dB; infinite where nothing differs."""
    with np.errstate(divide="ignore"):
        return peak_signal_noise_ratio(clean, np.asarray(result, dtype=float), data_range=peak)


def cpu(function, *arguments, **options):
    """What a call returns, and the processor time it took."""
    start = time.process_time()
    result = function(*arguments, **options)
    return result, time.process_time() - start


def means(rows):
    """The mean of each number over rows."""
    numbers = [key for key, value in rows[0].items() if isinstance(value, int | float)]
    return {key: fmean(row[key] for row in rows) for key in numbers}


def worst(rows, better, than):
    """The image that loses most, and how much."""
    row = min(rows, key=lambda row: row[better] - row[than])
    return f"{row['image']} {row[better] - row[than]:+.2f}"
