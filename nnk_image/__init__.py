"""Sparse NNK graphs of images: spectral graph wavelets, energy compaction, denoising.

The public names are loaded when first used; `__init__.pyi` says where they live.
"""

import sys
from importlib import import_module

from nnk_image._moved import MovedModules
from nnk_image.base.imports import uninterrupted as _uninterrupted

if MovedModules not in sys.meta_path:
    sys.meta_path.append(MovedModules)

_HOME = {
    "ImageGraph": "graph",
    "KStarNeighborsClassifier": "learning",
    "KStarNeighborsRegressor": "learning",
    "NNKClassifier": "learning",
    "NNKGraphTransformer": "learning",
    "NNKMeans": "learning",
    "NNKMeansClassifier": "learning",
    "NNKRegressor": "learning",
    "NoiseModel": "noise",
    "Neighborhoods": "neighbors",
    "SpectralGraphWavelets": "wavelets",
    "bilateral_graph": "graph",
    "denoise": "denoising",
    "denoise_tiles": "denoising",
    "energy_compaction": "wavelets",
    "estimate_noise": "noise",
    "estimate_sigma": "noise",
    "halo": "wavelets",
    "image_graph": "graph",
    "nnk_graph": "neighbors",
    "nnk_neighbors": "neighbors",
    "nnk_weights": "neighbors",
    "show_config": "configuration",
    "standard_image": "io",
    "standard_images": "io",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name != "__version__" and name not in _HOME and name != "_core":
        raise AttributeError(f"module 'nnk_image' has no attribute {name!r}")
    with _uninterrupted():
        if name == "_core":
            return _compiled_core()
        value = _version() if name == "__version__" else _public(name)
    globals()[name] = value
    return value


def _public(name):
    return getattr(import_module(f"nnk_image.{_HOME[name]}"), name)


def _version():
    """The version of the installed package, as pyproject.toml alone states it."""
    return import_module("importlib.metadata").version("nnk_image")


def _compiled_core():
    try:
        return import_module("nnk_image._core")
    except ModuleNotFoundError as error:
        if error.name != "nnk_image._core":
            raise
        raise ImportError(
            "nnk_image was imported from its source folder, where the compiled core is missing; "
            "run 'pip install .' (or 'pip install -e .' to develop) and start Python elsewhere, "
            "or with -P"
        ) from error


def __dir__():
    return sorted([*__all__, "__version__"])
