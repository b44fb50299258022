"""python -m benchmarks.papers: the papers' image experiments, as pictures, tables and claims."""

import argparse
import json
import sys
import time
from pathlib import Path

from benchmarks.papers import FIGURES
from benchmarks.papers.run import reproduce
from benchmarks.pictures import bundled_pictures, pictures_of


def main(arguments=None):
    """Run the experiments and say where the report is."""
    options = _parser().parse_args(arguments)
    paths = options.images or []
    pictures = pictures_of(paths) if paths else bundled_pictures()
    lmax = json.loads(options.lmax.read_text()) if options.lmax else None
    start = time.perf_counter()
    path = reproduce(
        options.figures or FIGURES,
        pictures,
        options.out,
        seed=options.seed,
        lmax=lmax,
        n_jobs=options.jobs,
        fresh=options.fresh,
        progress=_print_progress,
    )
    print(f"{len(pictures)} images, {time.perf_counter() - start:.0f} s: {path.resolve()}")


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers",
        description="Repeat the papers' image experiments: pictures, tables, claims, one HTML "
        "report. Finished parts are kept: run the same again to continue.",
    )
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(FIGURES))
    parser.add_argument(
        "--images",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="default: the bundled grayscale images of 256x256",
    )
    parser.add_argument("--out", type=Path, default="nnk-image-reproduced", metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=0, help="of the noise (default: 0)")
    parser.add_argument(
        "--lmax",
        type=Path,
        metavar="FILE",
        help='JSON, {"image": {"bilateral": 25.06, "nnk": 5.2}, ...}: eigenvalues to design the '
        "wavelets of energy compaction for (default: 1.01 times the largest)",
    )
    parser.add_argument("--fresh", action="store_true", help="measure finished parts again")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="threads (default: all)")
    return parser


def _print_progress(done, total, figure):
    if sys.stderr.isatty():
        print(f"\r{figure}: {done} of {total} parts ", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
