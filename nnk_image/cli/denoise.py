"""``nnk-image denoise``: noise away, file by file."""

import time

import nnk_image
from nnk_image.cli import common
from nnk_image.io.images import EXTENSIONS, check_writable, image_paths, read_image, write_image


def add_command(commands):
    """Add the sub-command."""
    command = common.new_command(
        commands,
        "denoise",
        run,
        "Remove noise from image files (PNG, JPEG, TIFF, PNM; 8 or 16 bit; alpha kept).",
        "noisy.png clean.png --sigma 20",
        "scans/ 'more/*.tif' clean/ --method best --json report.json",
    )
    command.add_argument("inputs", nargs="+", metavar="IN", help="files, folders or patterns")
    command.add_argument(
        "output", metavar="OUT", help="file to write (may be IN), or a folder for several"
    )
    command.add_argument(
        "--sigma",
        type=float,
        help="noise in the file's own units, 0 to 255 for 8 bit (default: estimated)",
    )
    command.add_argument(
        "--method", default="fast", help="fast, quick, balanced, best or sgw (default: fast)"
    )
    command.add_argument("--json", metavar="FILE", help="write what was done as JSON")
    common.add_max_pixels(command)
    common.add_jobs(command)


def run(options):
    """Denoise every image, write the report."""
    _check_options(options)
    paths = image_paths(options.inputs)
    common.check_outputs(options.json)
    outputs = common.pair_outputs(paths, options.inputs, options.output, EXTENSIONS)
    reports = common.for_each(paths, lambda path: _denoise_file(path, outputs[path], options))
    about = {"version": nnk_image.__version__, "method": options.method, "images": reports}
    common.write_json(options.json, about)
    common.check_reports(reports)


def _check_options(options):
    """Denoise a single pixel, so that a wrong option is told once and not for each image."""
    sigma = 1.0 if options.sigma is None else options.sigma
    nnk_image.denoise([[0.0]], sigma, method=options.method, n_jobs=options.jobs)


def _denoise_file(path, output, options):
    source = read_image(path, max_pixels=options.max_pixels)
    check_writable(output, like=source)
    channel_axis = -1 if source.pixels.ndim == 3 else None
    sigma, how = options.sigma, "given"
    if sigma is None:
        sigma, how = nnk_image.estimate_sigma(source.pixels, channel_axis=channel_axis), "estimated"
    start = time.perf_counter()
    result = nnk_image.denoise(
        source.pixels,
        sigma,
        method=options.method,
        channel_axis=channel_axis,
        n_jobs=options.jobs,
        progress=common.wants_progress(),
    )
    seconds = time.perf_counter() - start
    write_image(output, result, like=source)
    shape, dtype = source.pixels.shape, source.pixels.dtype
    size = "x".join(map(str, shape))
    done = f"{path}: {size} {dtype}, sigma {sigma:.4g} ({how}), {seconds:.2f} s -> {output}"
    print(done, flush=True)
    return {
        "input": str(path),
        "output": str(output),
        "shape": shape,
        "dtype": str(dtype),
        "sigma": sigma,
        "sigma_estimated": how == "estimated",
        "seconds": seconds,
    }
