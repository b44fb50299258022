"""Timing, and a description of the machine.

The description contains nothing that identifies the machine, such as its name.
"""

import gc
import platform
import re
import subprocess
import time
from importlib import metadata
from pathlib import Path

from nnk_image import _core
from nnk_image.base.parallel import resolve_n_jobs

PACKAGES = ("nnk_image", "numpy", "scipy", "scikit-image", "PyGSP", "scikit-learn", "bm3d")
"""Packages whose versions are reported, if they are installed."""


def machine():
    """Return a dict with the processor, the operating system, and versions of packages."""
    return {
        "processor": _processor(),
        "cores": resolve_n_jobs(-1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {
            name: found.version for name in PACKAGES for found in metadata.distributions(name=name)
        },
        "SIMD variant": _core.simd_variant(),
    }


def timed_call(function, *arguments, **options):
    """Return the result of a call, and its processor time in seconds."""
    start = time.process_time()
    result = function(*arguments, **options)
    return result, time.process_time() - start


def best_timed_call(function, *arguments, repeats=3):
    """Return the result of a call, and the least processor time, in seconds, of several calls."""
    seconds = []
    for _ in range(repeats):
        result, elapsed = timed_call(function, *arguments)
        seconds.append(elapsed)
    return result, min(seconds)


def interleaved(contenders, rounds):
    """Time several functions in turn, so that disturbances affect all of them alike.

    In each round, every function runs once, and another one goes first. An additional first round
    is not timed.

    Parameters
    ----------
    contenders : dict from name to function without arguments
    rounds : int
        Number of timed rounds.

    Returns
    -------
    dict from name to list of float
        Wall-clock times in seconds, one per round.
    """
    seconds = {name: [] for name in contenders}
    gc.collect()
    gc.freeze()  # later collections skip the objects that exist now
    try:
        for i in range(-1, rounds):
            for name, elapsed in _one_round(contenders, max(i, 0)):
                if i >= 0:
                    seconds[name].append(elapsed)
    finally:
        gc.unfreeze()
    return seconds


def _one_round(contenders, turn):
    """Yield the name and the seconds of each contender, starting with number `turn`."""
    names = list(contenders)
    turn %= len(names)
    for name in names[turn:] + names[:turn]:
        gc.collect()
        start = time.perf_counter()
        result = contenders[name]()
        elapsed = time.perf_counter() - start
        del result  # the time does not include freeing the result
        yield name, elapsed


def _processor():
    """Return the model name of the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
        if found:
            return found[1].strip()
    if platform.system() == "Darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return platform.processor() or platform.machine()
