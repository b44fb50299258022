"""Fixtures shared by all tests, and the profile of Hypothesis."""

import os

# On busy processors, BLAS threads spend more time waiting than the tests spend computing.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import platform
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from PIL import Image

from nnk_image import _core, standard_image

# Tests import the helper modules in `support`, such as golden_data, by name.
sys.path.insert(0, str(Path(__file__).parent / "support"))
whole_chain = import_module("whole_chain")  # importing it makes small images use threads, too

# Python processes started by tests import the installed package, not the uncompiled
# folder of the same name in the working directory.
os.environ["PYTHONSAFEPATH"] = "1"

settings.register_profile("nnk_image", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("nnk_image")


@pytest.fixture(params=_core.simd_variants())
def simd(request):
    """Use each SIMD variant of this machine in turn, and return its name."""
    before = _core.simd_variant()
    _core.use_simd(request.param)
    yield request.param
    _core.use_simd(before)


@pytest.fixture(scope="session")
def expected():
    """Return the checksums of the whole chain, computed in this process."""
    return whole_chain.whole_chain()


@pytest.fixture
def photo(tmp_path):
    """Return the path of a small noisy grayscale image, alone in its folder."""
    clean = standard_image("camera")[60:124, 80:160].astype(float)
    noisy = clean + np.random.default_rng(0).normal(0, 15, clean.shape)
    path = tmp_path / "photos" / "photo.png"
    path.parent.mkdir()
    Image.fromarray(np.clip(np.rint(noisy), 0, 255).astype(np.uint8)).save(path)
    return path


@pytest.fixture(scope="session")
def failing_malloc(tmp_path_factory):
    """Compile failing_malloc.c, and return the path of the library to preload."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc" or compiler is None:
        pytest.skip("needs Linux, glibc and a C compiler")
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the address sanitizer must be the first preloaded library")
    library = tmp_path_factory.mktemp("faults") / "failing_malloc.so"
    source = Path(__file__).parent / "support" / "failing_malloc.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library
