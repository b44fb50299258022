"""``nnk-image graph``: build the graphs of images; print, save and draw them."""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import nnk_image
from nnk_image.base.atomic import ImageFileError
from nnk_image.cli import common, paths, sources

BUILDERS = {"nnk": "image_graph", "bilateral": "bilateral_graph"}
"""Kind of graph -> function of the library."""


def add_command(commands: Any) -> None:
    command = common.new_command(
        commands,
        "graph",
        run,
        "Build the graphs of images: print their properties, save them, draw them.",
        "photo.jpg",
        "photo.jpg --out photo.npz --plot photo_degrees.png",
        "photos/ --window 7 --sigma-f 15 --out graphs/",
        "volume.tif --spacing 3,1,1 --sigma-f 40 --out volume.npz",
    )
    command.add_argument("images", nargs="+", metavar="IMAGE", help="files, folders or patterns")
    kinds = "graph to build (default: nnk)"
    command.add_argument("--kind", choices=BUILDERS, default="nnk", help=kinds)
    common.add_kernel(command)
    common.add_outputs(
        command,
        out="save the graph (.npz, read by ImageGraph.load); a folder for several images",
        plot="picture of neighbors and degrees (.png, .pdf, .svg); a folder for several images",
    )
    sources.add_options(command)
    common.add_jobs(command)


def run(options: argparse.Namespace) -> None:
    build(options.kind, [[0.0]], options)  # reports a wrong option once, not for each image
    common.check_reports(
        paths.for_each_image(options, _graph_file, out=(".npz",), plot=paths.PLOTS)
    )


def build(kind: str, pixels: npt.ArrayLike, options: argparse.Namespace, **axes: Any) -> Any:
    """Build a graph of one kind, as the options of `common.add_kernel` say."""
    kernel = options.window, options.sigma_d, options.sigma_f
    return getattr(nnk_image, BUILDERS[kind])(pixels, *kernel, n_jobs=options.jobs, **axes)


def _graph_file(path: Path, files: paths.Files, options: argparse.Namespace) -> common.Report:
    from nnk_image.graph.summary import lines_of
    from nnk_image.plotting import plot_comparison, plot_degrees

    out, plot = files["out"], files["plot"]
    source = sources.read_source(path, options)
    sources.check_single(path, source, out, plot)
    shown = None if plot is None else _drawable(path, source)
    sources.print_axes(path, source)
    for label, pixels in source.parts:
        start = time.perf_counter()
        graph = build(options.kind, pixels, options, **source.arguments(pixels))
        seconds = time.perf_counter() - start
        if out is not None:
            graph.save(out)
        if shown is not None:
            with common.plot(plot, 3, (13, 4.2)) as axes:
                plot_comparison({path.name: shown}, axes)
                plot_degrees(graph, axes[1], count=True)
                plot_degrees(graph, axes[2])
        rows = {**lines_of(graph), "built in": f"{seconds:.3f} s"}
        written = [str(target) for target in (out, plot) if target is not None]
        rows |= {"written": ", ".join(written)} if written else {}
        lines = (f"{name:>12}: {text}" for name, text in rows.items())
        common.say("\n".join([f"{path}{label}:", *lines]))
    return {}


def _drawable(path: Path, source: sources.Source) -> npt.NDArray[Any]:
    """Return the image of a file with its channels last; refuse what plots cannot draw."""
    (_, pixels), axis = next(source.parts), source.options["channel_axis"]
    pixels = pixels if axis is None else np.moveaxis(pixels, axis, -1)
    problem = "is a volume" if len(source.space) > 2 else None
    if axis is not None and pixels.shape[-1] not in (3, 4):
        problem = f"has {pixels.shape[-1]} channels"
    if problem:
        raise ImageFileError(f"{path}: {problem}, which --plot cannot draw; leave it out")
    return pixels
