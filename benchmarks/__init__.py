"""Benchmarks of nnk_image and other programs: speed, quality and memory; see README.md."""

import os
import sys
from pathlib import Path

# One thread for all programs; this must be set before numpy loads its BLAS.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# `python -m` puts the repository first on the path, where an nnk_image/ without a compiled core
# would hide the installed package.
_root = Path(__file__).resolve().parents[1]
if not list((_root / "nnk_image").glob("_core*.so")):
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _root]
