"""Run the fuzzers for a given time or number of cases; `test_fuzz.py` only runs a few cases.

    python -P tests/fuzz/run.py readers --seconds 3600
    python -P tests/fuzz/run.py differential --first 0 --cases 20000

`readers` changes files at random; each file that fails is saved as ``crash-...``.
`differential` prints the number of each case that fails; ``--first NUMBER --cases 1`` repeats it.
"""

import argparse
import random
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main():
    sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
    warnings.simplefilter("ignore")
    options = _options()
    return (differential if options.what == "differential" else readers)(options)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    what = parser.add_subparsers(dest="what", required=True)
    files = what.add_parser("readers")
    files.add_argument("--seconds", type=int, default=60)
    files.add_argument("--seed", type=int, help="default: a new one each time")
    cases = what.add_parser("differential")
    cases.add_argument("--first", type=int, default=0)
    cases.add_argument("--cases", type=int, default=1000)
    return parser.parse_args()


def readers(options):
    """Read files with random changes, and return the exit status."""
    check_file, mutate = import_module("readers").check_file, import_module("mutations").mutate
    seeds = list(import_module("seeds").seeds().values())
    rng, end = random.Random(options.seed), time.monotonic() + options.seconds
    tried, failed = 0, 0
    with tempfile.TemporaryDirectory() as name:
        while time.monotonic() < end:
            data = mutate(rng.choice(seeds), rng, seeds)
            tried += 1
            try:
                check_file(data, Path(name))
            except Exception:
                failed += 1
                kept = Path(f"crash-{zlib.crc32(data):08x}")
                kept.write_bytes(data)
                print(f"{kept}:\n{traceback.format_exc()}", flush=True)
    print(f"{tried} files, {failed} failed")
    return int(failed > 0)


def differential(options):
    """Run cases of the differential fuzzer, and return the exit status."""
    check, failed = import_module("differential").check, 0
    for number in range(options.first, options.first + options.cases):
        try:
            check(number)
        except Exception:
            failed += 1
            print(f"case {number}:\n{traceback.format_exc()}", flush=True)
    print(f"{options.cases} cases, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
