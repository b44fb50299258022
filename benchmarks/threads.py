"""What a second thread gains, on a quiet machine and beside a process that takes a core."""

import subprocess
import sys
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

import nnk_image
from benchmarks.graph import SIGMA_F
from benchmarks.machine import interleaved
from benchmarks.memory import SIGMA, tiled_camera
from benchmarks.timing import Table, add_sizes

SIZES = (512, 1024, 2048)
FEW = 3  # tries of denoise fast: seconds per megapixel
QUIET = 1.95, 2.1  # what two processes then get
NOTES = (
    "ms: medians.  Ratios: time on one thread / time on two in the same try; 2 is ideal with two",
    "cores, and with one of them taken fair shares give two threads 1.33.",
    "2 processes: the same ratio for two processes that do the work once each, at the same time,",
    "and share nothing: what the machine has to give.  Median of the tries.",
    "quiet: the median of those tries, so many, in which two processes got",
    f"{QUIET[0]} to {QUIET[1]} by the one-thread times just before and after, not the try's own.",
    f"denoise fast: {FEW} tries at most.",
)
# It ends with us, however we end.
_BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"


def add_options(group):
    """Command line of this table."""
    add_sizes(group, "--thread-sizes", SIZES)


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
    columns |= dict.fromkeys(("median", "best", "worst", "quiet"), ".2f")
    columns |= {"tries": "d", "2 processes": ".2f"}
    table = Table(f"One thread to two, {title}: float32, window 11, {tries} tries", columns)
    for size in sizes:
        with _Twin(size) as twin:
            for work, run in _works(size).items():
                rounds = min(tries, FEW) if work == "denoise fast" else tries
                contenders = {n: partial(run, n) for n in (1, 2)}
                contenders["twice"] = partial(twin.together, work, run)
                row = _row(interleaved(contenders, rounds))
                table.rows.append({"": work, "size": f"{size}x{size}"} | row)
    return table


def _row(seconds):
    one, two, twice = (np.array(seconds[key]) for key in (1, 2, "twice"))
    ratios, machine = one / two, 2 * one / twice
    nearby = (one[:-2] + one[2:]) / twice[1:-1]
    quiet = ratios[1:-1][(nearby >= QUIET[0]) & (nearby <= QUIET[1])]
    return {
        "1 thread ms": 1000 * median(seconds[1]),
        "2 threads ms": 1000 * median(seconds[2]),
        "median": median(ratios),
        "best": max(ratios),
        "worst": min(ratios),
        "quiet": median(quiet) if quiet.size else None,
        "tries": quiet.size,
        "2 processes": median(machine),
    }


class _Twin:
    """Another process with the same works, told by lines what to do."""

    def __init__(self, size):
        command = [sys.executable, "-m", "benchmarks.threads", str(size)]
        root = Path(__file__).resolve().parents[1]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, cwd=root, **pipes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait()

    def together(self, work, run):
        """Do a work in both processes at once; back when both are done."""
        print(work, file=self._process.stdin, flush=True)
        run(1)
        assert self._process.stdout.readline().strip() == work


def _be_a_twin(size):
    works = _works(size)
    for line in sys.stdin:
        works[line.strip()](1)
        print(line.strip(), flush=True)


def _works(size):
    """Name -> function of the number of threads."""
    image = tiled_camera(size, np.float32)
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


if __name__ == "__main__":
    _be_a_twin(int(sys.argv[1]))
