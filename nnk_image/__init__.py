"""Sparse NNK graphs of images: spectral graph wavelets, energy compaction, denoising.

Names and subpackages are loaded when first used; `__init__.pyi` lists them.
"""

from importlib.util import find_spec as _find_spec

import lazy_loader as _lazy

if _find_spec("nnk_image._core") is None:
    raise ImportError(
        "the compiled core of nnk_image is missing: this is the source folder; run "
        "'pip install .' (or 'pip install -e .') and start Python elsewhere, or with -P"
    )

_load, _, __all__ = _lazy.attach_stub(__name__, __file__)


def __getattr__(name):
    if name != "__version__":
        return _load(name)
    from importlib.metadata import version

    return version("nnk_image")


def __dir__():
    return sorted([*__all__, "__version__"])
