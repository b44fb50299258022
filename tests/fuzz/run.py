"""Fuzzing for as long as wished; `tests/fuzz/test_fuzz.py` does a little of the same.

    python -P tests/fuzz/run.py readers --seconds 3600 --corpus FOLDER
    python -P tests/fuzz/run.py differential --first 0 --cases 20000

`readers` changes files at random.  With atheris installed (``pip install atheris``) it is led by
the lines of the readers that a file reaches, and FOLDER keeps the files that reached new ones;
else it changes its seeds blindly.  A file that is not treated well is left as ``crash-...``; those
given by ``--files`` are tried once.  `differential` prints the number of each case that fails,
which ``--first NUMBER --cases 1`` repeats.
"""

import argparse
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from functools import partial
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
MOST_MEMORY = 300_000  # KiB more than ever before
LIBRARIES = ["nnk_image", "tifffile", "PIL", "nibabel", "numpy.lib.format", "zipfile"]


def main():
    options = _options()
    sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
    warnings.simplefilter("ignore")
    if options.what == "differential":
        return differential(options)
    if options.files:
        return try_files(options.files)
    try:
        import atheris
    except ImportError:
        return change_blindly(options)
    with atheris.instrument_imports(include=LIBRARIES):
        import_module("readers")
    return change_led(atheris, options)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    what = parser.add_subparsers(dest="what", required=True)
    readers = what.add_parser("readers")
    readers.add_argument("--seconds", type=int, default=60)
    readers.add_argument("--corpus", type=Path, help="files to begin with, and to keep")
    readers.add_argument("--seed", type=int, default=0, help="0 (default): another every time")
    readers.add_argument("--files", type=Path, nargs="+", help="only try these")
    cases = what.add_parser("differential")
    cases.add_argument("--first", type=int, default=0)
    cases.add_argument("--cases", type=int, default=1000)
    return parser.parse_args()


def change_led(atheris, options):
    """libFuzzer, led by coverage; it ends the process."""
    readers, mutations = import_module("readers"), import_module("mutations")
    seeds = import_module("seeds").seeds()
    others = list(seeds.values())
    with tempfile.TemporaryDirectory() as name:
        corpus = options.corpus or Path(name, "corpus")
        corpus.mkdir(parents=True, exist_ok=True)
        for seed, data in seeds.items():
            (corpus / f"seed-{seed}").write_bytes(data)
        read = readers.Readers(Path(name))

        def change(data, longest, seed):
            rng = random.Random(seed)
            if rng.random() < 0.1:
                return atheris.Mutate(data, longest)
            return mutations.mutate(data, rng, others)[:longest]

        limits = ["-max_len=16384", "-timeout=30", "-rss_limit_mb=2500", f"-seed={options.seed}"]
        limits += [f"-max_total_time={options.seconds}", "-print_final_stats=1", "-reload=0"]
        arguments = [sys.argv[0], *limits, str(corpus)]
        atheris.Setup(arguments, partial(within_memory, read), custom_mutator=change)
        atheris.Fuzz()


def within_memory(read, data):
    """Read a file; a small one that takes much memory is not treated well either."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read(data)
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert taken < MOST_MEMORY, f"{len(data)} bytes took {taken} KiB of memory"


def change_blindly(options):
    """Change the seeds without looking at what a file reaches; the status of the process."""
    readers, mutations = import_module("readers"), import_module("mutations")
    others = list(import_module("seeds").seeds().values())
    rng = random.Random(options.seed or None)
    tried, failed, end = 0, 0, time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as name:
        read = readers.Readers(Path(name))
        while time.monotonic() < end:
            data = mutations.mutate(rng.choice(others), rng, others)
            tried += 1
            try:
                within_memory(read, data)
            except Exception:
                failed += 1
                kept = Path(f"crash-{zlib.crc32(data):08x}")
                kept.write_bytes(data)
                print(f"{kept}:\n{traceback.format_exc()}", flush=True)
    print(f"{tried} files, {failed} not treated well")
    return int(failed > 0)


def try_files(paths):
    """What becomes of each of some files; the status of the process."""
    readers, failed = import_module("readers"), 0
    with tempfile.TemporaryDirectory() as name:
        read = readers.Readers(Path(name))
        for path in paths:
            try:
                within_memory(read, path.read_bytes())
                print(f"{path}: is treated well")
            except Exception:
                failed += 1
                print(f"{path}:\n{traceback.format_exc()}")
    return int(failed > 0)


def differential(options):
    """Cases of the differential fuzzer; the status of the process."""
    check, failed = import_module("differential").check, 0
    for done, number in enumerate(range(options.first, options.first + options.cases)):
        if done % 1000 == 0 < done:
            print(f"{done} cases done", flush=True)
        try:
            check(number)
        except Exception:
            failed += 1
            print(f"case {number}:\n{traceback.format_exc()}", flush=True)
    print(f"{options.cases} cases, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
