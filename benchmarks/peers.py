"""Other denoisers, which `denoise` is compared with.

Each takes a float64 image with values about 0 to 255, gray (H, W) or color (H, W, 3), and
the standard deviation of the noise; settings that are intensities are in units of sigma.
scikit-image's functions get values of about 0 to 1, which are not clipped.
"""

from itertools import product

import numpy as np
from skimage import restoration


def channel_axis_of(image):
    """-1 for color, None for gray."""
    return -1 if image.ndim == 3 else None


def bilateral_filter(noisy, sigma, color, spatial, window=None):
    """The bilateral filter by its definition: ``D^-1 K y``, each pixel a neighbor of its own.

    scikit-image's differs: in 0.26 it reads its table of spatial weights, win_size + 1 wide,
    with a step of win_size, so that the weights are sheared.
    """
    pixels = np.atleast_3d(noisy)
    value, weight = pixels.copy(), np.ones(pixels.shape[:2])
    for dy, dx in forward_offsets(window or 2 * int(np.ceil(3 * spatial)) + 1):
        here, there = pairs(pixels, dy, dx)
        distance = ((here - there) ** 2).sum(axis=2) / (2 * (color * sigma) ** 2)
        w = np.exp(-(dy**2 + dx**2) / (2 * spatial**2) - distance)
        # Each pair of pixels adds to the sums of both: views of the sums here and there.
        for target, source in zip(pairs(value, dy, dx), (there, here), strict=True):
            target += w[..., None] * source
        for target in pairs(weight, dy, dx):
            target += w
    return (value / weight[..., None]).reshape(noisy.shape)


def forward_offsets(window):
    """Half of the offsets of a window: those after (0, 0) in row-major order."""
    r = window // 2
    return [(dy, dx) for dy in range(r + 1) for dx in range(-r, r + 1) if dy > 0 or dx > 0]


def pairs(plane, dy, dx):
    """Views of all pixels that have a neighbor at (dy, dx), and of those neighbors."""
    height, width = plane.shape[:2]
    first, last = columns(width, dx)
    return plane[: height - dy, first:last], plane[dy:, first + dx : last + dx]


def columns(width, dx):
    """First column that has a neighbor at dx, and one after the last."""
    return max(0, -dx), min(width, width - dx)


def skimage_bilateral(noisy, sigma, color, spatial):
    """scikit-image's bilateral filter, on values shifted to start at 0.

    For negative values (in 0.26) it makes its table of intensity weights for another range
    than it reads it with. Its default border, which is black, is replaced.
    """
    low = noisy.min()
    return low + 255 * restoration.denoise_bilateral(
        (noisy - low) / 255,
        sigma_color=color * sigma / 255,
        sigma_spatial=spatial,
        mode="symmetric",
        channel_axis=channel_axis_of(noisy),
    )


def non_local_means(noisy, sigma, h, patch, distance=10):
    """scikit-image's non-local means, given sigma."""
    return 255 * restoration.denoise_nl_means(
        noisy / 255,
        patch_size=patch,
        patch_distance=distance,
        h=h * sigma / 255,
        sigma=sigma / 255,
        fast_mode=True,
        channel_axis=channel_axis_of(noisy),
    )


def wavelet_shrinkage(noisy, sigma, basis, shifts):
    """BayesShrink, averaged over (shifts + 1)^2 shifts of the image (cycle spinning)."""
    total = np.zeros_like(noisy)
    for shift in product(range(shifts + 1), repeat=2):
        shifted = restoration.denoise_wavelet(
            np.roll(noisy, shift, axis=(0, 1)) / 255,
            sigma=sigma / 255,
            wavelet=basis,
            method="BayesShrink",
            rescale_sigma=True,
            channel_axis=channel_axis_of(noisy),
        )
        total += np.roll(shifted, (-shift[0], -shift[1]), axis=(0, 1))
    return total * (255 / (shifts + 1) ** 2)


def total_variation(noisy, sigma, weight):
    """Total variation by Chambolle's algorithm."""
    return 255 * restoration.denoise_tv_chambolle(
        noisy / 255, weight=weight * sigma / 255, channel_axis=channel_axis_of(noisy)
    )


def bm3d_filter():
    """The function ``(noisy, sigma)`` of the package bm3d, or None where it is missing."""
    try:
        import bm3d
    except ImportError:
        return None

    def run(noisy, sigma):
        function = bm3d.bm3d_rgb if noisy.ndim == 3 else bm3d.bm3d
        return np.asarray(function(noisy, sigma))

    return run
