"""Two installs of the library against each other: times in turn, in one run.

    python -m benchmarks.two_installs OLD NEW --sizes 512 1024 --jobs 1 2 --rounds 21

OLD and NEW are Python interpreters of environments with an install each, both installed in the same
way: what is imported from where decides how memory lies, and that decides some milliseconds.
"""

import argparse
import json
import subprocess
import sys
from contextlib import ExitStack

import numpy as np

WORKER = """
import json, sys, time
import numpy as np
import nnk_image

size = int(sys.argv[1])
clean = np.tile(nnk_image.standard_image("camera_512").astype(float), [-(-size // 512)] * 2)
noise = np.random.default_rng(0).normal(0, 20, (size, size))
image = (clean[:size, :size] + noise).astype(np.float32)
made = {}

def wavelets(n_jobs):
    if not made:
        made[1] = nnk_image.image_graph(image, sigma_f=30)
        made[0] = nnk_image.SpectralGraphWavelets(made[1], order=30)
    made[0].n_jobs = n_jobs
    return made[0]

works = {
    "graph": lambda n: nnk_image.image_graph(image, sigma_f=30, n_jobs=n),
    "bands": lambda n: wavelets(n).analyze(image),
    "set_up": lambda n: nnk_image.SpectralGraphWavelets(made[1], n_jobs=n).analyze(image),
    "sgw": lambda n: nnk_image.denoise(image, 20, method="sgw", n_jobs=n),
    "fast": lambda n: nnk_image.denoise(image, 20, method="fast", n_jobs=n),
}
for line in sys.stdin:
    work, n_jobs = line.split()
    if work in ("bands", "set_up"):
        wavelets(int(n_jobs))
    start = time.perf_counter()
    result = works[work](int(n_jobs))
    seconds = time.perf_counter() - start
    del result
    print(json.dumps(seconds), flush=True)
"""

LONG = {"fast"}  # a quarter of the rounds, three at least


class Install:
    """A process that runs commands with one installed version, and returns their times."""

    def __init__(self, python, size):
        self._process = subprocess.Popen(
            [python, "-P", "-c", WORKER, str(size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, work, n_jobs):
        """Time of one call."""
        print(work, n_jobs, file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.communicate()


def compare(size, work, n_jobs, rounds, installs):
    """Print one line: medians, and the quartiles of the ratios new / old."""
    for install in installs:
        install.seconds(work, n_jobs)
    times = []
    for number in range(rounds):
        order = (0, 1) if number % 2 else (1, 0)
        pair = {i: installs[i].seconds(work, n_jobs) for i in order}
        times.append((pair[0], pair[1]))
    old, new = np.array(times).T
    low, middle, high = np.quantile(new / old, [0.25, 0.5, 0.75])
    print(
        f"{size:6} {work:6} {n_jobs:2} threads  {rounds:3} rounds"
        f"  old {1e3 * np.median(old):8.1f} ms  new {1e3 * np.median(new):8.1f} ms"
        f"  new/old {middle:.3f} ({low:.3f}-{high:.3f})",
        flush=True,
    )


def main(arguments=None):
    """Read the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs=2, metavar=("OLD", "NEW"))
    parser.add_argument("--sizes", nargs="+", type=int, default=[512])
    parser.add_argument("--jobs", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--works", nargs="+", default=["graph", "bands", "set_up", "sgw", "fast"])
    parser.add_argument("--rounds", type=int, default=21)
    given = parser.parse_args(arguments)
    for size in given.sizes:
        with ExitStack() as stack:
            installs = [stack.enter_context(Install(python, size)) for python in given.pythons]
            for work in given.works:
                rounds = max(3, given.rounds // 4) if work in LONG else given.rounds
                for n_jobs in given.jobs:
                    compare(size, work, n_jobs, rounds, installs)


if __name__ == "__main__":
    sys.exit(main())
