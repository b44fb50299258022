"""Simulated micrographs, whose noise became correlated when they were processed."""

import numpy as np
from scipy.ndimage import gaussian_filter, median_filter, rotate, zoom
from skimage.transform import downscale_local_mean

from benchmarks.noises import poisson_gaussian

PROCESSING = {
    "smoothed": lambda pixels: gaussian_filter(pixels, 0.7),
    "median": lambda pixels: median_filter(pixels, 3),
    "enlarged": lambda pixels: zoom(pixels, 1.3, order=1),
    "rotated": lambda pixels: rotate(pixels, 10, reshape=False, order=1, mode="reflect"),
}
"""Common operations on micrographs before they are denoised."""


def processed(scene, kind, rng):
    """Simulate a micrograph of a scene, and process it.

    Parameters
    ----------
    scene : (H, W) ndarray
        Micrograph almost without noise. It is reduced to half its size, which removes most of the
        remaining noise.
    kind : str
        Key of `PROCESSING`.
    rng : numpy.random.Generator
        Draws the noise and the exposure: 8 to 600 photons at the brightest pixels.

    Returns
    -------
    noisy, clean : 2D ndarray of uint8
        The processed micrograph with Poisson and read noise, and without noise.
    """
    scene = downscale_local_mean(scene.astype(float), (2, 2))
    low, high = np.percentile(scene, [0.5, 99.9])
    peak = np.exp(rng.uniform(np.log(8), np.log(600)))
    background, read_noise = rng.choice([0, 1, 10, 50]), rng.choice([0, 1, 3])
    counts = peak * ((scene - low) / (high - low)).clip(0) + background
    exposed = poisson_gaussian(counts, 1, read_noise, rng)
    noisy, clean = (PROCESSING[kind](pixels) for pixels in (exposed, counts))
    low, high = np.percentile(noisy, [0.1, 99.95])
    return tuple(
        np.rint(255 * ((pixels - low) / (high - low)).clip(0, 1)).astype(np.uint8)
        for pixels in (noisy, clean)
    )
