"""``nnk-image compaction``: energy per wavelet band, on the bilateral and the NNK graph."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import nnk_image
from nnk_image.base.atomic import ImageFileError
from nnk_image.cli import common, paths, sources
from nnk_image.cli.graph import build


def add_command(commands: Any) -> None:
    command = common.new_command(
        commands,
        "compaction",
        run,
        "Energy per graph wavelet band, on the bilateral and the NNK graph.",
        "--plot bundled.png",
        "photos/ --orders 6 15 --json energy.json",
        "photos/ --orders 15 --blocks 8 --plot blocks.png",
    )
    add = command.add_argument
    which = "files, folders or patterns (default: the bundled images)"
    add("images", nargs="*", metavar="IMAGE", help=which)
    common.add_graph_options(command)
    orders = "Chebyshev orders (default: 4 6 12 15 30)"
    add("--orders", type=int, nargs="+", default=[4, 6, 12, 15, 30], metavar="M", help=orders)
    add("--blocks", type=int, choices=(4, 8, 16, 32), help="also block transforms")
    add("--json", metavar="FILE", help="all numbers as JSON")
    add("--plot", metavar="FILE", help="picture of the curves (.png, .pdf, .svg)")
    common.add_overwrite(command)
    sources.add_max_pixels(command)


def run(options: argparse.Namespace) -> list[common.Report]:
    with warnings.catch_warnings(action="ignore"):  # about the range of this dummy image
        _measure(np.eye(options.blocks or 2), None, options)  # reports a wrong option once
    found = paths.image_paths(options.images or nnk_image.standard_images().values())
    outputs = {"plot": [options.plot], "json": [options.json]}
    paths.check_targets(found, options.overwrite, outputs, {"plot": paths.PLOTS})
    results: dict[str, Any] = {}
    reports = common.for_each(found, lambda path: _measure_file(path, options, results))
    by_path = dict(zip(map(str, found), reports, strict=True))
    if options.blocks:
        _add_blocks(results, by_path)
    common.write_json(options.json, by_path)
    if results and options.plot is not None:
        from nnk_image.plotting import plot_compaction

        number = len(options.orders) + bool(options.blocks)
        with common.plot(options.plot, number, (3 * number, 3.2), sharey=True) as axes:
            plot_compaction(list(results.values()), axes)
    if len(results) > 1:
        reductions = [100 * r.reduction for r in results.values()]
        fewer = f"{min(reductions):.1f} to {max(reductions):.1f} % fewer edges"
        print(f"{len(results)} images: the NNK graph has {fewer}")
    return reports


def _measure(
    pixels: npt.ArrayLike, channel_axis: int | None, options: argparse.Namespace
) -> nnk_image.wavelets.EnergyCompaction:
    axes: dict[str, Any] = {"channel_axis": channel_axis}
    graphs = {kind: build(kind, pixels, options, **axes) for kind in ("bilateral", "nnk")}
    given = axes | {"orders": options.orders, "block_size": options.blocks}
    return nnk_image.energy_compaction(pixels, graphs, n_jobs=options.jobs, **given)


def _measure_file(
    path: Path, options: argparse.Namespace, results: dict[str, nnk_image.wavelets.EnergyCompaction]
) -> common.Report:
    pixels, metadata = sources.read_with_gaps(path, options)
    if not metadata.is_picture:
        raise ImageFileError(f"{path}: is a stack; save one of its images as a file of its own")
    if not np.isfinite(pixels).all():
        pixels = np.ma.masked_invalid(pixels)
    result = _measure(pixels, -1 if pixels.ndim == 3 else None, options)
    print(f"{path}: {_text_of(result)}\n")
    results[str(path)] = result
    report = {name: getattr(result, name) for name in ("reduction", "n_edges", "lmax", "orders")}
    for name in ("energy", "normalized", "cumulative"):
        report[name] = {graph: t.tolist() for graph, t in getattr(result, name).items()}
    return report


def _add_blocks(
    results: dict[str, nnk_image.wavelets.EnergyCompaction], reports: dict[str, common.Report]
) -> None:
    """Fit the KLT of each image to the other images; print and report coding gains."""
    measured = dict(results)
    for path, result in measured.items():
        if others := [other for name, other in measured.items() if name != path]:
            results[path] = result.with_klt(others)
        gain, blocks = results[path].coding_gain, results[path].blocks.items()
        reports[path] |= {"coding_gain": gain, "blocks": {n: e.tolist() for n, e in blocks}}
        gains = ", ".join(f"{name} {value:.2f}" for name, value in gain.items())
        print(f"{path}: coding gain in dB, graph given: {gains}")


def _text_of(result: nnk_image.wavelets.EnergyCompaction) -> str:
    """Return the cumulative energies as a table."""
    n_bands = result.energy["nnk"].shape[1]
    heads = "".join(f"{f'1-{b + 1}' if b else '1':>9}" for b in range(n_bands))
    lines = [
        f"{100 * result.reduction:.1f} % fewer edges on the NNK graph",
        "cumulative energy in bands, normalized (total: raw)",
        f"{'order':>5} {'graph':>10}{heads}{'total':>9}",
    ]
    for i, order in enumerate(result.orders):
        for name, energy in result.energy.items():
            shares = "".join(f"{share:9.5f}" for share in result.cumulative[name][i])
            lines.append(f"{order:>5} {name:>10}{shares}{energy[i].sum():9.4f}")
    return "\n".join(lines)
