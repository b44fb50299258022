"""Time per pixel and peak memory from small images to large ones, each in its own process."""

import json
import os
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.timing import Table, add_sizes

SIZES = (256, 512, 1024, 2048, 4096, 8192)
WORKS = (
    "image_graph",
    "7 bands",
    "7 bands of_image",
    "denoise sgw",
    "denoise fast",
    "skimage denoise_bilateral",
)
SIGMA = 20.0
ENOUGH = 60  # seconds after which no run is begun any more
KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
"""Lets glibc keep what was freed for the next run."""

NOTES = (
    f"ns/pixel: fastest of 3 runs in one process (fewer where they take more than {ENOUGH} s).",
    "system: of these, what the system took, nearly all of it to find and clear fresh pages.",
    "first run: large images pay for fresh pages in every run, small ones in the first.",
    "peak MiB: of the whole process, image and libraries included; bytes/pixel: what the first",
    "run added to what was resident before it.  7 bands: image_graph, SpectralGraphWavelets and",
    "analyze; of_image: SpectralGraphWavelets.of_image and analyze, without the graph as a matrix.",
    "A row without figures did not fit into memory.  With --keep-memory what a run frees stays",
    "with the process for the next one, as with small images: times of the computation alone.",
)


def add_options(group):
    """Command line of this table."""
    add_sizes(group, "--sizes", SIZES)
    group.add_argument("--keep-memory", action="store_true", help="let runs share memory (glibc)")
    group.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the figures too")


def tables(options):
    """One table per work, then perhaps the plot of all."""
    figure = _figure(options.plot) if options.plot else None  # before hours of work
    measured = []
    for work in WORKS:
        measured.append(_table(work, options.sizes, options.keep_memory))
        yield measured[-1]
    if figure:
        _draw(figure, dict(zip(WORKS, measured, strict=True)))
        figure.savefig(options.plot, dpi=120)
        print(f"plot: {options.plot.resolve()}")


def _table(work, sizes, keep_memory):
    columns = {"size": "", "type": "", "ns/pixel": ".0f", "system": ".0f", "first run": ".0f"}
    columns |= {"peak MiB": ".0f", "bytes/pixel": ".0f", "of which result": ".0f"}
    kept = ", memory kept" if keep_memory else ""
    table = Table(f"{work}: noisy camera in tiles, window 11, one thread{kept}", columns)
    for dtype, size in product(("float32", "float64"), sizes):
        measured = _in_fresh_process(work, dtype, size, KEPT if keep_memory else {})
        figures = _per_pixel(measured, size * size) if measured else {}
        table.rows.append({"size": f"{size}x{size}", "type": dtype} | figures)
    if work == WORKS[-1]:
        table.notes = NOTES
    return table


def _per_pixel(measured, pixels):
    seconds, system = min(measured["seconds"])
    return {
        "pixels": pixels,
        "ns/pixel": 1e9 * seconds / pixels,
        "system": 1e9 * system / pixels,
        "first run": 1e9 * measured["seconds"][0][0] / pixels,
        "peak MiB": measured["peak"] / 2**20,
        "bytes/pixel": (measured["peak"] - measured["before"]) / pixels,
        "of which result": measured["result"] / pixels,
    }


def _figure(path):
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SystemExit("--plot needs matplotlib: pip install matplotlib") from None
    if not path.absolute().parent.is_dir():
        raise SystemExit(f"--plot {path}: there is no such folder")
    return Figure(figsize=(10, 5.6), layout="constrained")


