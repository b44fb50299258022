"""Micrographs that were processed after the exposure, with noise that has become correlated."""

import numpy as np
from scipy.ndimage import gaussian_filter, median_filter, rotate, zoom
from skimage.transform import downscale_local_mean

PROCESSING = {
    "smoothed": lambda pixels: gaussian_filter(pixels, 0.7),
    "median": lambda pixels: median_filter(pixels, 3),
    "enlarged": lambda pixels: zoom(pixels, 1.3, order=1),
    "rotated": lambda pixels: rotate(pixels, 10, reshape=False, order=1, mode="reflect"),
}
"""What is often done to micrographs before they are denoised."""


def processed(scene, kind, rng):
    """Return a micrograph of a scene, processed, and the same without noise; 8 bits.

    The scene is seen at half its size, where it has next to no noise of its own. `kind` is a key
    of `PROCESSING`. The light is between 8 and 600 counts where the scene is brightest.
    """
    scene = downscale_local_mean(scene.astype(float), (2, 2))
    low, high = np.percentile(scene, [0.5, 99.9])
    light = np.exp(rng.uniform(np.log(8), np.log(600)))
    background, read_noise = rng.choice([0, 1, 10, 50]), rng.choice([0, 1, 3])
    counts = light * ((scene - low) / (high - low)).clip(0) + background
    exposed = rng.poisson(counts) + rng.normal(0, 1, counts.shape) * read_noise
    noisy, clean = (PROCESSING[kind](pixels) for pixels in (exposed.astype(float), counts))
    low, high = np.percentile(noisy, [0.1, 99.95])
    return tuple(
        np.rint(255 * ((pixels - low) / (high - low)).clip(0, 1)).astype(np.uint8)
        for pixels in (noisy, clean)
    )
