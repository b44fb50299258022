"""``nnk-image noise``: what the noise of an image is."""

import nnk_image
from nnk_image.cli import common, stacks
from nnk_image.io.images import image_paths
from nnk_image.io.stacks import STACK_EXTENSIONS
from nnk_image.plotting import plot_noise
from nnk_image.plotting.figures import new_figure


def add_command(commands):
    """Add the sub-command."""
    command = common.new_command(
        commands,
        "noise",
        run,
        "Find out what the noise of images is: level, growth with brightness, correlation.",
        "photo.jpg",
        "flat_field.tif --out camera.json --plot camera.png",
        "volume.nii.gz --spacing 3,1,1",
    )
    command.add_argument("images", nargs="+", metavar="IMAGE", help="files, folders or patterns")
    command.add_argument(
        "--out",
        metavar="FILE",
        help="write the model (.json, read by denoise --noise); a folder for several images",
    )
    command.add_argument(
        "--plot",
        metavar="FILE",
        help="picture of the model (.png, .pdf, .svg); a folder for several images",
    )
    stacks.add_stack_options(command)
    common.add_max_pixels(command)


def run(options):
    """Estimate, print, write and draw every image's noise."""
    paths = image_paths(options.images, more=STACK_EXTENSIONS)
    wanted = (options.out, (".json",)), (options.plot, common.PICTURES)
    files, plots = (
        common.pair_outputs(paths, options.images, output, extensions) if output else {}
        for output, extensions in wanted
    )
    common.check_outputs(*files.values())
    common.check_plots(*plots.values())
    reports = common.for_each(
        paths, lambda path: _noise_of_file(path, files.get(path), plots.get(path), options)
    )
    common.check_reports(reports)


def _noise_of_file(path, file, plot, options):
    pixels, told = stacks.read_one(path, options)
    model = nnk_image.estimate_noise(pixels, **told)
    print(f"{path}: {model}", flush=True)
    if file is not None:
        model.save(file)
    if plot is not None:
        limits = float(pixels.min()), float(pixels.max())
        figure = new_figure(figsize=(8, 3.4))
        plot_noise(model, figure.subplots(1, 2), value_range=limits)
        common.write_plot(plot, figure)
    return {"input": str(path), "noise": repr(model)}
