"""Denoisers to compare, and grids of settings from which the best one is chosen.

Each takes a float64 image, gray (H, W) or color (H, W, 3), and the standard deviation `sigma` of
the noise. Values are about 0 to 255. Settings that are intensities are in units of sigma.
scikit-image's functions get values of about 0 to 1, which are not clipped.
"""

from functools import partial
from itertools import product

import numpy as np
from skimage import restoration

import nnk_image
from nnk_image.denoising.methods import METHODS


def channel_axis_of(image):
    """Return the channel axis of an image: -1 for color, None for gray."""
    return -1 if image.ndim == 3 else None


def bilateral_filter(noisy, sigma, color, spatial, window=None):
    """Filter by the definition of the bilateral filter, ``D^-1 K y``, where K has a unit diagonal.

    The filter of scikit-image 0.26 differs. Its table of spatial weights has rows of win_size + 1
    entries, but is read with a row length of win_size, so its weights are sheared.
    """
    pixels = np.atleast_3d(noisy)
    value, weight = pixels.copy(), np.ones(pixels.shape[:2])
    for dy, dx in forward_offsets(window or 2 * int(np.ceil(3 * spatial)) + 1):
        here, there = neighbor_pairs(pixels, dy, dx)
        distance = ((here - there) ** 2).sum(axis=2) / (2 * (color * sigma) ** 2)
        w = np.exp(-(dy**2 + dx**2) / (2 * spatial**2) - distance)
        # Each pair of pixels contributes to both; the targets are views of the sums.
        for target, source in zip(neighbor_pairs(value, dy, dx), (there, here), strict=True):
            target += w[..., None] * source
        for target in neighbor_pairs(weight, dy, dx):
            target += w
    return (value / weight[..., None]).reshape(noisy.shape)


def forward_offsets(window):
    """Return half of the offsets (dy, dx) of a window, those after (0, 0) in row-major order."""
    r = window // 2
    return [(dy, dx) for dy in range(r + 1) for dx in range(-r, r + 1) if dy > 0 or dx > 0]


def neighbor_pairs(image, dy, dx):
    """Return views of all pixels that have a neighbor at offset (dy, dx), and of the neighbors."""
    height, width = image.shape[:2]
    first, last = column_range(width, dx)
    return image[: height - dy, first:last], image[dy:, first + dx : last + dx]


def column_range(width, dx):
    """Return the first column that has a neighbor at offset dx, and one after the last."""
    return max(0, -dx), min(width, width - dx)


def skimage_bilateral(noisy, sigma, color, spatial):
    """Filter with scikit-image's bilateral filter, on values shifted to start at 0.

    With negative values, version 0.26 computes its table of intensity weights for another range
    than that in which it is read. The border is mirrored; the default one is black.
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
    """Denoise with scikit-image's non-local means for a known sigma."""
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
    """Denoise with BayesShrink, averaged over (shifts + 1)^2 shifts (cycle spinning)."""
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
    """Denoise with total variation by Chambolle's algorithm."""
    return 255 * restoration.denoise_tv_chambolle(
        noisy / 255, weight=weight * sigma / 255, channel_axis=channel_axis_of(noisy)
    )


def bm3d_filter():
    """Return a function of (noisy, sigma) that runs the package bm3d; None if not installed."""
    try:
        import bm3d
    except ImportError:
        return None

    def run(noisy, sigma):
        function = bm3d.bm3d_rgb if noisy.ndim == 3 else bm3d.bm3d
        return np.asarray(function(noisy, sigma))

    return run


def ours(noisy, sigma, method):
    """Denoise with `nnk_image.denoise`, as a user calls it."""
    return nnk_image.denoise(noisy, sigma, method=method, channel_axis=channel_axis_of(noisy))


def available():
    """Return all installed denoisers, a dict from name to a function and a list of its settings.

    The function is called as ``run(noisy, sigma, **setting)``.
    """
    found = {name: (partial(ours, method=name), [{}]) for name in METHODS}
    for name, (run, grid) in _GRIDS.items():
        settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        found[name] = run, settings
    run_bm3d = bm3d_filter()
    return found if run_bm3d is None else found | {"bm3d": (run_bm3d, [{}])}


_GRIDS = {
    "bilateral": (skimage_bilateral, {"color": (1, 1.5, 2, 2.5, 3, 4), "spatial": (1, 1.5, 2, 3)}),
    "bilateral_exact": (
        bilateral_filter,
        {"color": (1.5, 2, 2.5, 3, 4, 6), "spatial": (1, 1.5, 2, 3)},
    ),
    "nlm": (
        non_local_means,
        {"h": (0.4, 0.6, 0.8), "patch": (3, 5, 7, 9), "distance": (10,)},
    ),
    "wavelet": (wavelet_shrinkage, {"basis": ("db1", "db2", "sym4", "sym8"), "shifts": (0, 3)}),
    "tv": (total_variation, {"weight": (0.5, 0.7, 0.9, 1.1, 1.4)}),
}
"""Functions by name, and the values of each setting that are tried."""
