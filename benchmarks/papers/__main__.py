"""python -m benchmarks.papers: the papers' experiments, as pictures, tables and claims."""

import argparse
import json
from importlib import import_module
from pathlib import Path

from benchmarks.papers import FIGURES
from benchmarks.papers.run import reproduce
from benchmarks.pictures import bundled_pictures, pictures_of
from benchmarks.timing import existing_folder
from nnk_image.cli.paths import image_paths
from nnk_image.io import ImageFileError

POINTS = {"general": "points", "constructions": "constructions", "theory": "theory"}
"""Tables about points, which need scikit-learn, and their modules."""


def main(arguments=None):
    """Measure the figures of images into a folder, and print the tables of points."""
    parser = _parser()
    options = parser.parse_args(arguments)
    chosen = [*FIGURES, *POINTS] if "all" in options.names else options.names
    figures = [name for name in chosen if name not in POINTS]
    if figures:
        try:
            given = options.images and pictures_of(image_paths(options.images))
        except ImageFileError as error:
            parser.error(str(error))
        pictures = given or bundled_pictures()
        lmax = json.loads(options.lmax.read_text()) if options.lmax else None
        print(reproduce(figures, pictures, options.out, options.seed, lmax, options.jobs))
    for name in chosen:
        if name in POINTS:
            for table in import_module(f"benchmarks.papers.{POINTS[name]}").tables(options):
                print(f"\n{table}", flush=True)


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers",
        description="Repeat the papers' experiments: pictures, tables, claims.",
    )
    parser.add_argument(
        "names",
        nargs="*",
        choices=[*FIGURES, *POINTS, "all"],
        default="all",
        metavar="NAME",
        help=f"of {', '.join([*FIGURES, *POINTS])}, or all (default)",
    )
    parser.add_argument(
        "--images", nargs="+", metavar="FILE", help="or folders (default: bundled, 256 x 256)"
    )
    parser.add_argument("--out", type=Path, default=Path("papers"), metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=0, help="of the noise (default: 0)")
    parser.add_argument(
        "--lmax",
        type=Path,
        metavar="FILE",
        help='JSON, {"image": {"bilateral": 25.06, "nnk": 5.2}, ...}: eigenvalues to design the '
        "wavelets of energy compaction for (default: 1.01 times the largest)",
    )
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="threads (default: all)")
    parser.add_argument(
        "--restricted",
        type=existing_folder,
        metavar="FOLDER",
        help="with general_data.npz of usps1, which is not distributed (default: left out)",
    )
    parser.add_argument("--draws", type=int, default=20, metavar="N", help="random labels")
    parser.add_argument("--halves", type=int, default=10, metavar="N", help="random halves")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="shapes and networks")
    return parser


if __name__ == "__main__":
    main()
