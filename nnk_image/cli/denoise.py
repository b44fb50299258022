"""``nnk-image denoise``: remove noise, file by file."""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import nnk_image
from nnk_image.base.atomic import ImageFileError
from nnk_image.base.parallel import Progress, progress_bar, progress_of_part
from nnk_image.cli import common, paths, sources
from nnk_image.io.arrays import open_source
from nnk_image.io.files import WRITABLE, check_writable, copied, write
from nnk_image.io.metadata import to_samples


def add_command(commands: Any) -> None:
    command = common.new_command(
        commands,
        "denoise",
        run,
        "Remove noise from image files (PNG, JPEG, TIFF, WebP, AVIF, BMP, PNM, read also HEIF, "
        "GIF), and from volumes and sequences (TIFF of many pages, .npy, .nii, .nii.gz).",
        "noisy.jpg clean.png",
        "noisy.png clean.png --sigma 20",
        "cells.tif clean.tif --gain 2.1 --read 5",
        "scans/ 'more/*.tif' clean/ --method best --json report.json",
        "stack.tif clean.tif --spacing 3,1,1",
        "t1.nii.gz clean.nii.gz --rician --map sigma.nii.gz",
        "dwi.nii.gz clean.nii.gz --axes CZYX --channels bands --rician",
        "photos/ clean/ --recursive --no-clobber",
        "slide.ome.tif clean.zarr --max-memory 4GiB",
    )
    add = command.add_argument
    add("images", nargs="+", metavar="IN", help="files, folders or patterns")
    add("output", metavar="OUT", help="file to write, or a folder for several")
    existing = command.add_mutually_exclusive_group()
    common.add_overwrite(existing)
    existing.add_argument("--no-clobber", action="store_true", help="skip results that exist")
    known = command.add_mutually_exclusive_group().add_argument
    known("--sigma", type=float, help="standard deviation of the noise (default: estimated)")
    known("--noise", metavar="FILE", help="noise model in JSON, from 'nnk-image noise --out'")
    known("--gain", type=float, help="increase of the noise variance per unit of intensity")
    add("--read", type=float, default=0.0, help="with --gain: noise where there is no light")
    add("--offset", type=float, default=0.0, help="with --gain: value of a pixel without light")
    sources.add_noise_options(command)
    help_of_strength = "above 1 removes more, below 1 less (default: 1)"
    add("--strength", type=float, default=1.0, help=help_of_strength)
    add("--method", default="fast", help="such as best, which is slower (default: fast)")
    sources.add_options(command)
    add(
        "--max-memory",
        metavar="SIZE",
        help="process tiles that take this much memory, such as 4GiB: from TIFF, .npy or .zarr "
        "of any size to .zarr; the same command resumes interrupted work",
    )
    add("--json", metavar="FILE", help="write what was done as JSON")
    add("--jobs", type=int, default=-1, metavar="N", help=common.JOBS)


def run(options: argparse.Namespace) -> list[common.Report]:
    noise = _given_noise(options)
    _check_options(options)
    in_zarr = [Path(n).suffix.lower() == ".zarr" for n in (*options.images, options.output)]
    if options.max_memory is not None or any(in_zarr):
        reports = [_denoise_in_tiles(noise, options)]
    else:
        formats = {"output": WRITABLE, "map": paths.MAPS}
        reports = paths.for_each_image(options, partial(_denoise_file, noise), **formats)
    about = {"version": nnk_image.__version__, "method": options.method}
    common.write_json(options.json, about | {"strength": options.strength, "images": reports})
    return reports


