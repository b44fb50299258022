"""``nnk-image graph``: build the graphs of images; print their properties and save them."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
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
        "Build the graphs of images: print their properties and save them.",
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


def run(options: argparse.Namespace) -> None:
    build(options.kind, [[0.0]], options)  # reports a wrong option once, not for each image
    common.check_reports(paths.for_each_image(options, _graph_file, out=(".npz",)))


def build(kind: str, pixels: npt.ArrayLike, options: argparse.Namespace, **axes: Any) -> Any:
    """Build a graph of one kind, as the options of `common.add_graph_options` say."""
    kernel = options.window, options.sigma_d, options.sigma_f
    return getattr(nnk_image, BUILDERS[kind])(pixels, *kernel, n_jobs=options.jobs, **axes)


def _graph_file(path: Path, files: paths.Files, options: argparse.Namespace) -> common.Report:
    out, source = files["out"], sources.read_source(path, options)
    sources.check_single(path, source, out)
    sources.print_axes(path, source)
    for label, pixels in source.parts:
        start = time.perf_counter()
        graph = build(options.kind, pixels, options, **source.arguments(pixels))
        seconds = time.perf_counter() - start
        if out is not None:
            graph.save(out)
        rows = {**lines_of(graph), "built in": f"{seconds:.3f} s"}
        rows |= {} if out is None else {"written": str(out)}
        lines = (f"{name:>12}: {text}" for name, text in rows.items())
        print("\n".join([f"{path}{label}:", *lines]))
    return {}


def lines_of(graph: nnk_image.ImageGraph) -> dict[str, str]:
    """Return the statistics of a graph as lines of text, by name."""
    present = slice(None) if graph.valid is None else graph.valid
    counts, degrees = graph.neighbor_counts[present], graph.degrees[present]
    matrix = graph.adjacency
    n_bytes = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    fewer = f", {100 * _reduction(graph):.1f} % fewer than bilateral"
    direction = "directed" if graph.directed else "undirected"
    mean, least, most = degrees.mean(dtype=float), degrees.min(), degrees.max()
    lines = {
        "graph": f"{graph.kind}, {direction}, {matrix.dtype}",
        "image": f"{'x'.join(map(str, graph.shape))}, {graph.n_nodes:,} nodes",
        "edges": f"{graph.n_edges:,}" + (fewer if graph.kind != "bilateral" else ""),
        "neighbors": f"{counts.mean():.2f} per pixel, {counts.min()} to {counts.max()}",
        "degree": f"{mean:.4g} on average, {least:.4g} to {most:.4g}",
        "kernel": f"window {graph.window}, sigma_d {graph.sigma_d:g}, sigma_f {graph.sigma_f:g}",
        "memory": f"{n_bytes / 2**20:,.1f} MiB",
    }
    if graph.valid is not None and not graph.valid.all():
        lines["masked"] = f"{np.count_nonzero(~graph.valid):,} pixels"
    if not counts.all():
        lines["isolated"] = f"{np.count_nonzero(counts == 0):,} pixels without neighbors"
    return lines


def _reduction(graph: nnk_image.ImageGraph) -> float:
    """Return the fraction of the pairs of pixels within the window that are not linked."""
    from scipy.ndimage import correlate1d

    from nnk_image.graph.window import sides_of

    valid = np.ones(graph.shape, int) if graph.valid is None else graph.valid.astype(int)
    in_window = valid
    for axis, side in enumerate(sides_of(graph.window, valid.ndim)):
        in_window = correlate1d(in_window, np.ones(side), axis, mode="constant")
    pairs = int((valid * (in_window - 1)).sum())  # each in both directions
    return 1 - graph.adjacency.nnz / pairs if pairs else 0.0
