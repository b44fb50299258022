"""MRI magnitudes with Rician noise of one level, and of levels that change across the head.

Install the peers yourself (PyPI ``bm4d``, for non-commercial use, and ``dipy``). Without them the
tables have fewer rows. Without scans of your own (``--heads``), only a phantom is used.
"""

from functools import partial
from importlib.util import find_spec

import numpy as np
from scipy.ndimage import gaussian_filter
from skimage.restoration import denoise_nl_means

from benchmarks.machine import timed_call
from benchmarks.noises import rician
from benchmarks.pictures import read_volumes
from benchmarks.scores import psnr
from benchmarks.timing import Table, add_choice, existing_folder
from nnk_image import NoiseModel, denoise, estimate_noise
from nnk_image.noise.magnitudes import magnitudes

PERCENT = (3, 9, 15)
"""Noise levels in percent of the maximum, which is 255."""

SHAPE = (64, 80, 64)
"""Voxels of the phantom."""


def add_options(group):
    """Add the options of these tables to an argparse group."""
    group.add_argument(
        "--heads",
        type=existing_folder,
        metavar="FOLDER",
        help="scans NAME.npy without noise, of shape (D, H, W), 0 outside the head",
    )
    add_choice(group, "--magnitude-tables", TABLES)


def tables(options):
    """Yield the tables selected by --magnitude-tables."""
    heads = {"phantom": phantom()} | (read_volumes(options.heads) if options.heads else {})
    heads = {name: (255 / head.max()) * head for name, head in heads.items()}
    for name in options.magnitude_tables:
        yield TABLES[name](heads)


def phantom():
    """Return a phantom of a T1-weighted scan of a head, as float32.

    It has scalp, skull, liquid, folded gray and white matter, lesions, a bias field and texture.
    """
    rng = np.random.default_rng(11)
    places = np.stack(np.meshgrid(*[np.linspace(-1, 1, n) for n in SHAPE], indexing="ij"))
    z, y, x = places

    def radius(radii, center=(0, 0, 0)):
        columns = np.reshape([center, radii], (2, 3, 1, 1, 1))
        return (((places - columns[0]) / columns[1]) ** 2).sum(axis=0)

    folds = 0.06 * np.sin(14 * x + 3 * np.sin(5 * z)) * np.sin(12 * y + 4 * z)
    folds += 0.05 * np.sin(9 * z - 7 * x)
    head = np.zeros(SHAPE)
    head[radius((0.92, 0.92, 0.86)) < 1] = 200  # scalp
    head[radius((0.86, 0.87, 0.80)) < 1] = 25  # skull
    head[radius((0.80, 0.82, 0.74)) < 1] = 45  # liquid
    brain = radius((0.77, 0.79, 0.71))
    head[brain + 1.5 * folds < 1] = 120  # gray matter
    head[brain + 6 * folds < 0.72] = 175  # white matter
    for side in (-1, 1):
        head[radius((0.28, 0.4, 0.1), (0.1, 0, 0.18 * side)) < 1] = 40
        head[radius((0.15, 0.22, 0.12), (-0.1, 0.12, 0.3 * side)) < 1] = 135
    for _ in range(25):
        center, radii = rng.uniform(-0.5, 0.5, 3), rng.uniform(0.03, 0.1, 3)
        head[(radius(radii, center) < 1) & (head > 0)] += rng.uniform(-40, 40)
    head *= 1 + 0.2 * x * y + 0.15 * z - 0.1 * x
    waves = [(rng.normal(0, 18, 3), rng.uniform(0, 6)) for _ in range(6)]
    head *= 1 + 0.02 * sum(np.sin(np.tensordot(k, places, 1) + phase) for k, phase in waves)
    head = gaussian_filter(head, 0.5)  # partial volume
    return np.where(head > 10, head, 0).astype(np.float32)


def denoising(heads):
    """Return the table of denoisers: PSNR in the head, and bias outside in units of the level."""
    columns = {"head": "", "%": ".0f", "": "", "dB": ".2f", "background": ".3f", "CPU s": ".1f"}
    table = Table(
        "Rician noise in % of the maximum: PSNR in the head, bias in the background relative to "
        "the level; float32, one thread",
        columns,
    )
    for name, clean in heads.items():
        inside = clean > 10
        for percent in PERCENT:
            sigma = 2.55 * percent
            noisy = rician(clean, sigma, 1)
            for who, run in _contenders(noisy, sigma):
                result, seconds = timed_call(run)
                quality = psnr(clean[inside], result[inside])
                bias = float(np.mean((result - clean)[~inside])) / sigma
                values = (name, percent, who, quality, bias, seconds)
                table.rows.append(dict(zip(columns, values, strict=True)))
    return table


