"""``nnk-image denoise`` of images that are larger than memory, in tiles."""

import argparse
import time
from pathlib import Path
from typing import Any

import nnk_image
from nnk_image.base.atomic import ImageFileError
from nnk_image.cli import common
from nnk_image.io.arrays import open_source


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of large images."""
    command.add_argument(
        "--max-memory",
        metavar="SIZE",
        help="process tiles that take this much memory, such as 4GiB: from TIFF, .npy or .zarr "
        "of any size to .zarr; the same command resumes interrupted work",
    )


def is_large(options: argparse.Namespace) -> bool:
    """Return whether the options ask for tiles."""
    names = (*options.inputs, options.output)
    return options.max_memory is not None or any(Path(n).suffix.lower() == ".zarr" for n in names)


def denoise_file(noise: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Denoise one file in tiles and return what was done, for the report."""
    if len(options.inputs) != 1 or options.slices:
        raise ImageFileError(
            "--max-memory and .zarr files, for tiles, need a single IN, and no --slices"
        )
    path, start = options.inputs[0], time.perf_counter()
    with open_source(path) as source:
        shape, stored = source.shape, source.stored
    axes = options.axes
    if axes is not None and len(axes) != len(shape):
        raise ImageFileError(f"{path}: has {len(shape)} axes, --axes={axes} names {len(axes)}")
    if axes is not None and not set(axes) <= set("TZYXS"):
        raise ImageFileError(f"--axes={axes}: only T, Z, Y, X and S can be denoised in tiles")
    spacing = options.spacing
    if spacing is None and axes is not None and len(axes.replace("S", "")) > 2:
        spacing = 1.0
    removed = nnk_image.denoise_tiles(
        path,
        options.output,
        noise,
        method=options.method,
        channel_axis=axes.index("S") if axes is not None and "S" in axes else None,
        spacing=spacing,
        strength=options.strength,
        max_memory=options.max_memory or "1GiB",
        n_jobs=options.jobs,
        progress=common.wants_progress(),
    )
    seconds = time.perf_counter() - start
    size = f"{'x'.join(map(str, shape))} {stored}"
    print(f"{path}: {size}, {removed}, {seconds:.2f} s -> {options.output}", flush=True)
    return {
        "input": str(path),
        "output": str(options.output),
        "shape": shape,
        "dtype": str(stored),
        "sigma": sum(removed.sigma) / len(removed.sigma),
        "sigma_estimated": noise is None,
        "noise": str(removed),
        "seconds": seconds,
    }
