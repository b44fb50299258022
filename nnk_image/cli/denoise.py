"""``nnk-image denoise``: remove noise, file by file."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import nnk_image
from nnk_image.cli import common, large, paths, sources
from nnk_image.io.files import WRITABLE, check_writable, write
from nnk_image.io.metadata import to_samples

if TYPE_CHECKING:
    from nnk_image.noise.model import NoiseModel

    Noise = float | NoiseModel


def add_command(commands: Any) -> None:
    """Add the sub-command."""
    command = common.new_command(
        commands,
        "denoise",
        run,
        "Remove noise from image files (PNG, JPEG, TIFF, PNM, read also WebP, AVIF, GIF, BMP), and "
        "from volumes and sequences (TIFF of many pages, .npy, .nii, .nii.gz).",
        "noisy.jpg clean.png",
        "noisy.png clean.png --sigma 20",
        "cells.tif clean.tif --gain 2.1 --read 5",
        "scans/ 'more/*.tif' clean/ --method best --json report.json",
        "stack.tif clean.tif --spacing 3,1,1",
        "slide.ome.tif clean.zarr --max-memory 4GiB",
    )
    add = command.add_argument
    add("inputs", nargs="+", metavar="IN", help="files, folders or patterns")
    add("output", metavar="OUT", help="file to write (may be IN), or a folder for several")
    add("--sigma", type=float, help="noise, in the file's own units (default: estimated)")
    add("--noise", metavar="FILE", help="noise model in JSON, from 'nnk-image noise --out'")
    add("--gain", type=float, help="increase of the noise variance per unit of intensity")
    add("--read", type=float, help="with --gain: noise where there is no light")
    add("--strength", type=float, default=1.0, help="above 1 removes more, below 1 less")
    add("--method", default="fast", help="a method of nnk_image.denoise (default: fast)")
    add("--slices", action="store_true", help="denoise each slice of a stack by itself")
    sources.add_options(command)
    large.add_options(command)
    add("--json", metavar="FILE", help="write what was done as JSON")
    common.add_jobs(command)


def run(options: argparse.Namespace) -> None:
    """Denoise every image, write the report."""
    noise = _given_noise(options)
    _check_options(options, noise)
    paths.check_outputs(options.json)
    if large.is_large(options):
        reports = [large.denoise_file(noise, options)]
    else:
        found = paths.image_paths(options.inputs)
        outputs = paths.paired_outputs(found, options.inputs, options.output, WRITABLE)
        reports = common.for_each(
            found, lambda path: _denoise_file(path, outputs[path], noise, options)
        )
    about = {"version": nnk_image.__version__, "method": options.method, "images": reports}
    common.write_json(options.json, about)
    common.check_reports(reports)


def _given_noise(options: argparse.Namespace) -> Noise | None:
    """Return the noise that the options give, None if it is to be estimated in each image."""
    poisson = options.gain is not None or options.read is not None
    if (options.sigma is not None) + (options.noise is not None) + poisson > 1:
        raise ValueError("give one of --sigma, --noise and --gain with --read")
    if options.noise is not None:
        return nnk_image.NoiseModel.from_json(Path(options.noise).read_text(encoding="utf-8"))
    if poisson:
        return nnk_image.NoiseModel(options.read or 0.0, gain=options.gain or 0.0)
    sigma: float | None = options.sigma
    return sigma


def _check_options(options: argparse.Namespace, noise: Noise | None) -> None:
    """Denoise a single pixel, so that a wrong option is reported once and not for each image."""
    sigma = 1.0 if noise is None or isinstance(noise, nnk_image.NoiseModel) else noise
    nnk_image.denoise(
        [[0.0]], sigma, method=options.method, strength=options.strength, n_jobs=options.jobs
    )


def _denoise_file(
    path: Path, output: Path, noise: Noise | None, options: argparse.Namespace
) -> common.Report:
    source = sources.read_source(path, options, options.slices)
    check_writable(output, source.pixels, source.metadata)
    sources.print_axes(path, source)
    start = time.perf_counter()
    models, changed = _denoise_in_place(source, noise, options)
    seconds = time.perf_counter() - start
    write(output, source.pixels, source.metadata)
    if not changed and source.pixels.dtype.kind in "bui":
        common.complain(
            f"{path}: found no noise to remove, and the image is unchanged; if you see noise, "
            "give its level with --sigma"
        )
    how = "estimated" if noise is None else "given"
    levels = [_level(model) for model in models]
    what = f"{_text(models[0])} ({how})"
    if noise is None and len(models) > 1:
        what = f"sigma {min(levels):.4g} to {max(levels):.4g} ({how} in each of {len(models)})"
    print(f"{path}: {source.size}, {what}, {seconds:.2f} s -> {output}", flush=True)
    return {
        "input": str(path),
        "output": str(output),
        "shape": source.pixels.shape,
        "dtype": str(source.pixels.dtype),
        "sigma": sum(levels) / len(levels),
        "sigma_estimated": noise is None,
        "noise": _text(models[0]) if len(models) == 1 else list(map(_text, models)),
        "seconds": seconds,
    }


def _denoise_in_place(
    source: sources.Source, noise: Noise | None, options: argparse.Namespace
) -> tuple[list[Noise], bool]:
    """Replace the pixels by the result; the noise of each part, and whether any sample changed."""
    pixels, models, changed = source.pixels, [], False
    # Stacks of 16 bits are denoised in float32, which holds them exactly in half the memory.
    small = pixels.dtype.kind in "bui" and pixels.dtype.itemsize <= 2
    as_float = small and not source.metadata.is_picture
    with _Progress(len(source.places)) as progress:
        for place in source.places:
            part = pixels[place].astype(np.float32) if as_float else pixels[place]
            result, found = _denoised(part, noise, options, progress.next(), source.options)
            samples = to_samples(result, pixels.dtype)
            changed = changed or not np.array_equal(samples, pixels[place])
            pixels[place] = samples
            models.append(found)
    return models, changed


def _denoised(
    pixels: npt.NDArray[Any],
    noise: Noise | None,
    options: argparse.Namespace,
    progress: Any,
    about: dict[str, Any],
) -> tuple[npt.NDArray[Any], Noise]:
    """Return an image or a volume without its noise, and the noise, estimated if not given."""
    if noise is None:
        noise = nnk_image.estimate_noise(pixels, **about)
    result = nnk_image.denoise(
        pixels,
        noise,
        method=options.method,
        strength=options.strength,
        n_jobs=options.jobs,
        progress=progress,
        **about,
    )
    return result, noise


def _level(noise: Noise) -> float:
    """Return the standard deviation of noise, the mean over channels."""
    return sum(noise.sigma) / len(noise.sigma) if isinstance(noise, nnk_image.NoiseModel) else noise


def _text(noise: Noise) -> str:
    return str(noise) if isinstance(noise, nnk_image.NoiseModel) else f"sigma {noise:.4g}"


class _Progress:
    """One bar for several calls of the library, none where nobody would see it."""

    def __init__(self, calls: int) -> None:
        self._calls, self._begun = calls, 0
        self._bar: Any = None
        self._wanted = common.wants_progress()

    def __enter__(self) -> _Progress:
        if self._wanted and self._calls > 1:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=self._calls, desc="denoise", unit="part", leave=False)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def next(self) -> bool | Callable[[int, int], Any]:
        """Return what the next call gets as ``progress``."""
        if self._bar is None:
            return self._wanted
        begun, self._begun = self._begun, self._begun + 1
        return lambda done, total: self._bar.update(begun + done / total - self._bar.n)
