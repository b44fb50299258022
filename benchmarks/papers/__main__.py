"""Repeat the experiments of the papers: ``python -m benchmarks.papers``."""

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.papers import FIGURES
from benchmarks.papers.run import reproduce
from benchmarks.pictures import bundled_pictures, read_pictures
from benchmarks.timing import existing_folder
from nnk_image.cli.paths import image_paths
from nnk_image.io import ImageFileError

POINTS = {
    "general": ("points_graphs", "points_learning"),
    "constructions": ("constructions",),
    "theory": ("scales", "pairs", "manifolds"),
}
"""Groups of tables about points, and their modules, which have a function ``tables(options)``."""


def main(arguments=None):
    """Write the figures about images into a folder, and print the tables about points."""
    parser = _parser()
    options = parser.parse_args(arguments)
    chosen = [*FIGURES, *POINTS] if "all" in options.names else options.names
    figures = [name for name in chosen if name not in POINTS]
    if figures:
        try:
            given = options.images and read_pictures(image_paths(options.images))
        except ImageFileError as error:
            parser.error(str(error))
        pictures = given or bundled_pictures()
        print(reproduce(figures, pictures, options.out, options.seed, options.jobs))
    for name in chosen:
        for module in POINTS.get(name, ()):
            for table in import_module(f"benchmarks.papers.{module}").tables(options):
                print(f"\n{table}", flush=True)


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers",
        description="Repeat the experiments of the papers: figures, tables, claims.",
    )
    parser.add_argument(
        "names",
        nargs="*",
        choices=[*FIGURES, *POINTS, "all"],
        default="all",
        metavar="NAME",
        help=f"{', '.join([*FIGURES, *POINTS])}, or all (default)",
    )
    parser.add_argument(
        "--images",
        nargs="+",
        metavar="FILE",
        help="image files or folders (default: bundled images)",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("papers"), metavar="FOLDER", help="folder of the report"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the noise (default: 0)")
    parser.add_argument(
        "--jobs", type=int, default=-1, metavar="N", help="number of threads (default: all)"
    )
    parser.add_argument(
        "--restricted",
        type=existing_folder,
        metavar="FOLDER",
        help="folder of general_data.npz with usps1, which may not be distributed (default: leave "
        "usps1 out)",
    )
    parser.add_argument("--draws", type=int, default=20, metavar="N", help="random draws of labels")
    parser.add_argument("--halves", type=int, default=10, metavar="N", help="random halves")
    parser.add_argument(
        "--seeds", type=int, default=5, metavar="N", help="random samples of shapes"
    )
    return parser


if __name__ == "__main__":
    main()
