"""Denoise large images in tiles by the command line: time and peak memory."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tifffile

from benchmarks.timing import Table
from nnk_image import standard_image

SIGMA = 20.0
"""Standard deviation of the noise, which is given to the command."""

TIFF_TILE = 512
"""Height and width of the tiles of TIFF files, in pixels."""


def add_options(group):
    """Add the options of this table to an argparse group."""
    group.add_argument(
        "--slides",
        type=_slide,
        nargs="+",
        default=[("sgw", 8192), ("fast", 4096)],
        metavar="METHOD:SIDE",
        help="methods, and heights and widths of the images (default: sgw:8192 fast:4096)",
    )
    group.add_argument(
        "--tile-memory",
        default="1GiB",
        help="option --max-memory of `nnk-image denoise` (default: %(default)s)",
    )


def _slide(text):
    method, side = text.split(":")
    return method, int(side)


def tables(options):
    """Yield the table of `nnk-image denoise` from a tiled TIFF file to zarr."""
    columns = {"": "", "s": ".0f", "CPU s": ".0f", "us per pixel": ".2f", "peak MiB": ".0f"}
    table = Table(f"nnk-image denoise --max-memory {options.tile_memory}, TIFF to zarr", columns)
    for method, side in options.slides:
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "slide.tif"), Path(folder, "clean.zarr")
            write_slide(source, side)
            given = ["--sigma", f"{SIGMA:g}", "--max-memory", options.tile_memory]
            command = [sys.executable, "-m", "nnk_image", "denoise", source, target, *given]
            row = {"": f"{side}x{side} uint8 {method}"} | run_measured(
                [*command, "--method", method]
            )
            row["us per pixel"] = 1e6 * row["CPU s"] / side**2
            table.rows.append(row)
    table.notes = (
        f"8-bit images with noise of sigma {SIGMA:g}, which is given; TIFF tiles of "
        f"{TIFF_TILE} x {TIFF_TILE} pixels.",
        "One thread per processor. Peak: memory of the process, including libraries.",
    )
    yield table


def write_slide(path, side):
    """Write a noisy 8-bit image as a tiled TIFF file, without holding it in memory."""
    clean = standard_image("camera_512").astype(np.float32)
    noise = np.random.default_rng(0)
    across = -(-side // TIFF_TILE)

    def noisy_tiles():
        for _ in range(across**2):
            values = clean + np.float32(SIGMA) * noise.standard_normal(clean.shape, np.float32)
            yield np.clip(np.rint(values), 0, 255).astype(np.uint8)

    layout = {"shape": (side, side), "dtype": np.uint8, "tile": (TIFF_TILE, TIFF_TILE)}
    tifffile.imwrite(path, noisy_tiles(), bigtiff=True, photometric="minisblack", **layout)


def run_measured(command):
    """Run a command; return its seconds, processor seconds and peak memory as a dict."""
    start = time.perf_counter()
    # In another folder: in the root of the repository, nnk_image/ may lack its compiled core.
    process = subprocess.Popen(command, cwd=tempfile.gettempdir(), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"ended with status {status}: {process.args}")
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "s": time.perf_counter() - start,
        "CPU s": usage.ru_utime + usage.ru_stime,
        "peak MiB": unit * usage.ru_maxrss / 2**20,
    }
