"""``nnk-image compaction``: energy per wavelet band, on the bilateral and the NNK graph."""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path
from typing import Any

import nnk_image
from nnk_image.base.atomic import ImageFileError
from nnk_image.cli import common, paths, sources
from nnk_image.io.files import read


def add_command(commands: Any) -> None:
    """Add the sub-command."""
    command = common.new_command(
        commands,
        "compaction",
        run,
        "Energy per graph wavelet band, on the bilateral and the NNK graph.",
        "--plot bundled.png",
        "photos/ --orders 6 15 --csv energy.csv",
    )
    command.add_argument(
        "images",
        nargs="*",
        metavar="IMAGE",
        help="files, folders or patterns (default: the bundled images)",
    )
    common.add_kernel(command)
    command.add_argument(
        "--orders",
        type=int,
        nargs="+",
        default=[4, 6, 12, 15, 30],
        metavar="M",
        help="Chebyshev orders (default: 4 6 12 15 30)",
    )
    command.add_argument("--json", metavar="FILE", help="all figures as JSON")
    command.add_argument("--csv", metavar="FILE", help="one row per graph, order and band")
    command.add_argument("--plot", metavar="FILE", help="picture of the curves (.png, .pdf, .svg)")
    sources.add_max_pixels(command)
    common.add_jobs(command)


def run(options: argparse.Namespace) -> None:
    """Measure every image; write the tables and the picture."""
    nnk_image.energy_compaction([[0.0, 1.0]], **_kernel_of(options))  # reports a wrong option once
    found = paths.image_paths(options.images or nnk_image.standard_images().values())
    paths.check_outputs(options.json, options.csv)
    common.check_plots(options.plot)
    results: dict[str, Any] = {}
    reports = common.for_each(found, lambda path: _measure_file(path, options, results))
    common.write_json(options.json, dict(zip(map(str, found), reports, strict=True)))
    if results:
        common.write_text(options.csv, _csv(results))
        if options.plot is not None:
            _draw(options.plot, list(results.values()))
        reductions = [100 * r.reduction for r in results.values()]
        print(
            f"{len(results)} images: the NNK graph has {min(reductions):.1f} to "
            f"{max(reductions):.1f} % fewer edges"
        )
    common.check_reports(reports)


def _kernel_of(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "window": options.window,
        "sigma_d": options.sigma_d,
        "sigma_f": options.sigma_f,
        "orders": options.orders,
        "n_jobs": options.jobs,
    }


def _measure_file(
    path: Path, options: argparse.Namespace, results: dict[str, Any]
) -> common.Report:
    pixels, metadata = read(path, max_pixels=options.max_pixels)
    if not metadata.is_picture:
        raise ImageFileError(f"{path}: is a stack; save one of its images as a file of its own")
    result = nnk_image.energy_compaction(
        pixels,
        channel_axis=-1 if pixels.ndim == 3 else None,
        progress=common.wants_progress(),
        **_kernel_of(options),
    )
    print(f"{path}: {result}\n", flush=True)
    results[str(path)] = result
    report: common.Report = result.to_dict()
    return report


def _draw(path: str, results: list[Any]) -> None:
    from nnk_image.plotting import plot_compaction
    from nnk_image.plotting.figures import new_figure

    n_orders = len(results[0].graphs[0].orders)
    figure = new_figure(figsize=(3 * n_orders, 3.2))
    plot_compaction(results, figure.subplots(1, n_orders, sharey=True))
    common.write_plot(path, figure)


def _csv(results: dict[str, Any]) -> str:
    """Return one row per image, graph, order and band."""
    rows = [{"image": image, **row} for image, result in results.items() for row in result.rows()]
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
