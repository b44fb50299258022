"""The denoisers to compare: what to call, and the settings to choose from.

Each takes a float64 image with values about 0 to 255, grey (H, W) or colour (H, W, 3),
and the noise's standard deviation; the settings of a grid are in units of sigma where
they are intensities.  skimage's methods get values about 0 to 1, never clipped.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from unittest.mock import patch

import numpy as np
from skimage import restoration

import nnk_image
from benchmarks.graph import forward_offsets, pairs
from nnk_image.denoising import METHODS, sgw


@dataclass(frozen=True)
class Denoiser:
    """A function ``run(noisy, sigma, **setting)``, its grid of settings and a usual one."""

    run: Callable
    grid: dict[str, tuple] = field(default_factory=dict)
    usual: dict = field(default_factory=dict)

    def usual_text(self):
        """The usual setting in words."""
        return ", ".join(f"{key} {value}" for key, value in self.usual.items())


def available():
    """Name -> Denoiser, of all that are installed."""
    ours = {name: Denoiser(partial(run_ours, method=name)) for name in METHODS}
    found = ours | _PEERS
    try:
        import bm3d
    except ImportError:
        return found
    return found | {"bm3d": Denoiser(lambda noisy, sigma: _bm3d(bm3d, noisy, sigma))}


def _axis(image):
    return -1 if image.ndim == 3 else None


def run_ours(noisy, sigma, method):
    """`nnk_image.denoise`, as every user calls it."""
    return nnk_image.denoise(noisy, sigma, method=method, channel_axis=_axis(noisy))


def run_sgw_bilateral(noisy, sigma, sigma_f=sgw.SIGMA_F, bands_kept=sgw.BANDS_KEPT):
    """The filter of method 'sgw' on the bilateral graph of the same window."""
    graph = nnk_image.bilateral_graph(
        noisy, sgw.WINDOW, sgw.SIGMA_D, sigma_f * sigma, channel_axis=_axis(noisy)
    )
    with patch.object(sgw, "BANDS_KEPT", bands_kept):
        return nnk_image.denoise(noisy, sigma, method="sgw", guide=graph, channel_axis=_axis(noisy))


def run_bilateral(noisy, sigma, color, spatial):
    """skimage's bilateral filter, lifted to start at 0.

    With negative values (in 0.26) its table of intensity weights is made for another range
    than it is read with; and its default border is black.
    """
    low = noisy.min()
    return low + 255 * restoration.denoise_bilateral(
        (noisy - low) / 255,
        sigma_color=color * sigma / 255,
        sigma_spatial=spatial,
        mode="symmetric",
        channel_axis=_axis(noisy),
    )


def run_bilateral_exact(noisy, sigma, color, spatial):
    """The bilateral filter by its definition, on the same window.

    scikit-image's differs: in 0.26 it reads its table of spatial weights, win_size + 1 wide,
    with a step of win_size, so that the weights are sheared.
    """
    radius = int(np.ceil(3 * spatial))
    pixels = np.atleast_3d(noisy)
    value, weight = pixels.copy(), np.ones(pixels.shape[:2])
    for dy, dx in forward_offsets(2 * radius + 1):
        here, there = pairs(pixels, dy, dx)
        distance = ((here - there) ** 2).sum(axis=2) / (2 * (color * sigma) ** 2)
        w = np.exp(-(dy**2 + dx**2) / (2 * spatial**2) - distance)
        # `pairs` of the sums: one view of the pixels here, one of those there.
        for target, source in zip(pairs(value, dy, dx), (there, here), strict=True):
            target += w[..., None] * source
        for target in pairs(weight, dy, dx):
            target += w
    return (value / weight[..., None]).reshape(noisy.shape)


def run_nlm(noisy, sigma, h, patch, distance):
    """Non-local means that know sigma."""
    return 255 * restoration.denoise_nl_means(
        noisy / 255,
        patch_size=patch,
        patch_distance=distance,
        h=h * sigma / 255,
        sigma=sigma / 255,
        fast_mode=True,
        channel_axis=_axis(noisy),
    )


def run_wavelet(noisy, sigma, basis, shifts):
    """BayesShrink, averaged over (shifts + 1)^2 shifts of the image (cycle spinning)."""
    total = np.zeros_like(noisy)
    for shift in product(range(shifts + 1), repeat=2):
        shifted = restoration.denoise_wavelet(
            np.roll(noisy, shift, axis=(0, 1)) / 255,
            sigma=sigma / 255,
            wavelet=basis,
            method="BayesShrink",
            rescale_sigma=True,
            channel_axis=_axis(noisy),
        )
        total += np.roll(shifted, (-shift[0], -shift[1]), axis=(0, 1))
    return total * (255 / (shifts + 1) ** 2)


def run_tv(noisy, sigma, weight):
    """Total variation by Chambolle's algorithm."""
    return 255 * restoration.denoise_tv_chambolle(
        noisy / 255, weight=weight * sigma / 255, channel_axis=_axis(noisy)
    )


def _bm3d(bm3d, noisy, sigma):
    run = bm3d.bm3d_rgb if noisy.ndim == 3 else bm3d.bm3d
    return np.asarray(run(noisy, sigma))


_PEERS = {
    "sgw_bilateral": Denoiser(run_sgw_bilateral),
    "sgw_bilateral_tuned": Denoiser(
        run_sgw_bilateral,
        {"sigma_f": (1.2, 1.7, 2.5, 3.5), "bands_kept": (3, 4, 5)},
        {"sigma_f": 1.2, "bands_kept": 4},
    ),
    "bilateral": Denoiser(
        run_bilateral,
        {"color": (1, 1.5, 2, 2.5, 3, 4), "spatial": (1, 1.5, 2, 3)},
        {"color": 2.5, "spatial": 1.5},
    ),
    "bilateral_exact": Denoiser(
        run_bilateral_exact,
        {"color": (1.5, 2, 2.5, 3, 4, 6), "spatial": (1, 1.5, 2, 3)},
        {"color": 2.5, "spatial": 1.5},
    ),
    "nlm": Denoiser(
        run_nlm,
        {"h": (0.4, 0.6, 0.8), "patch": (3, 5, 7, 9), "distance": (10,)},
        {"h": 0.6, "patch": 5, "distance": 10},
    ),
    "wavelet": Denoiser(
        run_wavelet,
        {"basis": ("db1", "db2", "sym4", "sym8"), "shifts": (0, 3)},
        {"basis": "db2", "shifts": 0},
    ),
    "tv": Denoiser(run_tv, {"weight": (0.5, 0.7, 0.9, 1.1, 1.4)}, {"weight": 0.9}),
}
