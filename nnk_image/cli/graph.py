"""``nnk-image graph``: build the graphs of images, describe and save them."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy.typing as npt

import nnk_image
from nnk_image.cli import common, paths, sources

BUILDERS = {"nnk": "image_graph", "bilateral": "bilateral_graph"}
"""Kind of graph -> function of the library."""


def add_command(commands: Any) -> None:
    command = common.new_command(
        commands,
        "graph",
        run,
        "Build the graphs of images, describe and save them.",
        "photo.jpg",
        "photo.jpg --out photo.npz",
        "photos/ --window 7 --sigma-f 15 --out graphs/",
        "volume.tif --spacing 3,1,1 --sigma-f 40 --out volume.npz",
    )
    add = command.add_argument
    add("images", nargs="+", metavar="IMAGE", help="files, folders or patterns")
    add("--kind", choices=BUILDERS, default="nnk", help="graph to build (default: nnk)")
    common.add_graph_options(command)
    saved = "save the graph (.npz, read by ImageGraph.load); a folder for several images"
    add("--out", metavar="FILE", help=saved)
    common.add_overwrite(command)
    sources.add_options(command)


def run(options: argparse.Namespace) -> list[common.Report]:
    build(options.kind, [[0.0]], options)  # reports a wrong option once, not for each image
    return paths.for_each_image(options, _graph_file, out=(".npz",))


def build(kind: str, pixels: npt.ArrayLike, options: argparse.Namespace, **axes: Any) -> Any:
    """Build a graph of one kind, as the options of `common.add_graph_options` say."""
    kernel = options.window, options.sigma_d, options.sigma_f
    return getattr(nnk_image, BUILDERS[kind])(pixels, *kernel, n_jobs=options.jobs, **axes)


def _graph_file(path: Path, files: paths.Files, options: argparse.Namespace) -> common.Report:
    out, source = files["out"], sources.read_source(path, options)
    sources.check_single(source, out)
    sources.print_axes(source)
    count = files["count"] if len(source.places) == 1 else ""
    for name, pixels in source.parts:
        start = time.perf_counter()
        with common.about(name):
            graph = build(options.kind, pixels, options, **source.arguments(pixels))
        seconds = time.perf_counter() - start
        print(f"{name}{count}: {graph}, built in {seconds:.3f} s")
        if out is not None:
            graph.save(out)
            print(f"written {out}")
    return {}