def _given_noise(options: argparse.Namespace) -> nnk_image.NoiseModel | None:
    """Return the noise that the options give, None if it is to be estimated in each image."""
    if options.gain is None and (options.read or options.offset):
        raise ValueError("--read and --offset need --gain; for noise of one level use --sigma")
    model = options.noise is not None or options.gain is not None
    if options.map is not None and (model or options.sigma is not None):
        raise ValueError("--map writes the estimated level: it needs no given noise")
    if options.rician and model:
        raise ValueError(
            "--rician can be combined with --sigma only; a noise model in JSON includes it"
        )
    if options.noise is not None:
        text = Path(options.noise).read_text(encoding="utf-8", errors="replace")
        try:
            return nnk_image.NoiseModel.from_json(text)
        except ValueError as error:
            reason = f" ({error})" if text.lstrip().startswith(("{", "[")) else ""
            raise ImageFileError(
                f"{options.noise}: is not a noise model{reason}; 'nnk-image noise IMAGE --out "
                "model.json' makes one"
            ) from None
    if options.gain is not None:
        return nnk_image.NoiseModel(options.read, gain=options.gain, offset=options.offset)
    if options.sigma is not None:
        return nnk_image.NoiseModel(options.sigma, rician=options.rician)
    return None


def _check_options(options: argparse.Namespace) -> None:
    """Denoise a single pixel, so that a wrong option is reported once and not for each image."""
    if options.channels == "bands" and options.strength != 1:
        raise ValueError(
            "--strength cannot be combined with --channels bands: give a higher --sigma"
        )
    given = {"method": options.method, "strength": options.strength, "n_jobs": options.jobs}
    nnk_image.denoise([[0.0]], 1.0, **given)


def _denoise_file(
    noise: nnk_image.NoiseModel | None, path: Path, files: paths.Files, options: argparse.Namespace
) -> common.Report:
    output, source = files["output"], sources.read_source(path, options)
    check_writable(output, source.pixels, source.metadata)
    sources.print_axes(source)
    limits = [common.range_of(pixels) for _, pixels in source.parts]
    start = time.perf_counter()
    models, changed = _denoise_in_place(source, noise, options)
    seconds = time.perf_counter() - start
    # If nothing changed, a copy keeps all metadata, and does not encode a JPEG again.
    if changed or not copied(path, output, source.metadata):
        write(output, source.pixels, source.metadata)
    levels = [common.typical_level(model, *r) for model, r in zip(models, limits, strict=True)]
    if not changed:
        reason = "found no noise to remove; if you see noise, give its level with --sigma"
        if noise is not None:
            reason = f"the given noise, {levels[0]:.2g} in the units of the file, changes no value"
        common.print_error(f"{path}: the image is unchanged: {reason}")
    sources.write_map(files["map"], source, models)
    texts = [common.level_text(model, *r) for model, r in zip(models, limits, strict=True)]
    what = f"{texts[0]} ({'estimated' if noise is None else 'given'})"
    if noise is None and len(models) > 1:
        what = f"noise estimated in each of {len(models)} images or volumes"
        for (name, _), text in zip(source.parts, texts, strict=True):
            print(f"{name}: {text}")
    print(f"{path}{files['count']}: {source.size}, {what}, {seconds:.2f} s -> {output}")
    about = {"output": str(output), "sigma_estimated": noise is None}
    about["sigma"] = sum(levels) / len(levels)
    return about | _result(source.pixels.shape, source.pixels.dtype, models, seconds)


def _result(
    shape: tuple[int, ...], dtype: np.dtype[Any], models: list[nnk_image.NoiseModel], seconds: float
) -> common.Report:
    """Return the part of a report on the image, the noise that was removed, and the time."""
    # A map is not included in the JSON: --map writes it.
    noise = [str(m) if m.levels is not None else json.loads(m.to_json()) for m in models]
    return {
        "shape": shape,
        "dtype": str(dtype),
        "noise": noise[0] if len(noise) == 1 else noise,
        "seconds": seconds,
    }


def _denoise_in_place(
    source: sources.Source, noise: nnk_image.NoiseModel | None, options: argparse.Namespace
) -> tuple[list[nnk_image.NoiseModel], bool]:
    """Replace the pixels by the result; return the noise of each part, and if any pixel changed."""
    models, changed, dtype = [], False, source.pixels.dtype
    # Stacks of 16 bits are denoised in float32, which holds them exactly in half the memory.
    small = dtype.kind in "bui" and dtype.itemsize <= 2
    as_float = small and not source.metadata.is_picture
    with progress_bar("denoise", common.wants_progress()) as show:
        for number, (name, pixels) in enumerate(source.parts):
            part = pixels.astype(np.float32) if as_float else pixels
            progress = progress_of_part(show, number, len(source.places))
            part_noise = _noise_of_part(noise, source, source.places[number])
            with common.about(name):
                result, model = _denoised(part, source, part_noise, options, progress)
            samples = to_samples(result, dtype)
            changed = changed or not np.array_equal(samples, pixels, equal_nan=True)
            pixels[...] = samples
            models.append(model)
    return models, changed


