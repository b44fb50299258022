"""What a second thread gains, on a quiet machine and beside a process that takes a core."""

import subprocess
import sys
from contextlib import contextmanager, nullcontext
from statistics import median

import numpy as np

import nnk_image
from benchmarks.graph import SIGMA_F
from benchmarks.memory import SIGMA, tiled_camera
from benchmarks.timing import Table, interleaved

SIZES = (512, 1024, 2048)
FEW = 3  # tries of denoise fast: seconds per megapixel
NOTES = (
    "ms: medians.  Ratios: time on one thread / time on two in the same try; 2 is ideal with two",
    "cores, and with one of them taken fair shares give two threads 1.33.",
    f"denoise fast: {FEW} tries at most.",
)
# It ends with us, however we end.
_BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"


def add_options(group):
    """Command line of this table."""
    group.add_argument(
        "--thread-sizes",
        type=int,
        nargs="+",
        default=list(SIZES),
        metavar="SIDE",
        help="sides of the square images (default %(default)s)",
    )


def tables(options):
    """One table with all cores free, one with a core kept busy."""
    for title, state in (("quiet", nullcontext), ("another process keeps a core busy", busy_core)):
        with state():
            table = _table(title, options.thread_sizes, options.rounds)
        table.notes = NOTES
        yield table


@contextmanager
def busy_core():
    """A process that does nothing but take a core."""
    process = subprocess.Popen([sys.executable, "-c", _BUSY])
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _table(title, sizes, tries):
    columns = {"": "", "size": "", "1 thread ms": ".1f", "2 threads ms": ".1f"}
    columns |= dict.fromkeys(("median", "best", "worst"), ".2f")
    table = Table(f"One thread to two, {title}: float32, window 11, {tries} tries", columns)
    for size in sizes:
        for work, run in _works(tiled_camera(size, np.float32)).items():
            rounds = min(tries, FEW) if work == "denoise fast" else tries
            seconds = interleaved({n: lambda n=n, run=run: run(n) for n in (1, 2)}, rounds)
            ratios = [one / two for one, two in zip(seconds[1], seconds[2], strict=True)]
            row = {"": work, "size": f"{size}x{size}"}
            row |= {"1 thread ms": 1000 * median(seconds[1])}
            row |= {"2 threads ms": 1000 * median(seconds[2])}
            row |= {"median": median(ratios), "best": max(ratios), "worst": min(ratios)}
            table.rows.append(row)
    return table


def _works(image):
    """Name -> function of the number of threads."""
    graph = nnk_image.image_graph(image, sigma_f=SIGMA_F)
    wavelets = {n: nnk_image.SpectralGraphWavelets(graph, order=30, n_jobs=n) for n in (1, 2)}

    def response(x):
        return np.exp(-x)

    def denoise(method):
        return lambda n: nnk_image.denoise(image, SIGMA, method=method, n_jobs=n)

    return {
        "image_graph": lambda n: nnk_image.image_graph(image, sigma_f=SIGMA_F, n_jobs=n),
        "analyze, 7 bands of order 30": lambda n: wavelets[n].analyze(image),
        "filter, one polynomial of order 30": lambda n: wavelets[n].filter(image, response),
        "denoise sgw": denoise("sgw"),
        "denoise fast": denoise("fast"),
    }
