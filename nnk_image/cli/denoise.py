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
        "Remove noise from image files (PNG, JPEG, TIFF, PNM, read also WebP, AVIF, GIF, BMP).",
        "noisy.jpg clean.png",
        "noisy.png clean.png --sigma 20",
        "cells.tif clean.tif --gain 2.1 --read 5",
        "scans/ 'more/*.tif' clean/ --method best --json report.json",
    )
    command.add_argument("inputs", nargs="+", metavar="IN", help="files, folders or patterns")
    command.add_argument(
        "output", metavar="OUT", help="file to write (may be IN), or a folder for several"
    )
    command.add_argument(
        "--sigma",
        type=float,
        help="noise in the file's own units, 0 to 255 for 8 bit (default: found in each image)",
    )
    command.add_argument(
        "--noise", metavar="FILE", help="noise model in JSON, as 'nnk-image noise --out' writes it"
    )
    command.add_argument(
        "--gain", type=float, help="growth of the noise's variance with the intensity"
    )
    command.add_argument("--read", type=float, help="with --gain: noise where there is no light")
    command.add_argument(
        "--strength", type=float, default=1.0, help="above 1 removes more, below 1 less"
    )
    command.add_argument(
        "--method", default="fast", help="fast, quick, balanced, best or sgw (default: fast)"
    )
    command.add_argument("--json", metavar="FILE", help="write what was done as JSON")
    common.add_max_pixels(command)
    common.add_jobs(command)


def run(options):
    """Denoise every image, write the report."""
    noise = _given_noise(options)
    _check_options(options, noise)
    paths = image_paths(options.inputs)
    common.check_outputs(options.json)
    outputs = common.pair_outputs(paths, options.inputs, options.output, EXTENSIONS)
    reports = common.for_each(
        paths, lambda path: _denoise_file(path, outputs[path], noise, options)
    )
    about = {"version": nnk_image.__version__, "method": options.method, "images": reports}
    common.write_json(options.json, about)
    common.check_reports(reports)


def _given_noise(options):
    """The noise that the options tell, None if it is to be found in each image."""
    photons = options.gain is not None or options.read is not None
    if (options.sigma is not None) + (options.noise is not None) + photons > 1:
        raise ValueError("give one of --sigma, --noise and --gain with --read")
    if options.noise is not None:
        return nnk_image.NoiseModel.load(options.noise)
    if photons:
        return nnk_image.NoiseModel(options.read or 0.0, gain=options.gain or 0.0)
    return options.sigma


def _check_options(options, noise):
    """Denoise a single pixel, so that a wrong option is told once and not for each image."""
    sigma = 1.0 if noise is None or isinstance(noise, nnk_image.NoiseModel) else noise
    nnk_image.denoise(
        [[0.0]], sigma, method=options.method, strength=options.strength, n_jobs=options.jobs
    )


def _denoise_file(path, output, noise, options):
    source = read_image(path, max_pixels=options.max_pixels)
    check_writable(output, like=source)
    channel_axis = -1 if source.pixels.ndim == 3 else None
    start = time.perf_counter()
    how = "estimated" if noise is None else "given"
    if noise is None:
        noise = nnk_image.estimate_noise(source.pixels, channel_axis=channel_axis)
    result = nnk_image.denoise(
        source.pixels,
        noise,
        method=options.method,
        channel_axis=channel_axis,
        strength=options.strength,
        n_jobs=options.jobs,
        progress=common.wants_progress(),
    )
    seconds = time.perf_counter() - start
    write_image(output, result, like=source)
    shape, dtype = source.pixels.shape, source.pixels.dtype
    size = "x".join(map(str, shape))
    is_model = isinstance(noise, nnk_image.NoiseModel)
    told = f"{noise} ({how})" if is_model else f"sigma {noise:.4g} (given)"
    print(f"{path}: {size} {dtype}, {told}, {seconds:.2f} s -> {output}", flush=True)
    if dtype.kind in "bui" and (result.round() == source.pixels).all():
        common.complain(
            f"{path}: found no noise to remove, the picture is as it came; if you see noise, say "
            "how strong it is with --sigma"
        )
    sigma = sum(noise.sigma) / len(noise.sigma) if is_model else noise
    return {
        "input": str(path),
        "output": str(output),
        "shape": shape,
        "dtype": str(dtype),
        "sigma": sigma,
        "sigma_estimated": how == "estimated",
        "noise": repr(noise) if is_model else f"sigma {noise:.4g}",
        "seconds": seconds,
    }
