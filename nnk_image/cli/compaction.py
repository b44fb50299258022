"""``nnk-image compaction``: energy per wavelet band, on the bilateral and the NNK graph."""

import csv
import io

import nnk_image
from nnk_image.cli import common
from nnk_image.io.images import atomic_output, image_paths, standard_images
from nnk_image.plotting import plot_compaction
from nnk_image.plotting.figures import new_figure


def add_command(commands):
    """Add the sub-command."""
    command = common.new_command(
        commands,
        "compaction",
        run,
        "Energy per graph wavelet band, on the bilateral and the NNK graph.",
        "--plot bundled.png",
        "photos/ --orders 6 15 --csv energy.csv",
    )
    command.add_argument(
        "images",
        nargs="*",
        metavar="IMAGE",
        help="files, folders or patterns (default: the bundled images)",
    )
    common.add_kernel(command)
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
    common.add_max_pixels(command)
    common.add_jobs(command)


def run(options):
    """Measure every image; write the tables and the picture."""
    nnk_image.energy_compaction([[0.0, 1.0]], **_kernel_of(options))  # tells a wrong option once
    paths = image_paths(options.images or standard_images().values())
    common.check_outputs(options.json, options.csv)
    common.check_plots(options.plot)
    results = {}
    reports = common.for_each(paths, lambda path: _measure_file(path, options, results))
    common.write_json(options.json, dict(zip(map(str, paths), reports, strict=True)))
    if results:
        _write_csv(options.csv, results)
        _write_plot(options.plot, list(results.values()))
        reductions = [100 * r.reduction for r in results.values()]
        print(
            f"{len(results)} images: the NNK graph has {min(reductions):.1f} to "
            f"{max(reductions):.1f} % fewer edges"
        )
    common.check_reports(reports)


def _kernel_of(options):
    return {
        "window": options.window,
        "sigma_d": options.sigma_d,
        "sigma_f": options.sigma_f,
        "orders": options.orders,
        "n_jobs": options.jobs,
    }


def _measure_file(path, options, results):
    pixels = common.read_source(path, options).pixels
    channel_axis = -1 if pixels.ndim == 3 else None
    result = nnk_image.energy_compaction(
        pixels, channel_axis=channel_axis, progress=common.wants_progress(), **_kernel_of(options)
    )
    print(f"{path}: {result}\n", flush=True)
    results[str(path)] = result
    return result.to_dict()


def _write_csv(path, results):
    if path is None:
        return
    rows = [{"image": image, **row} for image, result in results.items() for row in result.rows()]
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    with atomic_output(path) as file:  # file names need not be valid UTF-8
        file.write(text.getvalue().encode(errors="surrogateescape"))


def _write_plot(path, results):
    if path is None:
        return
    n_orders = len(results[0].graphs[0].orders)
    figure = new_figure(figsize=(3 * n_orders, 3.2))
    plot_compaction(results, figure.subplots(1, n_orders, sharey=True))
    common.write_plot(path, figure)
