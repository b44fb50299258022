"""Compare the speed of two installed versions of nnk_image, which run in turn.

    python -m benchmarks.two_installs OLD NEW --sizes 512 1024 --jobs 1 2 --rounds 21

OLD and NEW are the Python interpreters of two environments. Install the library in the same way in
both, because the way modules are imported affects the layout of memory, and thereby the times by
some milliseconds.
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
graphs, transforms = [], []

def wavelets(n_jobs):
    if not transforms:
        graphs.append(nnk_image.image_graph(image, sigma_f=30))
        transforms.append(nnk_image.SpectralGraphWavelets(graphs[0], order=30))
    transforms[0].n_jobs = n_jobs
    return transforms[0]

tasks = {
    "graph": lambda n: nnk_image.image_graph(image, sigma_f=30, n_jobs=n),
    "bands": lambda n: wavelets(n).analyze(image),
    "set_up": lambda n: nnk_image.SpectralGraphWavelets(graphs[0], n_jobs=n).analyze(image),
    "sgw": lambda n: nnk_image.denoise(image, 20, method="sgw", n_jobs=n),
    "fast": lambda n: nnk_image.denoise(image, 20, method="fast", n_jobs=n),
}
for line in sys.stdin:
    task, n_jobs = line.split()
    if task in ("bands", "set_up"):
        wavelets(int(n_jobs))
    start = time.perf_counter()
    result = tasks[task](int(n_jobs))
    seconds = time.perf_counter() - start
    del result
    print(json.dumps(seconds), flush=True)
"""

TASKS = ("graph", "bands", "set_up", "sgw", "fast")
LONG = {"fast"}  # these run for a quarter of the rounds, at least three


class Install:
    """A process that runs tasks with one installed version, and returns their times."""

    def __init__(self, python, size):
        self._process = subprocess.Popen(
            [python, "-P", "-c", WORKER, str(size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, task, n_jobs):
        """Run a task once, and return its time."""
        print(task, n_jobs, file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.communicate()


def compare(size, task, n_jobs, rounds, installs):
    """Print the median times of a task, and the median and quartiles of the ratios new / old."""
    for install in installs:
        install.seconds(task, n_jobs)  # not counted
    times = []
    for number in range(rounds):
        order = (0, 1) if number % 2 else (1, 0)
        pair = {i: installs[i].seconds(task, n_jobs) for i in order}
        times.append((pair[0], pair[1]))
    old, new = np.array(times).T
    low, middle, high = np.quantile(new / old, [0.25, 0.5, 0.75])
    print(
        f"{size:6} {task:6} {n_jobs:2} threads  {rounds:3} rounds"
        f"  old {1e3 * np.median(old):8.1f} ms  new {1e3 * np.median(new):8.1f} ms"
        f"  new/old {middle:.3f} ({low:.3f}-{high:.3f})",
        flush=True,
    )


def main(arguments=None):
    """Compare the versions given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("pythons", nargs=2, metavar=("OLD", "NEW"), help="Python interpreters")
    add("--sizes", nargs="+", type=int, default=[512], help="heights and widths of the images")
    add("--jobs", nargs="+", type=int, default=[1, 2], help="numbers of threads")
    add("--works", nargs="+", default=TASKS, choices=TASKS, help="tasks (default: all)")
    add("--rounds", type=int, default=21, help="timed rounds (default: %(default)s)")
    given = parser.parse_args(arguments)
    for size in given.sizes:
        with ExitStack() as stack:
            installs = [stack.enter_context(Install(python, size)) for python in given.pythons]
            for task in given.works:
                rounds = max(3, given.rounds // 4) if task in LONG else given.rounds
                for n_jobs in given.jobs:
                    compare(size, task, n_jobs, rounds, installs)


if __name__ == "__main__":
    sys.exit(main())
