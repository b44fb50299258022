"""Speed, quality and memory of nnk_image beside what users run today; see README.md."""

import os
import sys
from pathlib import Path

# Everybody on one thread: this must be set before numpy loads its BLAS.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# `python -m` puts the repository first on the path, where an uncompiled nnk_image/ would hide
# the installed one.
_root = Path(__file__).resolve().parents[1]
if not list((_root / "nnk_image").glob("_core*.so")):
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _root]
