"""Noisy images, measures of quality, and checks of reproducibility and progress reports."""

import io

import numpy as np
from PIL import Image

from nnk_image import _core, standard_image


def picture(name):
    """Return a bundled image in float64."""
    return standard_image(name).astype(float)


def with_noise(clean, sigma, seed=0):
    """Add white Gaussian noise to an image."""
    return clean + np.random.default_rng(seed).normal(0, sigma, clean.shape)


def in_8_bits(image):
    """Return an image as a camera stores it: rounded and clipped to 0 to 255."""
    return np.rint(image).clip(0, 255).astype(np.uint8)


def as_jpeg(image, quality):
    """Return an image after it was stored in 8 bits as JPEG."""
    with io.BytesIO() as file:
        Image.fromarray(in_8_bits(image)).save(file, "JPEG", quality=quality)
        return np.asarray(Image.open(file))


def axis_of(image):
    """Return the channel axis of a grayscale or color image."""
    return -1 if image.ndim == 3 else None


def rms(values):
    """Return the root mean square of an array."""
    return float(np.sqrt(np.mean(np.square(values))))


def mean_square(image, clean):
    """Return the mean squared error."""
    return float(np.mean((image - clean) ** 2))


def psnr(clean, image, peak=255):
    """Return the peak signal-to-noise ratio in dB."""
    return 10 * np.log10(peak**2 / mean_square(image, clean))


def assert_same_everywhere(run, jobs=(1, 3)):
    """Check that ``run(n_jobs)`` gives the same bits for all SIMD variants and thread counts."""
    results = []
    try:
        for variant in _core.simd_variants():
            _core.use_simd(variant)
            results += [run(n_jobs) for n_jobs in jobs]
    finally:
        _core.use_simd()
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
    return results[0]


def progress_of(run):
    """Check that the reports of ``run(progress)`` rise to the total; return reports and total."""
    calls = []
    run(lambda done, total: calls.append((done, total)))
    done, totals = zip(*calls, strict=True)
    assert len(set(totals)) == 1
    assert list(done) == sorted(set(done))
    assert done[-1] == totals[0]
    return done, totals[0]
