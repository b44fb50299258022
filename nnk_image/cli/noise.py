"""``nnk-image noise``: estimate the noise of images."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nnk_image
from nnk_image.base.atomic import atomic_output
from nnk_image.base.progress import Bar
from nnk_image.cli import common, paths, sources

if TYPE_CHECKING:
    from nnk_image.noise.model import NoiseModel


def add_command(commands: Any) -> None:
    """Add the sub-command."""
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
    command.add_argument(
        "images", nargs="+", metavar="IMAGE", help="files, folders, patterns; - is standard input"
    )
    common.add_outputs(
        command,
        out="write the model (.json, read by denoise --noise); a folder for several images",
        plot="picture of the model (.png, .pdf, .svg); a folder for several images",
    )
    command.add_argument(
        "--check", action="store_true", help="denoise, and check whether more than noise is removed"
    )
    sources.add_noise_options(command)
    sources.add_options(command)


def run(options: argparse.Namespace) -> None:
    """Estimate, print, write and draw every image's noise."""
    with paths.standard_streams(options.images) as (images, _):
        found = paths.image_paths(images, options.recursive)
        files = paths.paired_outputs(found, images, options.out, (".json",))
        plots = paths.paired_outputs(found, images, options.plot, paths.PLOTS)
        maps = paths.paired_outputs(found, images, options.map, paths.MAPS)
        targets = {"out": files.values(), "plot": plots.values(), "map": maps.values()}
        paths.check_targets(found, options.overwrite, **targets)
        outputs = files, plots, maps
        reports = common.for_each(
            found, lambda path: _noise_of_file(path, [each.get(path) for each in outputs], options)
        )
        common.check_reports(reports)


def _noise_of_file(
    path: Path, outputs: Sequence[Path | None], options: argparse.Namespace
) -> common.Report:
    from nnk_image.noise.words import described

    file, plot, level_map = outputs
    source = sources.read_source(path, options)
    sources.check_single(path, source, file, plot)
    sources.print_axes(path, source)
    models = []
    for label, pixels in source.parts:
        model = sources.estimate(pixels, source, options)
        name = f"{common.named(path)}{label}"
        print(f"{name}: {described(model, *common.range_of(pixels))}: {model}", flush=True)
        if options.check:
            print(f"{name}: {_checked(pixels, model, source)}", flush=True)
        models.append(model)
    sources.write_map(level_map, source, models)
    if file is not None:
        with atomic_output(file) as stream:
            stream.write(models[0].to_json().encode() + b"\n")
    if plot is not None:
        from nnk_image.plotting import plot_noise

        with common.plot(plot, 2, (8, 3.4)) as axes:
            plot_noise(models[0], axes, value_range=common.range_of(source.pixels))
    return {"input": common.named(path), "noise": list(map(repr, models))}


def _checked(pixels: Any, model: NoiseModel, source: sources.Source) -> str:
    """Denoise with the estimated noise, and say by `residual_structure` what was removed."""
    from nnk_image.denoising.residual import MOST_STRUCTURE

    about = source.arguments(pixels)
    with closing(Bar("check", common.wants_progress())) as bar:
        clean = nnk_image.denoise(pixels, model, n_jobs=-1, progress=bar.update, **about)
    about = {name: about[name] for name in ("channel_axis", "mask") if name in about}
    ratio = nnk_image.residual_structure(pixels, clean, **about)
    if ratio != ratio:  # NaN
        return "check: impossible, because the image is too small, or nothing is removed"
    what = "texture is removed too" if ratio > MOST_STRUCTURE else "only noise is removed"
    return f"check: {what} (structured areas change {ratio:.2g} times as much as flat ones)"
