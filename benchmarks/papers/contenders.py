"""Denoisers of Figure 3.5, and their settings."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks import denoisers, peers
from benchmarks.papers.shared import BUILDS, ORDER, SIGMA_D, WINDOW
from nnk_image import SpectralGraphWavelets


@dataclass(frozen=True)
class Contender:
    """A denoiser and its settings.

    Attributes
    ----------
    label : str
        Name in the figure.
    run : function
        Called as ``run(noisy, sigma, **setting)``.
    settings : tuple of dict
        Settings that are tried, the published one first.
    """

    label: str
    run: Callable
    settings: tuple[dict, ...] = ({},)


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
    """Return all installed contenders as a dict from name to `Contender`."""
    widths = tuple({"color": c, "spatial": SIGMA_D} for c in (1.7, 1.2, 2.2, 3.0))
    bilateral = partial(peers.bilateral_filter, window=WINDOW)
    found = {
        "bilateral": Contender("original bilateral filter", bilateral, widths),
        "sgw_bilateral": Contender(
            "SGW on the bilateral graph", partial(_sgw, "bilateral"), SGW_SETTINGS
        ),
        "sgw_nnk": Contender("SGW on the NNK graph", partial(_sgw, "nnk"), SGW_SETTINGS),
    }
    for name, denoiser in denoisers.available().items():
        if "bilateral" not in name:
            ours = name in denoisers.OURS
            label = f"denoise, '{name}'" if ours else name
            settings = tuple(denoiser.settings)
            found[f"denoise_{name}" if ours else name] = Contender(label, denoiser.run, settings)
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
