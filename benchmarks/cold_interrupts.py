"""Ctrl-C at random times in the first call of many fresh processes: does each of them end well?

    python -m benchmarks.cold_interrupts --starts 100

Each process imports nnk_image and calls `nnk_graph`, with scikit-learn's search, once until it is
interrupted and once again.  Printed is how many were interrupted, how many had finished before,
and how long they took to answer.  The exit status is 1 if a process hung, or failed.
"""

import argparse
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

CHILD = Path(__file__).parents[1] / "tests" / "support" / "cold_start.py"
ENDS = {"interrupted\nsecond call\n": "interrupted", "second call\n": "finished before"}
PATIENCE = 60  # seconds after which a process counts as hung


def cold_start(delay):
    """Start a process, press Ctrl-C after so many seconds; how it ended, and seconds to the end."""
    command = [sys.executable, "-P", str(CHILD)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        child.stdout.readline()
        time.sleep(delay)
        child.send_signal(signal.SIGINT)
        pressed = time.perf_counter()
        try:
            out, error = child.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            return "hung", PATIENCE
    return ENDS.get(out, f"failed: {error.strip()[-200:]}"), time.perf_counter() - pressed


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--starts", type=int, default=100, help="processes (default %(default)s)")
    parser.add_argument("--within", type=float, default=3.0, help="seconds (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    moments, counts, longest = random.Random(options.seed), {}, 0.0
    for number in range(options.starts):
        delay = moments.uniform(0, options.within)
        end, seconds = cold_start(delay)
        counts[end], longest = counts.get(end, 0) + 1, max(longest, seconds)
        if end not in ENDS.values():
            print(f"start {number}, pressed after {delay:.3f} s: {end}", flush=True)
    print(", ".join(f"{n} {end}" for end, n in counts.items()))
    print(f"at most {longest:.1f} s from Ctrl-C to the end, a second call included")
    return int(not set(counts) <= set(ENDS.values()))


if __name__ == "__main__":
    sys.exit(main())
