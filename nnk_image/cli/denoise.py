"""``nnk-image denoise``: noise away, file by file."""

import time
from pathlib import Path

import numpy as np

import nnk_image
from nnk_image.cli import common, large, stacks
from nnk_image.io.formats.stack import put_samples
from nnk_image.io.images import EXTENSIONS, check_writable, image_paths, write_image
from nnk_image.io.stacks import STACK_EXTENSIONS, StackFile, check_stack_writable, write_stack

WRITES = tuple(dict.fromkeys((*EXTENSIONS, *STACK_EXTENSIONS)))
"""Extensions of the files that can be written."""


def add_command(commands):
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
    command.add_argument(
        "--slices", action="store_true", help="denoise each slice of a stack as an image by itself"
    )
    stacks.add_stack_options(command)
    large.add_options(command)
    command.add_argument("--json", metavar="FILE", help="write what was done as JSON")
    common.add_max_pixels(command)
    common.add_jobs(command)


def run(options):
    """Denoise every image, write the report."""
    noise = _given_noise(options)
    _check_options(options, noise)
    common.check_outputs(options.json)
    if large.is_large(options):
        reports = [large.denoise_file(noise, options)]
    else:
        paths = image_paths(options.inputs, more=STACK_EXTENSIONS)
        outputs = common.pair_outputs(paths, options.inputs, options.output, WRITES)
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
        return nnk_image.NoiseModel.from_json(Path(options.noise).read_text())
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
    source = stacks.read_source(path, options)
    if isinstance(source, StackFile):
        size, dtype, work = stacks.size(source), source.dtype, _denoise_stack
    else:
        dtype, work = source.pixels.dtype, _denoise_picture
        size = f"{'x'.join(map(str, source.pixels.shape))} {dtype}"
    models, seconds = work(path, output, source, noise, options)
    how = "estimated" if noise is None else "given"
    levels = [_level(model) for model in models]
    if noise is None and len(models) > 1:
        told = f"sigma {min(levels):.4g} to {max(levels):.4g} ({how} in each of {len(models)})"
    else:
        told = f"{_text(models[0])} ({how})"
    print(f"{path}: {size}, {told}, {seconds:.2f} s -> {output}", flush=True)
    return {
        "input": str(path),
        "output": str(output),
        "shape": source.pixels.shape,
        "dtype": str(dtype),
        "sigma": sum(levels) / len(levels),
        "sigma_estimated": how == "estimated",
        "noise": _text(models[0]) if len(models) == 1 else list(map(_text, models)),
        "seconds": seconds,
    }


def _level(noise):
    """The standard deviation of noise that is a number or a model, of all channels."""
    return sum(noise.sigma) / len(noise.sigma) if isinstance(noise, nnk_image.NoiseModel) else noise


def _text(noise):
    return str(noise) if isinstance(noise, nnk_image.NoiseModel) else f"sigma {noise:.4g}"


def _denoise_picture(path, output, source, noise, options):
    """Denoise an `ImageFile` and write the result; list of its noise, and seconds."""
    check_writable(output, like=source)
    told = {"channel_axis": -1 if source.pixels.ndim == 3 else None}
    start = time.perf_counter()
    result, noise = _denoised(source.pixels, noise, options, common.wants_progress(), told)
    seconds = time.perf_counter() - start
    write_image(output, result, like=source)
    if source.pixels.dtype.kind in "bui" and (result.round() == source.pixels).all():
        _complain_unchanged(path)
    return [noise], seconds


def _denoise_stack(path, output, stack, noise, options):
    """Denoise a `StackFile` and write the result; list of the noise of its parts, and seconds.

    The result takes the place of the values that were read, for nobody else needs them.
    """
    layout = stacks.layout_of(path, stack, options, options.slices)
    check_stack_writable(output, stack)
    stacks.tell(path, stack, layout)
    pixels, models, changed = stack.pixels, [], False
    # float32 holds integers of 16 bits, and needs half the memory of what they become otherwise.
    exact = pixels.dtype.kind in "bui" and pixels.dtype.itemsize <= 2
    places = layout.places(pixels.shape)
    start = time.perf_counter()
    with stacks.Progress(len(places)) as progress:
        for place in places:
            part = _as_float32(pixels[place]) if exact else pixels[place]
            result, found = _denoised(part, noise, options, progress.next(), layout.options())
            changed = put_samples(pixels[place], result) or changed
            models.append(found)
    seconds = time.perf_counter() - start
    write_stack(output, pixels, like=stack)
    if not changed and pixels.dtype.kind in "bui":
        _complain_unchanged(path)
    return models, seconds


def _as_float32(pixels):
    """A copy, made piece by piece: Ctrl-C is heard between them."""
    copy = np.empty(pixels.shape, np.float32)
    for target, values in zip(copy, pixels, strict=True):
        target[...] = values
    return copy


def _denoised(pixels, noise, options, progress, told):
    """What is left of an image or a volume without its noise, and the noise, found if not given."""
    if noise is None:
        noise = nnk_image.estimate_noise(pixels, **told)
    result = nnk_image.denoise(
        pixels,
        noise,
        method=options.method,
        strength=options.strength,
        n_jobs=options.jobs,
        progress=progress,
        **told,
    )
    return result, noise


def _complain_unchanged(path):
    common.complain(
        f"{path}: found no noise to remove, the picture is as it came; if you see noise, say "
        "how strong it is with --sigma"
    )
