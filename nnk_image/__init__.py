"""Sparse NNK graphs of images: spectral graph wavelets, energy compaction, denoising.

Names and subpackages are loaded when first used; `__init__.pyi` lists them. ``__all__`` leaves out
names that need an optional package that is not installed. They are attributes all the same, whose
use raises an ImportError that names the extra.
"""

import sys as _sys
from importlib.machinery import PathFinder as _PathFinder
from importlib.util import find_spec as _find_spec
from importlib.util import module_from_spec as _module_from_spec


def _load_compiled_copy():
    """Import the installed package instead of this source folder, which has no compiled core."""
    for folder in _sys.path:
        spec = _PathFinder.find_spec(__name__, [folder])
        places = spec and spec.submodule_search_locations
        if places and _PathFinder.find_spec(f"{__name__}._core", places):
            _sys.modules[__name__] = _module_from_spec(spec)
            spec.loader.exec_module(_sys.modules[__name__])
            return
    raise ImportError(
        f"this folder has only the sources of nnk_image: {__path__[0]}; "
        f"compile and install them: {_sys.executable} -m pip install ."
    )


if _PathFinder.find_spec("nnk_image._core", __path__) is None:
    _load_compiled_copy()

import lazy_loader as _lazy  # noqa: E402  # after the check: it may not be installed either

from nnk_image.base.extras import requires_extra as _requires_extra  # noqa: E402

_load, _, __all__ = _lazy.attach_stub(__name__, __file__)
_NAMES_THAT_NEED = {
    "dask": ("tiled", "denoise_tiles"),
    "sklearn": (
        *("KStarNeighborsClassifier", "KStarNeighborsRegressor", "NNKClassifier", "NNKRegressor"),
        *("NNKGraphTransformer", "NNKMeans", "NNKMeansClassifier"),
    ),
}
for _package, _names in _NAMES_THAT_NEED.items():
    if _find_spec(_package) is None:
        __all__ = [name for name in __all__ if name not in _names]


def __getattr__(name):
    if name == "__version__":
        from importlib.metadata import version

        return version("nnk_image")
    if name in _NAMES_THAT_NEED["sklearn"]:
        with _requires_extra("the estimators need scikit-learn, 1.6 or newer", "neighbors"):
            return _load(name)
    return _load(name)


def __dir__():
    return sorted([*__all__, "__version__"])
