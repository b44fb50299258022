"""PSNR, SSIM and time of denoisers; those with settings have the best ones of a grid."""

import time
from statistics import fmean, stdev

from benchmarks.noises import white
from benchmarks.peers import available
from benchmarks.pictures import read_8_bit_images
from benchmarks.scores import psnr, ssim
from benchmarks.timing import Table, existing_folder

NOTES = (
    "+-: standard deviation of the mean PSNR over seeds. s: seconds per image, one thread.",
    "Settings are in units of sigma. For each sigma, they are those with the best mean PSNR for",
    "the first seed, on the same images; this favors methods that have settings.",
)


def add_options(group):
    """Add the options of this table to an argparse group."""
    methods = available()
    group.add_argument(
        "--images", type=existing_folder, metavar="FOLDER", help="8-bit images (default: bundled)"
    )
    group.add_argument("--sigmas", type=float, nargs="+", default=[10, 15, 25, 50], metavar="S")
    group.add_argument(
        "--seeds", type=int, default=2, metavar="N", help="noise realizations per image"
    )
    group.add_argument(
        "--methods",
        nargs="+",
        choices=methods,
        default=list(methods),
        metavar="METHOD",
        help=", ".join(methods),
    )


def tables(options):
    """Yield one table for each sigma."""
    images = [pixels for _, pixels in read_8_bit_images(options.images)]
    methods = {name: available()[name] for name in options.methods}
    source = options.images.name if options.images else "bundled images"
    for sigma in options.sigmas:
        table = _quality(source, images, sigma, options.seeds, methods)
        table.notes = NOTES if sigma == options.sigmas[-1] else ()
        yield table


def _quality(source, images, sigma, seeds, methods):
    clean = [image.astype(float) for image in images]
    columns = {"": "", "PSNR": ".2f", "+-": ".2f", "SSIM": ".4f", "s": ".3f", "best setting": ""}
    title = f"Denoising, sigma {sigma:g}: {source}, {len(clean)} images, {seeds} seeds each"
    table = Table(title, columns)
    table.rows.append(_row("noisy", lambda noisy, sigma: noisy, {}, clean, sigma, seeds))
    for name, (run, settings) in methods.items():
        setting = _best_setting(run, settings, clean, sigma)
        table.rows.append(_row(name, run, setting, clean, sigma, seeds))
    return table


def _best_setting(run, settings, clean, sigma):
    """Return the setting with the best mean PSNR, for the first seed."""
    if len(settings) == 1:
        return settings[0]

    def mean_psnr(setting):
        pairs = ((c, run(white(c, sigma, [0, i]), sigma, **setting)) for i, c in enumerate(clean))
        return fmean(psnr(*pair) for pair in pairs)

    return max(settings, key=mean_psnr)


def _row(name, run, setting, clean, sigma, seeds):
    scores, similarities, seconds = [], [], []
    for seed in range(seeds):
        scores.append([])
        for i, image in enumerate(clean):
            noisy = white(image, sigma, [seed, i])  # the same for all methods
            start = time.perf_counter()
            result = run(noisy, sigma, **setting)
            seconds.append(time.perf_counter() - start)
            scores[-1].append(psnr(image, result))
            similarities.append(ssim(image, result))
    means = [fmean(values) for values in scores]
    return {
        "": name,
        "PSNR": fmean(means),
        "+-": stdev(means) if seeds > 1 else None,
        "SSIM": fmean(similarities),
        "s": fmean(seconds),
        "best setting": ", ".join(f"{key} {value}" for key, value in setting.items()),
    }
