"""What measured figures depend on: processor and versions, and nothing that names the machine."""

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
    """Versions of `PACKAGES`, those that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def interleaved(contenders, rounds):
    """Time callables side by side.

    One round that is not counted, then `rounds` rounds in which each contender runs
    once, another one going first each time: whatever slows the machine for a while
    slows all alike.

    Returns
    -------
    dict from name to list of seconds, one per round
    """
    seconds = {name: [] for name in contenders}
    gc.collect()
    gc.freeze()  # what was there before is not looked through again and again
    try:
        for i in range(-1, rounds):
            for name, elapsed in _one_round(contenders, max(i, 0)):
                if i >= 0:
                    seconds[name].append(elapsed)
    finally:
        gc.unfreeze()
    return seconds


def _one_round(contenders, turn):
    names = list(contenders)
    turn %= len(names)
    for name in names[turn:] + names[:turn]:
        gc.collect()
        start = time.perf_counter()
        result = contenders[name]()
        elapsed = time.perf_counter() - start
        del result  # giving memory back is nobody's work
        yield name, elapsed


def _cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _processor():
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
        if found:
            return found[1].strip()
    if platform.system() == "Darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return platform.processor() or platform.machine()
