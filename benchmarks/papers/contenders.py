"""The denoisers of Figure 3.5 and their settings."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks import peers
from benchmarks.papers.settings import BUILDS, ORDER, SIGMA_D, WINDOW
from nnk_image import denoise
from nnk_image.denoising.methods import METHODS
from nnk_image.wavelets.transform import SpectralGraphWavelets

PUBLISHED_WIDTH, PUBLISHED_KEPT, PUBLISHED_LAPLACIAN = 1.7, 3, "combinatorial"
"""sigma_f in units of the noise, the number of bands kept, and the Laplacian.

In the publication sigma_f is proportional to the noise, by a factor that is not given.
"""


@dataclass(frozen=True)
class Contender:
    """A denoiser with its settings.

    Attributes
    ----------
    label : str
    settings : tuple of dict
        What `run` is called with; the first is the published or usual one.
    run : callable
        ``run(noisy, sigma, n_jobs, settings)`` yields one result per setting.
    package : str or None
        The optional package, of `machine.PACKAGES`, that is needed.
    """

    label: str
    settings: tuple[dict, ...]
    run: Callable
    package: str | None = None


def contenders():
    """All contenders whose packages are installed, by name."""
    found = {
        "bilateral": Contender(
            "original bilateral filter",
            _grid(color=(PUBLISHED_WIDTH, 1.2, 2.2, 3.0), spatial=(SIGMA_D,)),
            _bilateral,
        ),
        "sgw_bilateral": Contender("SGW on the bilateral graph", _SGW, _sgw_on("bilateral")),
        "sgw_nnk": Contender("SGW on the NNK graph", _SGW, _sgw_on("nnk")),
    }
    found |= {
        f"denoise_{name}": Contender(f"denoise, '{name}'", ({},), _ours(name)) for name in METHODS
    }
    found |= {
        "nlm": Contender(
            "non-local means", _grid(h=(0.6, 0.8), patch=(5, 7)), _each(peers.non_local_means)
        ),
        "wavelet": Contender(
            "wavelet, BayesShrink",
            _grid(basis=("db2", "db1", "sym4"), shifts=(0, 3)),
            _each(peers.wavelet_shrinkage),
        ),
        "tv": Contender(
            "total variation",
            _grid(weight=(0.9, 0.5, 0.7, 1.1, 1.4)),
            _each(peers.total_variation),
        ),
    }
    if (bm3d := peers.bm3d_filter()) is not None:
        found["bm3d"] = Contender("BM3D", ({},), _each(bm3d), "bm3d")
    return found


def _grid(**values):
    """Settings: all combinations of the values, as dicts."""
    return tuple(dict(zip(values, s, strict=True)) for s in product(*values.values()))


_SGW = (
    *_grid(
        width=(PUBLISHED_WIDTH,),
        laplacian=(PUBLISHED_LAPLACIAN, "random_walk"),
        kept=(PUBLISHED_KEPT, 4),
    ),
    *_grid(width=(1.2,), laplacian=("random_walk",), kept=(PUBLISHED_KEPT, 4)),
)


def _each(function):
    """The `run` of a `Contender` by ``function(noisy, sigma, **setting)``."""

    def run(noisy, sigma, n_jobs, settings):
        for setting in settings:
            yield function(noisy, sigma, **setting)

    return run


def _ours(method):
    """The `run` of a `Contender` by a method of `denoise`, which has no settings."""

    def run(noisy, sigma, n_jobs, settings):
        yield denoise(noisy, sigma, method=method, n_jobs=n_jobs)

    return run


def _bilateral(noisy, sigma, n_jobs, settings):
    """The `run` of the bilateral filter, whose window is that of the graphs."""
    for setting in settings:
        yield peers.bilateral_filter(noisy, sigma, **setting, window=WINDOW)


def _sgw_on(kind):
    """The `run` that keeps the lowest wavelet bands on a graph of the noisy image."""

    def run(noisy, sigma, n_jobs, settings):
        made = {}  # settings that share a graph or a Laplacian follow one another
        for setting in settings:
            width, laplacian = setting["width"], setting["laplacian"]
            if (width, laplacian) not in made:
                graph = made.get(width)
                if graph is None:
                    graph = BUILDS[kind](noisy, WINDOW, SIGMA_D, width * sigma, n_jobs=n_jobs)
                wavelets = SpectralGraphWavelets(
                    graph,
                    order=ORDER,
                    laplacian=laplacian,
                    approximation="projection",
                    n_jobs=n_jobs,
                )
                made = {width: graph, (width, laplacian): wavelets}
            yield keep_bands(made[width, laplacian], noisy, setting["kept"])

    return run


def keep_bands(wavelets, noisy, n_kept):
    """Least-squares synthesis from the lowest bands of an image; its mean is kept.

    Analysis, keeping and synthesis together are one function of the Laplacian,
    ``sum_kept g_s^2 / sum_all g_s^2``.
    """

    def response(x):
        power = wavelets.bank.evaluate(x) ** 2
        return power[:n_kept].sum(axis=0) / power.sum(axis=0)

    mean = np.mean(noisy)
    return mean + wavelets.filter(noisy - mean, response)


def setting_text(setting):
    """A setting in words; the empty text if there is none."""
    return ", ".join(f"{key} {value}" for key, value in setting.items())
