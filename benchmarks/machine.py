"""What measurements depend on, processor and versions, and how times are taken.

Nothing that is kept names the machine.
"""

import gc
import importlib.metadata
import os
import platform
import re
import subprocess
import time
from pathlib import Path

from nnk_image import _core

PACKAGES = ("nnk_image", "numpy", "scipy", "scikit-image", "PyGSP", "scikit-learn", "bm3d")


def machine():
    """Processor, cores, system, and versions of the packages that are installed."""
    return {
        "processor": _processor(),
        "cores": _cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions(),
        "vector variant": _core.simd_variant(),
    }


def versions():
    """Versions of those `PACKAGES` that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def interleaved(contenders, rounds):
    """Time callables side by side.

    After one round that is not counted there are `rounds` rounds, in each of which every
    contender runs once, with another one going first each time. So whatever slows the machine
    for a while slows all contenders alike.

    Returns
    -------
    dict from name to list of seconds, one per round
    """
    seconds = {name: [] for name in contenders}
    gc.collect()
    gc.freeze()  # so that collections do not look through older objects each time
    try:
        for i in range(-1, rounds):
            for name, elapsed in _one_round(contenders, max(i, 0)):
                if i >= 0:
                    seconds[name].append(elapsed)
    finally:
        gc.unfreeze()
    return seconds


def _one_round(contenders, turn):
    """Yield the name and the seconds of each contender, that of number `turn` first."""
    names = list(contenders)
    turn %= len(names)
    for name in names[turn:] + names[:turn]:
        gc.collect()
        start = time.perf_counter()
        result = contenders[name]()
        elapsed = time.perf_counter() - start
        del result  # freeing the result belongs to no contender's time
        yield name, elapsed


def _cores():
    """Number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _processor():
    """Name of the processor's model."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
        if found:
            return found[1].strip()
    if platform.system() == "Darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return platform.processor() or platform.machine()
