"""What a bug report needs: versions, instruction set, threads, the BLAS below numpy."""

import platform
import sys
from importlib import metadata
from typing import Any

import numpy as np

from nnk_image import _core
from nnk_image.base import memory
from nnk_image.base.parallel import resolve_n_jobs

PACKAGES = (
    "numpy",
    "scipy",
    "pygsp",
    "scikit-image",
    "pywavelets",
    "pillow",
    "scikit-learn",
    "matplotlib",
)


def show_config(mode: str = "print") -> dict[str, Any] | None:
    """Print what nnk_image runs on; please paste it into bug reports.

    Nothing in it names the machine or its user.

    Parameters
    ----------
    mode : {'print', 'dict'}
        'dict' returns the facts instead.

    Returns
    -------
    dict or None
        Text or numbers by name; `versions` is a dictionary, with None for what is not installed.

    Raises
    ------
    ValueError
        Another mode.

    Examples
    --------
    >>> import nnk_image
    >>> sorted(nnk_image.show_config("dict"))[:3]
    ['blas', 'free_memory', 'gil']
    """
    if mode not in ("print", "dict"):
        raise ValueError(f"mode={mode!r} must be 'print' or 'dict'")
    facts = _facts()
    if mode == "dict":
        return facts
    versions = facts.pop("versions")
    lines = facts | {name: version or "not installed" for name, version in versions.items()}
    width = max(map(len, lines))
    for name, value in lines.items():
        print(f"{name:{width}}  {value}")
    return None


def _facts() -> dict[str, Any]:
    free = memory.available()
    return {
        "nnk_image": metadata.version("nnk_image"),
        "simd": f"{_core.simd_variant()} (of {', '.join(_core.simd_variants())})",
        "threads": resolve_n_jobs(-1),
        "free_memory": "unknown" if free is None else f"{free / 2**30:.1f} GiB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "libc": " ".join(platform.libc_ver()).strip() or "unknown",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "gil": "on" if _has_gil() else "off",
        "blas": _blas(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def _has_gil() -> bool:
    return getattr(sys, "_is_gil_enabled", lambda: True)()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _blas() -> str:
    """Name and version of the BLAS that numpy was built with."""
    try:
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas['version']}".strip()
    except (KeyError, TypeError):  # numpy 1.26 built with setuptools tells less
        return "unknown"
