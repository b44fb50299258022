"""``nnk-image denoise`` of images that are larger than memory, tile by tile."""

import time
from pathlib import Path

import nnk_image
from nnk_image.cli import common
from nnk_image.cli.sources import SPACE
from nnk_image.io import ImageFileError
from nnk_image.io.arrays import open_source


def add_options(command):
    """Add the options of large images."""
    command.add_argument(
        "--max-memory",
        metavar="SIZE",
        help="work in tiles that take so much memory, such as 4GiB: for TIFF, .npy and .zarr of "
        "any size",
    )
    command.add_argument(
        "--anew", action="store_true", help="with tiles: do not go on with an interrupted run"
    )


def is_large(options):
    """Whether the options ask for work in tiles."""
    names = (*options.inputs, options.output)
    zarr = any(Path(name).suffix.lower() == ".zarr" for name in names)
    return options.max_memory is not None or zarr


def denoise_file(noise, options):
    """Denoise one file in tiles; what was done, for the report."""
    if len(options.inputs) != 1 or options.slices:
        raise ImageFileError("in tiles one file at a time is denoised, and no slices by themselves")
    path, start = options.inputs[0], time.perf_counter()
    with open_source(path, as_float32=True) as source:
        told = _told(path, source, options)
        found = nnk_image.denoise_tiles(
            source,
            options.output,
            noise,
            method=options.method,
            strength=options.strength,
            max_memory=options.max_memory or "1GiB",
            n_jobs=options.jobs,
            progress=common.wants_progress(),
            resume=not options.anew,
            **told,
        )
        size = f"{'x'.join(map(str, source.shape))} {source.stored}"
    seconds = time.perf_counter() - start
    print(f"{path}: {size}, {found}, {seconds:.2f} s -> {options.output}", flush=True)
    return {
        "input": str(path),
        "output": str(options.output),
        "shape": source.shape,
        "dtype": str(source.stored),
        "sigma": sum(found.sigma) / len(found.sigma),
        "sigma_estimated": noise is None,
        "noise": str(found),
        "seconds": seconds,
    }


def _told(path, source, options):
    """What tells `denoise_tiles` which axis is what."""
    axes = options.axes or source.axes or {2: "YX"}.get(len(source.shape))
    if axes is None or len(axes) != len(source.shape):
        raise ImageFileError(
            f"{path}: is an array of shape {source.shape}: say with --axes what its axes are, "
            "such as YXS (S colours) or ZYX"
        )
    space = axes.replace("S", "", 1)
    if not set(space) <= set(SPACE):
        raise ImageFileError(
            f"{path}: has axes {axes}: in tiles only those of space, time and colours "
            f"({', '.join(SPACE)}, S) can be taken; save one of the images"
        )
    told = {"channel_axis": axes.index("S") if "S" in axes else None}
    if len(space) > 2:
        told["spacing"] = options.spacing or (1.0,) * len(space)
    return told