def _noise_of_part(
    noise: nnk_image.NoiseModel | None, source: sources.Source, place: tuple[Any, ...]
) -> nnk_image.NoiseModel | None:
    """Return the given noise of a part: if each channel has its own, that of the part's channel."""
    if noise is not None:
        values = max(len(noise.sigma), len(noise.gain), len(noise.offset))
        for axis, n, at in zip(source.metadata.axes, source.pixels.shape, place, strict=True):
            if axis in "CS" and n == values > 1 and isinstance(at, int):
                return noise.of_channel(at, n)
    return noise


def _denoised(
    pixels: npt.NDArray[Any],
    source: sources.Source,
    noise: nnk_image.NoiseModel | None,
    options: argparse.Namespace,
    progress: Progress,
) -> tuple[npt.NDArray[Any], nnk_image.NoiseModel]:
    """Return one of the parts of a source without its noise, and this noise."""
    from nnk_image.denoising.api import denoise_and_report

    if noise is None and (options.rician or options.map):
        noise = sources.estimate(pixels, source, options)
    given = source.arguments(pixels) | {"method": options.method, "n_jobs": options.jobs}
    if options.channels != "bands":
        given |= {"strength": options.strength, "progress": progress}
        return denoise_and_report(pixels, noise, **given)
    given |= {"axis": given.pop("channel_axis"), "progress": progress, "return_info": True}
    result, info = nnk_image.denoise_bands(pixels, noise, **given)
    return result, nnk_image.NoiseModel(info["sigma"]) if noise is None else noise


def _denoise_in_tiles(
    noise: nnk_image.NoiseModel | None, options: argparse.Namespace
) -> common.Report:
    """Denoise one file that may be larger than memory."""
    others = [options.slices, options.channels, options.map, options.no_clobber]
    others += [options.max_pixels]
    taken = Path(options.images[0]), Path(options.output)
    if len(options.images) != 1 or taken[1].suffix.lower() != ".zarr" or any(others):
        raise ImageFileError(
            "--max-memory and .zarr files, for tiles, need a single IN, an OUT that ends in .zarr, "
            "and no --slices, --channels, --map, --no-clobber or --max-pixels"
        )
    if options.rician and noise is None:
        raise ValueError("--rician with --max-memory needs --sigma")
    path, start = options.images[0], time.perf_counter()
    paths.check_targets(taken, options.overwrite, {"json": [options.json]})
    with open_source(path, options.axes, named=True) as source:
        shape, stored, metadata = source.shape, source.stored, source.metadata
        space, spacing = [axis for axis in metadata.axes if axis in sources.SPACE], options.spacing
        if len(space) > 2:
            spacing = sources.spacing_of(Path(path), metadata, spacing, space)
        removed = nnk_image.denoise_tiles(
            source,
            options.output,
            noise,
            method=options.method,
            spacing=spacing,
            strength=options.strength,
            max_memory=options.max_memory or "1GiB",
            n_jobs=options.jobs,
            progress=common.wants_progress(),
        )
    seconds = time.perf_counter() - start
    size = f"{'x'.join(map(str, shape))} {metadata.axes} {stored}"
    size += f", spacing {', '.join(f'{n:g}' for n in spacing)}" if spacing else ""
    # The range of the values, which the sentence for other files has, would need one pass more.
    high = 255.0 if stored == np.uint8 else 0.0
    what = common.level_text(removed, 0.0, high) if high or not any(removed.gain) else str(removed)
    what += f" ({'estimated' if noise is None else 'given'})"
    print(f"{path}: {size}, {what}, {seconds:.2f} s -> {options.output}")
    about = {"input": path, "output": options.output, "sigma_estimated": noise is None}
    about["sigma"] = None if any(removed.gain) else float(np.mean(removed.sigma))
    return about | _result(shape, stored, [removed], seconds)