def _draw(figure, tables):
    """Time and memory per pixel against pixels: a colour per work, a line style per type."""
    titles = {"ns/pixel": "Time (ns per pixel)", "bytes/pixel": "Peak memory (bytes per pixel)"}
    axes = figure.subplots(1, 2)
    for ax, (column, title) in zip(axes, titles.items(), strict=True):
        for n, (work, table) in enumerate(tables.items()):
            for dtype, style in (("float32", "o-"), ("float64", "s--")):
                # Below 1 is what single pages make of memory that was there already.
                rows = [r for r in table.rows if r["type"] == dtype and r.get(column, 0) >= 1]
                points = [r["pixels"] for r in rows], [r[column] for r in rows]
                ax.loglog(*points, style, color=f"C{n}", markersize=4, label=f"{work}, {dtype}")
        ax.set(xlabel="Pixels", ylabel=title)
        ax.grid(which="both", alpha=0.3)
    # Columns of two: the types of a work.
    entries = axes[0].get_legend_handles_labels()
    figure.legend(*entries, loc="outside lower center", ncols=len(tables), fontsize=7)
    figure.suptitle("nnk_image and skimage: noisy camera in tiles, window 11, one thread")


def _in_fresh_process(work, dtype, size, environment):
    command = [sys.executable, "-m", "benchmarks.memory", work, dtype, str(size)]
    root = Path(__file__).resolve().parents[1]
    environment = os.environ | environment
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    if "MemoryError" in done.stderr or done.returncode == -signal.SIGKILL:  # by the system
        return None
    done.check_returncode()
    return json.loads(done.stdout)


def _measure(work, dtype, size):
    """Run `work` in this process; what it took, as JSON on stdout."""
    _die_first()
    run = _prepared(work)
    run(tiled_camera(64, dtype))  # loads all libraries
    image = tiled_camera(size, dtype)
    before, _ = resident()
    seconds, peak = [], None
    while len(seconds) < 3 and sum(s for s, _ in seconds) < ENOUGH:
        start, system = time.perf_counter(), os.times().system
        result = run(image)
        seconds.append((time.perf_counter() - start, os.times().system - system))
        peak = peak or resident()[1]
        used = _nbytes(result)
        del result
    print(json.dumps({"seconds": seconds, "peak": peak, "before": before, "result": used}))


def _die_first():
    """Should memory run out, let Linux end this process and no other."""
    score = Path("/proc/self/oom_score_adj")
    if score.is_file():
        score.write_text("1000")


def _prepared(work):
    import nnk_image

    if work == "image_graph":
        return lambda image: nnk_image.image_graph(image, sigma_f=30)
    if work == "7 bands":
        return _seven_bands
    if work == "7 bands of_image":
        wavelets = nnk_image.SpectralGraphWavelets
        return lambda image: wavelets.of_image(image, sigma_f=30).analyze(image)
    if work.startswith("denoise"):
        method = work.partition(" ")[2]
        return lambda image: nnk_image.denoise(image, SIGMA, method=method)
    from skimage.restoration import denoise_bilateral

    return lambda image: denoise_bilateral(image, 11, sigma_color=30, sigma_spatial=2)


def _seven_bands(image):
    import nnk_image

    graph = nnk_image.image_graph(image, sigma_f=30)
    return nnk_image.SpectralGraphWavelets(graph).analyze(image)


def tiled_camera(size, dtype):
    """The camera picture side by side with noise, made in place so that no peak precedes."""
    import nnk_image

    tile = nnk_image.standard_image("camera_512").astype(dtype)
    rng = np.random.default_rng(0)
    image = np.empty((size, size), dtype)
    for y in range(0, size, len(tile)):
        for x in range(0, size, len(tile)):
            part = image[y : y + len(tile), x : x + len(tile)]
            noise = rng.standard_normal(part.shape, dtype)
            noise *= SIGMA
            np.add(noise, tile[: part.shape[0], : part.shape[1]], out=part)
    image -= image.min()  # skimage's filter is only right from 0 upwards
    return image


def _nbytes(result):
    if isinstance(result, np.ndarray):
        return result.nbytes
    matrix = result.adjacency
    return matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes


def resident():
    """Resident memory of this process now and at its peak so far, in bytes.

    On Linux not by getrusage, whose peak includes that of the parent process; elsewhere
    the peak has to stand for both.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return tuple(1024 * int(lines[key].split()[0]) for key in ("VmRSS", "VmHWM"))
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return (unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,) * 2


if __name__ == "__main__":
    _measure(sys.argv[1], sys.argv[2], int(sys.argv[3]))
