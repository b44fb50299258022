"""Denoisers of Figure 3.5, and their settings."""

from functools import partial

import numpy as np

from benchmarks import peers
from benchmarks.papers.shared import BUILDS, ORDER, SIGMA_D, WINDOW
from nnk_image import SpectralGraphWavelets
from nnk_image.denoising.methods import METHODS

SGW_SETTINGS = (
    {"width": 1.7, "laplacian": "combinatorial", "kept": 3},
    {"width": 1.7, "laplacian": "combinatorial", "kept": 4},
    {"width": 1.7, "laplacian": "random_walk", "kept": 3},
    {"width": 1.7, "laplacian": "random_walk", "kept": 4},
    {"width": 1.2, "laplacian": "random_walk", "kept": 3},
    {"width": 1.2, "laplacian": "random_walk", "kept": 4},
)
"""`width` is sigma_f / sigma, which is not published; `kept` is the number of bands kept."""


def contenders():
    """Return all installed contenders, a dict from name to label, function and settings.

    The function is called as ``run(noisy, sigma, **setting)``; the first setting is the published
    one.
    """
    widths = [{"color": c, "spatial": SIGMA_D} for c in (1.7, 1.2, 2.2, 3.0)]
    bilateral = partial(peers.bilateral_filter, window=WINDOW)
    found = {
        "bilateral": ("original bilateral filter", bilateral, widths),
        "sgw_bilateral": ("SGW on the bilateral graph", partial(_sgw, "bilateral"), SGW_SETTINGS),
        "sgw_nnk": ("SGW on the NNK graph", partial(_sgw, "nnk"), SGW_SETTINGS),
    }
    for name, denoiser in peers.available().items():
        if name in METHODS:
            found[f"denoise_{name}"] = f"denoise, '{name}'", *denoiser
        elif "bilateral" not in name:
            found[name] = name, *denoiser
    return found


def _sgw(kind, noisy, sigma, width, laplacian, kept):
    """Denoise by keeping the lowest wavelet bands on a graph of the noisy image."""
    graph = BUILDS[kind](noisy, WINDOW, SIGMA_D, width * sigma)
    wavelets = SpectralGraphWavelets(
        graph, order=ORDER, laplacian=laplacian, approximation="projection"
    )
    return keep_bands(wavelets, noisy, kept)


def keep_bands(wavelets, noisy, n_kept):
    """Return the least-squares synthesis from the lowest bands of an image; its mean is preserved.

    Analysis, selection of bands and synthesis are together one function of the Laplacian,
    ``sum_kept g_s^2 / sum_all g_s^2``.
    """

    def response(x):
        power = wavelets.bank.evaluate(x) ** 2
        return power[:n_kept].sum(axis=0) / power.sum(axis=0)

    mean = np.mean(noisy)
    return mean + wavelets.filter(noisy - mean, response)
