"""``nnk-image noise``: estimate the noise of images."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from nnk_image.base.atomic import atomic_output
from nnk_image.cli import common, paths, sources


def add_command(commands: Any) -> None:
    command = common.new_command(
        commands,
        "noise",
        run,
        "Estimate the noise of images: level, growth with brightness, correlation.",
        "photo.jpg",
        "flat_field.tif --out camera.json --plot camera.png",
        "volume.nii.gz --spacing 3,1,1",
        "t1.nii.gz --rician --map sigma.nii.gz",
        "photos/ --recursive",
    )
    add = command.add_argument
    add("images", nargs="+", metavar="IMAGE", help="files, folders or patterns")
    saved = "write the model (.json, read by denoise --noise); a folder for several images"
    add("--out", metavar="FILE", help=saved)
    drawn = "picture of the model (.png, .pdf, .svg); a folder for several images"
    add("--plot", metavar="FILE", help=drawn)
    common.add_overwrite(command)
    sources.add_noise_options(command)
    sources.add_options(command)


def run(options: argparse.Namespace) -> list[common.Report]:
    formats = {"out": (".json",), "plot": paths.PLOTS, "map": paths.MAPS}
    return paths.for_each_image(options, _noise_of_file, **formats)


def _noise_of_file(path: Path, files: paths.Files, options: argparse.Namespace) -> common.Report:
    out, plot = files["out"], files["plot"]
    source = sources.read_source(path, options)
    sources.check_single(source, out, plot)
    sources.print_axes(source)
    models, count = [], files["count"] if len(source.places) == 1 else ""
    for name, pixels in source.parts:
        with common.about(name):
            model = sources.estimate(pixels, source, options)
        print(f"{name}{count}: {common.level_text(model, *common.range_of(pixels))}: {model}")
        models.append(model)
    sources.write_map(files["map"], source, models)
    if out is not None:
        with atomic_output(out) as stream:
            stream.write(models[0].to_json().encode() + b"\n")
    if plot is not None:
        from nnk_image.plotting import plot_noise

        with common.plot(plot, 2, (8, 3.4)) as axes:
            plot_noise(models[0], axes, value_range=common.range_of(source.pixels))
    return {}
