"""The command ``nnk-image``: denoise files, measure energy compaction, demonstrate.

Exit status 0 on success, 1 on failure (one line on stderr), 2 on wrong usage.
"""

import argparse
import csv
import io
import json
import os
import sys
import time
from pathlib import Path

import nnk_image
from nnk_image._output import check_output
from nnk_image.reading import (
    ImageFileError,
    atomic_output,
    check_writable,
    image_paths,
    read_image,
    standard_images,
    write_image,
)

DEMO_FILE = "nnk-image-demo.png"


def main(arguments=None):
    """Run the command line; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
        return 0
    except BrokenPipeError:  # the reader of our output is gone: nothing left to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return _fail("interrupted; nothing was half written", status=130)
    except MemoryError as error:
        return _fail(f"out of memory {error}".strip())
    except (ImageFileError, ValueError, TypeError, OSError, ImportError) as error:
        return _fail(error)


def _fail(message, status=1):
    print("nnk-image: " + " ".join(str(message).split()), file=sys.stderr)
    return status


def _parser():
    parser = argparse.ArgumentParser(
        prog="nnk-image",
        description="Sparse NNK graphs of images: denoising and energy compaction.",
    )
    parser.add_argument("--version", action="version", version=_version_text())
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_demo(commands)
    _add_denoise(commands)
    _add_compaction(commands)
    return parser


def _version_text():
    from nnk_image import _core

    return f"nnk-image {nnk_image.__version__} ({_core.simd_variant()})"


def _command(commands, name, run, summary, example):
    command = commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def _add_jobs(command):
    command.add_argument(
        "--jobs", type=int, metavar="N", help="threads; -1 for all processors (default: 1)"
    )


# --- demo ---------------------------------------------------------------------------------


def _add_demo(commands):
    command = _command(
        commands,
        "demo",
        _demo,
        "Add noise to a bundled photograph, denoise it, compare.",
        "nnk-image demo --sigma 30 --out comparison.png",
    )
    command.add_argument("--sigma", type=float, default=25.0, help="noise added (default: 25)")
    command.add_argument("--out", default=DEMO_FILE, help=f"picture (default: {DEMO_FILE})")


def _demo(options):
    from nnk_image import demo
    from nnk_image.image import check_positive

    check_positive("sigma", options.sigma, "noise to add, for values 0 to 255")
    check_writable(options.out)
    clean, rows = demo.run_demo(options.sigma)
    print(f"camera, {clean.shape[0]}x{clean.shape[1]}, white noise of sigma {options.sigma:g}")
    print(demo.table(rows))
    import numpy as np

    write_image(options.out, np.asarray(demo.picture(clean, rows)))
    print(f"picture: {Path(options.out).resolve()}")


# --- denoise ------------------------------------------------------------------------------


def _add_denoise(commands):
    command = _command(
        commands,
        "denoise",
        _denoise,
        "Remove noise from an image file (PNG, JPEG, TIFF, PNM; 8 or 16 bit; alpha kept).",
        "nnk-image denoise noisy.png clean.png --sigma 20",
    )
    command.add_argument("input", metavar="IN", help="image file to read")
    command.add_argument("output", metavar="OUT", help="image file to write; may be IN")
    command.add_argument(
        "--sigma", type=float, help="noise in the file's own units, 0 to 255 for 8 bit "
        "(default: estimated)"
    )  # fmt: skip
    command.add_argument(
        "--method", default="fast", help="fast, balanced, best or sgw (default: fast)"
    )
    command.add_argument("--max-pixels", type=int, metavar="N", help="refuse larger images")
    command.add_argument("--json", metavar="FILE", help="write what was done as JSON")
    _add_jobs(command)


def _denoise(options):
    from nnk_image.denoising import denoise, estimate_sigma

    source = read_image(options.input, max_pixels=options.max_pixels)
    check_writable(options.output, like=source)
    _check_outputs(options.json)
    channel_axis = -1 if source.pixels.ndim == 3 else None
    sigma = options.sigma
    if sigma is None:
        sigma = estimate_sigma(source.pixels, channel_axis=channel_axis)
    start = time.perf_counter()
    result = denoise(
        source.pixels,
        sigma,
        method=options.method,
        channel_axis=channel_axis,
        n_jobs=options.jobs,
        progress=_wants_progress(),
    )
    seconds = time.perf_counter() - start
    write_image(options.output, result, like=source)
    how = "estimated" if options.sigma is None else "given"
    size = "x".join(map(str, source.pixels.shape))
    print(
        f"{options.input}: {size} {source.pixels.dtype}, sigma {sigma:.4g} ({how}), "
        f"{seconds:.2f} s -> {options.output}"
    )
    report = {
        "input": options.input,
        "output": options.output,
        "shape": source.pixels.shape,
        "dtype": str(source.pixels.dtype),
        "sigma": sigma,
        "sigma_estimated": options.sigma is None,
        "method": options.method,
        "seconds": seconds,
    }
    _write_json(options.json, report)


# --- compaction ---------------------------------------------------------------------------


def _add_compaction(commands):
    command = _command(
        commands,
        "compaction",
        _compaction,
        "Energy per graph wavelet band, on the bilateral and the NNK graph.",
        "nnk-image compaction photos/ --orders 6 15 --csv energy.csv",
    )
    command.add_argument(
        "images",
        nargs="*",
        metavar="IMAGE",
        help="files, folders or patterns (default: the bundled images)",
    )
    command.add_argument("--window", type=int, default=11, help="window side (default: 11)")
    command.add_argument("--sigma-d", type=float, default=2.0, help="pixels (default: 2)")
    command.add_argument(
        "--sigma-f", type=float, help="in the file's own units (default: 10/255 of the range)"
    )
    command.add_argument(
        "--orders",
        type=int,
        nargs="+",
        default=[4, 6, 12, 15, 30],
        metavar="M",
        help="Chebyshev orders (default: 4 6 12 15 30)",
    )
    command.add_argument("--json", metavar="FILE", help="all figures as JSON")
    command.add_argument("--csv", metavar="FILE", help="one row per graph, order and band")
    command.add_argument("--plot", metavar="FILE", help="picture of the curves (.png, .pdf, .svg)")
    _add_jobs(command)


def _compaction(options):
    from nnk_image.compaction import energy_compaction

    paths = image_paths(options.images or standard_images().values())
    _check_outputs(options.json, options.csv, options.plot)
    if options.plot:
        from nnk_image.plotting import new_figure

        new_figure()  # without matplotlib, say so before the long part
    results = {}
    for path in paths:
        pixels = read_image(path).pixels
        result = energy_compaction(
            pixels,
            window=options.window,
            sigma_d=options.sigma_d,
            sigma_f=options.sigma_f,
            orders=options.orders,
            channel_axis=-1 if pixels.ndim == 3 else None,
            n_jobs=options.jobs,
            progress=_wants_progress(),
        )
        print(f"{path}: {result}\n", flush=True)
        results[str(path)] = result
    reductions = [100 * r.reduction for r in results.values()]
    print(
        f"{len(results)} images: the NNK graph has {min(reductions):.1f} to "
        f"{max(reductions):.1f} % fewer edges"
    )
    _write_json(options.json, {path: r.to_dict() for path, r in results.items()})
    _write_csv(options.csv, results)
    _write_plot(options.plot, list(results.values()))


def _write_csv(path, results):
    if path is None:
        return
    rows = [{"image": image, **row} for image, result in results.items() for row in result.rows()]
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    with atomic_output(path) as file:
        file.write(text.getvalue().encode())


def _write_plot(path, results):
    if path is None:
        return
    from nnk_image.plotting import new_figure, plot_compaction

    n_orders = len(results[0].graphs[0].orders)
    figure = new_figure(figsize=(3 * n_orders, 3.2))
    axes = figure.subplots(1, n_orders, sharey=True, squeeze=False)[0]
    plot_compaction(results, axes)
    suffix = Path(path).suffix.lower().lstrip(".")
    with atomic_output(path) as file:
        figure.savefig(file, format=suffix or "png")


# --- shared -------------------------------------------------------------------------------


def _check_outputs(*paths):
    """Refuse impossible outputs before the long part."""
    for path in paths:
        if path is not None:
            check_output(path)


def _write_json(path, report):
    if path is not None:
        with atomic_output(path) as file:
            file.write((json.dumps(report, indent=1) + "\n").encode())


def _wants_progress():
    """A bar for a person at a terminal who has tqdm; silence in pipes."""
    if not sys.stderr.isatty():
        return False
    try:
        import tqdm  # noqa: F401
    except ImportError:
        return False
    return True
