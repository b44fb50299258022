"""Facts about the installation and the machine, for bug reports."""

import platform
from importlib import metadata

import psutil
from threadpoolctl import threadpool_info

from nnk_image import _core
from nnk_image.base import memory
from nnk_image.base.parallel import resolve_n_jobs

PACKAGES = (
    *("numpy", "scipy", "pygsp", "scikit-image", "pillow", "tifffile", "imagecodecs", "nibabel"),
    *("scikit-learn", "dask", "zarr", "matplotlib"),
)


def show_config() -> None:
    """Print facts for a bug report: versions, processor features, threads, memory, BLAS.

    The output names neither the machine nor its user.

    Examples
    --------
    >>> import nnk_image
    >>> nnk_image.show_config()  # doctest: +ELLIPSIS
    simd          ...
    """
    blas = (library for library in threadpool_info() if library["user_api"] == "blas")
    free, total = memory.available() / 2**30, psutil.virtual_memory().total / 2**30
    facts = {
        "simd": f"{_core.simd_variant()} (of {', '.join(_core.simd_variants())})",
        "threads": resolve_n_jobs(-1),
        "memory": f"{free:.1f} GiB free of {total:.1f} GiB",
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "blas": ", ".join(f"{lib['internal_api']} {lib['version']}" for lib in blas),
    }
    for name in ("nnk_image", *PACKAGES):
        facts[name] = next((found.version for found in metadata.distributions(name=name)), None)
    for name, value in facts.items():
        print(f"{name:14}{value or 'not installed'}")