def _contenders(noisy, sigma):
    """Yield (name, function) of all denoisers; some run on variance-stabilized magnitudes."""
    known = NoiseModel(sigma, rician=True)
    yield "fast", partial(denoise, noisy, known, spacing=1)
    yield "fast, level estimated", lambda: denoise(noisy, _estimated(noisy), spacing=1)
    yield "best", partial(denoise, noisy, known, spacing=1, method="best")
    table = magnitudes(1)
    stable = table.forward(noisy / sigma)
    if find_spec("bm4d"):
        from bm4d import bm4d

        yield "BM4D, stabilized", lambda: sigma * table.inverse(np.asarray(bm4d(stable, 1.0)))
    for h in (0.6, 0.8):
        options = {"patch_size": 3, "patch_distance": 4, "h": h, "sigma": 1.0}
        filtered = partial(denoise_nl_means, stable, **options)
        yield f"skimage NLM h={h}, stabilized", lambda run=filtered: sigma * table.inverse(run())
    if find_spec("dipy"):
        from dipy.denoise.adaptive_soft_matching import adaptive_soft_matching
        from dipy.denoise.nlmeans import nlmeans

        def means(patch, block):
            options = {"patch_radius": patch, "block_radius": block, "method": "blockwise"}
            return nlmeans(noisy, sigma=sigma, rician=True, num_threads=1, **options).astype(float)

        yield "dipy nlmeans", partial(means, 1, 5)
        yield (
            "dipy adaptive soft matching",
            lambda: adaptive_soft_matching(noisy.astype(float), means(1, 1), means(2, 1), sigma),
        )


def _estimated(image, **options):
    """Return the estimated model of Rician noise of a volume."""
    return estimate_noise(image, kind="rician", spacing=1, **options)


def levels(heads):
    """Return the table of errors of the estimated level, and of the change of a clean volume."""
    percents = (1, *PERCENT)
    columns = {"": "", **{f"{p} %": "+.1f" for p in percents}}
    masked = {f"{p} %, masked": "+.1f" for p in percents}
    table = Table("Error of the level in %, 3 seeds", columns | masked | {"clean, dB": ".1f"})
    table.notes = (
        "masked: without the background. clean: PSNR of a volume without noise after denoising.",
    )
    for name, clean in heads.items():
        row, inside = {"": name}, clean > 10
        for percent in percents:
            images = [rician(clean, 2.55 * percent, seed) for seed in (1, 2, 3)]
            for label, mask in ((f"{percent} %", None), (f"{percent} %, masked", inside)):
                found = np.mean([_estimated(image, mask=mask).sigma[0] for image in images])
                row[label] = 100 * (found / (2.55 * percent) - 1)
        row["clean, dB"] = psnr(clean, denoise(clean, _estimated(clean), spacing=1))
        table.rows.append(row)
    return table


def uneven(heads):
    """Return the table of levels that change by a factor of 3: map given and estimated."""
    columns = {"head": "", "%": ".0f", "level": "", "given map": ".2f", "estimated map": ".2f"}
    columns |= {
        "one level, rms": ".2f",
        "one level, estimated": ".2f",
        "error of the map, %": ".1f",
    }
    table = Table(
        "Rician noise whose level changes by a factor of 3 along an axis: PSNR in dB in the head",
        columns,
    )
    for name, clean in heads.items():
        inside, x = clean > 10, np.linspace(-1, 1, clean.shape[-1])
        shapes = {"1 to 3": 1 + x / 2, "1, 3, 1": 1 + np.cos(np.pi * x) / 2}
        for percent in PERCENT:
            for label, profile in shapes.items():
                level = 2.55 * percent * profile * np.ones(clean.shape)
                noisy = rician(clean, level, 3)
                found = _estimated(noisy, uneven=True)
                models = [NoiseModel(levels=level, rician=True), found]
                models += [NoiseModel(np.sqrt(np.mean(level**2)), rician=True), _estimated(noisy)]
                results = [denoise(noisy, model, spacing=1) for model in models]
                values = [psnr(clean[inside], result[inside]) for result in results]
                error = 100 * np.sqrt(np.mean((found.levels / level - 1)[inside] ** 2))
                row = zip(columns, (name, percent, label, *values, error), strict=True)
                table.rows.append(dict(row))
    return table


TABLES = {"denoising": denoising, "levels": levels, "uneven": uneven}
