"""What the tables of noise share: images, scores and times."""

import time
from statistics import fmean

import numpy as np
from skimage.metrics import peak_signal_noise_ratio

import nnk_image
from benchmarks.pictures import BUNDLED
from nnk_image.cli.paths import image_paths
from nnk_image.io import read


def images(options):
    """(name, pixels) of the grey images."""
    if options.noise_images:
        files = image_paths([options.noise_images])
        return [(path.stem, read(path)[0].astype(float)) for path in files]
    return [(name, nnk_image.standard_image(name).astype(float)) for name in BUNDLED]


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
