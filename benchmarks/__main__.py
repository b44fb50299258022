"""Print tables that compare nnk_image with other programs: ``python -m benchmarks``."""

import argparse
import json
from importlib import import_module
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.timing import header
from nnk_image.io import ImageFileError

TABLES = (
    "graph",
    "wavelets",
    "block_transforms",
    "denoising",
    "noise",
    "volumes",
    "bands",
    "magnitudes",
    "any_size",
    "neighbors",
    "image_tasks",
    "solvers",
    "leaderboard",
)


def main():
    modules = {name: import_module(f"benchmarks.{name}") for name in TABLES}
    parser = _parser(modules)
    options = parser.parse_args()
    chosen = TABLES if "all" in options.tables else dict.fromkeys(options.tables)
    info = machine()
    print(header(info))
    report = {"machine": info}
    for name in chosen:
        report[name] = []
        try:
            for table in modules[name].tables(options):
                print(f"\n{table}", flush=True)
                report[name].append(table.to_dict())
        except ImageFileError as error:  # from a folder given by an option
            parser.error(str(error))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


def _parser(modules):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Print tables that compare nnk_image with other programs.",
    )
    parser.add_argument(
        "tables",
        nargs="*",
        choices=(*TABLES, "all"),
        default="all",
        metavar="table",
        help=f"{', '.join(TABLES)}, or all (default)",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write all figures to this file"
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="number of timed rounds (default: %(default)s)"
    )
    for name, module in modules.items():
        if hasattr(module, "add_options"):
            module.add_options(parser.add_argument_group(name))
    return parser


if __name__ == "__main__":
    main()
