"""Denoisers to compare, and grids of settings from which the best one is chosen.

The denoisers are functions as those of `benchmarks.peers`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import nnk_image
from benchmarks import peers
from nnk_image.denoising.methods import METHODS

OURS = tuple(METHODS)
"""Methods of `nnk_image.denoise`."""


@dataclass(frozen=True)
class Denoiser:
    """A denoising function and its settings.

    Attributes
    ----------
    run : function
        Called as ``run(noisy, sigma, **setting)``.
    grid : dict from str to tuple
        Values of each setting that are tried.
    """

    run: Callable
    grid: dict[str, tuple] = field(default_factory=dict)

    @property
    def settings(self):
        """All combinations of the grid, a list of dicts."""
        return [dict(zip(self.grid, s, strict=True)) for s in product(*self.grid.values())]


def available():
    """Return all installed denoisers as a dict from name to `Denoiser`."""
    ours = {name: Denoiser(partial(run_ours, method=name)) for name in OURS}
    found = ours | _PEERS
    run_bm3d = peers.bm3d_filter()
    return found if run_bm3d is None else found | {"bm3d": Denoiser(run_bm3d)}


def run_ours(noisy, sigma, method):
    """Denoise with `nnk_image.denoise`, as a user calls it."""
    return nnk_image.denoise(noisy, sigma, method=method, channel_axis=peers.channel_axis_of(noisy))


_PEERS = {
    "bilateral": Denoiser(
        peers.skimage_bilateral, {"color": (1, 1.5, 2, 2.5, 3, 4), "spatial": (1, 1.5, 2, 3)}
    ),
    "bilateral_exact": Denoiser(
        peers.bilateral_filter, {"color": (1.5, 2, 2.5, 3, 4, 6), "spatial": (1, 1.5, 2, 3)}
    ),
    "nlm": Denoiser(
        peers.non_local_means,
        {"h": (0.4, 0.6, 0.8), "patch": (3, 5, 7, 9), "distance": (10,)},
    ),
    "wavelet": Denoiser(
        peers.wavelet_shrinkage, {"basis": ("db1", "db2", "sym4", "sym8"), "shifts": (0, 3)}
    ),
    "tv": Denoiser(peers.total_variation, {"weight": (0.5, 0.7, 0.9, 1.1, 1.4)}),
}
