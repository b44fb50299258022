"""Volumes and sequences: wavelets compared with PyGSP, and denoising compared with BM4D.

Install BM4D yourself (PyPI ``bm4d``, for non-commercial use). Without it, its rows are missing.
Without volumes of your own (``--volumes``), a phantom and a moving picture are used.
"""

from functools import partial

import numpy as np
from scipy.ndimage import correlate1d
from skimage.metrics import structural_similarity

import nnk_image
from benchmarks.machine import timed_call
from benchmarks.noises import white
from benchmarks.pictures import read_volumes
from benchmarks.scores import group_means, psnr
from benchmarks.timing import Table, add_choice, comparison, existing_folder
from nnk_image import NoiseModel, SpectralGraphWavelets, denoise, image_graph

SIGMAS = (10.0, 25.0, 50.0)
METHODS = ("sgw", "fast", "best")


def add_options(group):
    """Add the options of these tables to an argparse group."""
    group.add_argument(
        "--volumes",
        type=existing_folder,
        metavar="FOLDER",
        help="volumes NAME.npy of shape (D, H, W), with values from 0 to 255",
    )
    add_choice(group, "--volume-tables", TABLES)


def tables(options):
    """Yield the tables selected by --volume-tables."""
    for name in options.volume_tables:
        yield from TABLES[name](options)


def phantom(side):
    """Return a phantom: ellipsoids of different brightness in a textured body.

    It has `side` voxels along each axis, in float32 from 0 to 255.
    """
    rng = np.random.default_rng(5)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, side)] * 3, indexing="ij"), -1)
    z, y, x = np.moveaxis(grid, -1, 0)
    volume = 100 + 15 * np.sin(9 * x + 4 * y)
    for _ in range(14):
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        center, radii = rng.uniform(-0.5, 0.5, 3), rng.uniform(0.12, 0.6, 3)
        volume[(((grid - center) @ axes / radii) ** 2).sum(-1) < 1] += rng.uniform(-60, 90)
    volume[(z / 0.95) ** 2 + (y / 0.85) ** 2 + (x / 0.9) ** 2 >= 1] = 0
    return np.clip(volume, 0, 255).astype(np.float32)


def moving_picture(frames, side):
    """Return a sequence of shape (frames, side, side), an image that moves by one pixel a frame."""
    image = nnk_image.standard_image("camera").astype(np.float32)
    return np.stack([image[40 + t : 40 + t + side, 60 + t : 60 + t + side] for t in range(frames)])


def wavelets(options):
    """Yield the table of seven wavelet bands of 128^3 voxels: time compared with PyGSP."""
    from pygsp import filters

    volume = phantom(128)
    volume += np.random.default_rng(0).normal(0, 20, volume.shape).astype(np.float32)
    graph = image_graph(volume, 5, sigma_f=30)
    transforms = {n: SpectralGraphWavelets(graph, n_jobs=n) for n in (1, 2)}
    pygsp_graph = graph.to_pygsp()
    pygsp_graph.estimate_lmax()
    bank = filters.Abspline(pygsp_graph, Nf=7)
    signal = volume.ravel().astype(float)
    runs = {
        "PyGSP, float64": partial(bank.filter, signal, order=transforms[1].order),
        "nnk_image, float32, 1 thread": partial(transforms[1].analyze, volume),
        "nnk_image, float32, 2 threads": partial(transforms[2].analyze, volume),
    }
    title = f"7 bands of 128^3 voxels, order {transforms[1].order}, graph of 5^3"
    against = {
        name: f"/ {name.rpartition(', ')[2]}" for name in runs if name.startswith("nnk_image")
    }
    yield comparison(title, runs, max(1, options.rounds // 3), against)


def denoising(options):
    """Yield a table of denoising for each volume, and one of means over all volumes and levels."""
    columns = {"": "", "sigma": ".0f", "dB": ".2f", "SSIM": ".4f", "us of CPU per voxel": ".1f"}
    rows = []
    for name, clean in _volumes(options).items():
        table = Table(f"{name} {'x'.join(map(str, clean.shape))}, float32, one thread", columns)
        for sigma in SIGMAS:
            noisy = white(clean, sigma, 1).astype(np.float32)
            table.rows += [_row(who, run, clean, sigma) for who, run in _contenders(noisy, sigma)]
        rows += table.rows
        yield table
    scores = {name: form for name, form in columns.items() if name not in ("", "sigma")}
    means = group_means(rows, ("",), scores)
    yield Table("Means over all volumes and levels", {"": ""} | scores, means)


def correlated(options):
    """Yield a table per volume of noise smoothed along some axes: model given and estimated."""
    columns = {"": "", "axes": "", "sigma": ".0f", "given": ".2f", "estimated": ".2f"}
    for name, clean in _volumes(options).items():
        table = Table(
            f"{name}, noise filtered by (1, 2, 1) / 4 along axes: PSNR in dB of 'fast'", columns
        )
        for axes in ((0,), (1, 2), (0, 1, 2)):
            noise, correlation = _smooth_noise(clean.shape, axes)
            for sigma in SIGMAS[:2]:
                noisy = (clean + sigma * noise).astype(np.float32)
                models = {"given": NoiseModel(sigma, correlation=correlation), "estimated": None}
                row = {
                    key: psnr(clean, denoise(noisy, model, spacing=1))
                    for key, model in models.items()
                }
                table.rows.append({"": name, "axes": str(axes), "sigma": sigma} | row)
        yield table


def _smooth_noise(shape, axes):
    """Return noise of variance 1, filtered by (1, 2, 1) along the axes, and its correlation."""
    kernel = np.array([1, 2, 1]) / np.sqrt(6)
    noise = np.random.default_rng(2).normal(size=shape)
    correlation = np.zeros((5, 5, 5))
    correlation[2, 2, 2] = 1
    for axis in axes:
        noise = correlate1d(noise, kernel, axis, mode="wrap")
        for _ in range(2):
            correlation = correlate1d(correlation, kernel, axis, mode="constant")
    return noise, correlation


def _volumes(options):
    """Return the volumes to denoise as a dict from name to float32 ndarray."""
    found = {"phantom": phantom(64)}
    if not options.volumes:
        return found | {"moving picture": moving_picture(24, 112)}
    return found | read_volumes(options.volumes)


def _contenders(noisy, sigma):
    """Yield (name, function) of all denoisers of a volume."""
    for method in METHODS:
        yield method, partial(denoise, noisy, sigma, method=method, spacing=1)
    for method in ("fast", "best"):
        yield f"slices by {method}", partial(_by_slices, noisy, sigma, method)
    try:
        import bm4d
    except ImportError:
        return
    yield "BM4D", partial(bm4d.bm4d, noisy, sigma)


def _by_slices(noisy, sigma, method):
    return np.stack([denoise(page, sigma, method=method) for page in noisy])


def _row(who, run, clean, sigma):
    result, seconds = timed_call(run)
    return {
        "": who,
        "sigma": sigma,
        "dB": psnr(clean, result),
        "SSIM": structural_similarity(clean, np.asarray(result, clean.dtype), data_range=255),
        "us of CPU per voxel": 1e6 * seconds / clean.size,
    }


TABLES = {"wavelets": wavelets, "denoising": denoising, "correlated": correlated}
