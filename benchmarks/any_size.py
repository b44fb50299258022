"""Images larger than memory, through the command line in tiles; thin images."""

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import tifffile

from benchmarks.machine import resident
from benchmarks.timing import Table, add_choice
from nnk_image import denoise, image_graph, standard_image

SIGMA = 20.0
TIFF_TILE = 512
PIXELS = 1_000_000
SHAPES = {"square": (1000, 1000), "row": (1, PIXELS), "column": (PIXELS, 1), "strip": (62_500, 16)}
WORKS = {
    "image_graph": partial(image_graph, sigma_f=30),
    "denoise fast": partial(denoise, sigma=SIGMA),
}


def add_options(group):
    """Command line of these tables."""
    add_choice(group, "--any-size", TABLES)
    group.add_argument(
        "--slides",
        nargs="+",
        default=["sgw:8192", "fast:4096"],
        metavar="METHOD:SIDE",
        help="what is denoised in tiles (default %(default)s)",
    )
    group.add_argument("--tile-memory", default="1GiB", help="its --max-memory (%(default)s)")


def tables(options):
    """The tables that were asked for."""
    for name in options.any_size:
        yield TABLES[name](options)


def files(options):
    """Time and peak of `nnk-image denoise`, tiled TIFF to zarr."""
    columns = {"": "", "s": ".0f", "CPU s": ".0f", "us per pixel": ".2f", "peak MiB": ".0f"}
    table = Table(f"nnk-image denoise --max-memory {options.tile_memory}, TIFF to zarr", columns)
    for method, side in _slides(options):
        with tempfile.TemporaryDirectory() as folder:
            source = slide(Path(folder, "slide.tif"), side)
            command = _command(source, Path(folder, "clean.zarr"), method, options)
            row = {"": f"{side}x{side} uint8 {method}"} | _waited(_started(command))
            row["us per pixel"] = 1e6 * row["CPU s"] / side**2
            table.rows.append(row)
    table.notes = (
        f"8-bit pixels of noise {SIGMA:g}, which is told; TIFF of tiles of {TIFF_TILE} pixels.",
        "Threads: all processors.  Peak: of the process, libraries included.",
    )
    return table


def thin(options):
    """Time and memory per pixel of thin images, each in a process of its own."""
    columns = {"": "", "us": ".2f", "x square": ".2f", "bytes": ".0f", "x square ": ".2f"}
    table = Table(f"{PIXELS} float32 pixels, one thread: per pixel", columns)
    for work in WORKS:
        square = {}
        for name, shape in SHAPES.items():
            command = [sys.executable, "-m", "benchmarks.any_size", work, name]
            done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)
            row = json.loads(done.stdout)
            square = square or row
            row["x square"] = row["us"] / square["us"]
            row["x square "] = row["bytes"] / square["bytes"]
            table.rows.append({"": f"{work}, {'x'.join(map(str, shape))}"} | row)
    table.notes = (
        "us: processor time, the least of 3 runs.  Bytes: what the first run adds to what is",
        "resident before it, result included.",
    )
    return table


TABLES = {"files": files, "thin": thin}

_ROOT = Path(__file__).resolve().parents[1]


def slide(path, side):
    """Write a noisy picture of 8 bits as a TIFF of tiles, without holding it in memory."""
    clean = standard_image("camera_512").astype(np.float32)
    noise = np.random.default_rng(0)
    across = -(-side // TIFF_TILE)

    def noisy_tiles():
        for _ in range(across**2):
            values = clean + np.float32(SIGMA) * noise.standard_normal(clean.shape, np.float32)
            yield np.clip(np.rint(values), 0, 255).astype(np.uint8)

    layout = {"shape": (side, side), "dtype": np.uint8, "tile": (TIFF_TILE, TIFF_TILE)}
    tifffile.imwrite(path, noisy_tiles(), bigtiff=True, photometric="minisblack", **layout)
    return path


def _slides(options):
    for text in options.slides:
        method, side = text.split(":")
        yield method, int(side)


def _command(source, target, method, options):
    told = ["--method", method, "--sigma", f"{SIGMA:g}", "--max-memory", options.tile_memory]
    return [sys.executable, "-m", "nnk_image", "denoise", str(source), str(target), *told]


def _started(command):
    # Not in the root of the repository, where Python may find the package without its core.
    return subprocess.Popen(command, cwd=tempfile.gettempdir(), stdout=subprocess.DEVNULL)


def _waited(process):
    """Seconds, processor time and peak memory of a process that has been started just now."""
    start = time.perf_counter()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"ended with status {status}: {process.args}")
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "s": time.perf_counter() - start,
        "CPU s": usage.ru_utime + usage.ru_stime,
        "peak MiB": unit * usage.ru_maxrss / 2**20,
    }


def _measure_thin(work, name):
    """One work on one image in this process; its figures as JSON on stdout."""
    run = WORKS[work]
    run(np.zeros((64, 64), np.float32))  # loads all libraries
    height, width = SHAPES[name]
    clean = standard_image("camera_512").astype(np.float32)[:height, :width]
    times = tuple(-(-n // m) for n, m in zip(SHAPES[name], clean.shape, strict=True))
    noisy = np.tile(clean, times)[:height, :width]
    noise = np.random.default_rng(0).standard_normal(noisy.shape, np.float32)
    noisy = noisy + np.float32(SIGMA) * noise
    del noise
    before, seconds, peak = resident()[0], [], None
    for _ in range(3):
        start = time.process_time()
        run(noisy)
        seconds.append(time.process_time() - start)
        peak = peak or resident()[1]
    figures = {"us": 1e6 * min(seconds) / PIXELS, "bytes": (peak - before) / PIXELS}
    print(json.dumps(figures))


if __name__ == "__main__":
    _measure_thin(*sys.argv[1:])
