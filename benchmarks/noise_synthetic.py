"""PSNR of `denoise` with simulated noise, given and estimated, and of BM3D if it is installed."""

from statistics import fmean
from unittest.mock import patch

import numpy as np

from benchmarks import noises, peers
from benchmarks.pictures import read_gray_images
from benchmarks.scores import column_means, largest_loss, psnr
from benchmarks.timing import Table
from nnk_image import NoiseModel, denoise, estimate_noise

SIGMAS = (10, 15, 25, 50)
PEAKS = (1, 2, 4, 10, 30)
SENSORS = ((1, 5), (4, 10), (12, 12))
"""Gain and read noise, for values up to 255."""


def white(options):
    """Return the table of white noise, also of 8-bit images: level given and estimated."""
    columns = {"sigma": "g", "given": ".2f", "estimated": ".2f", "difference": "+.3f"}
    columns |= {"largest loss": ""}
    columns |= {"8 bit, given": ".2f", "8 bit, estimated": ".2f", "8-bit difference": "+.3f"}
    columns |= {"8-bit largest loss": ""}
    table = Table("White noise: PSNR in dB with the level given and estimated", columns)
    for sigma in SIGMAS:
        rows = []
        for index, (name, clean) in enumerate(read_gray_images(options.noise_images)):
            noisy = noises.white(clean, sigma, [0, index])
            row = {"image": name}
            for kind, image in (("", noisy), ("8 bit, ", noises.as_8_bit(noisy))):
                row[f"{kind}given"] = psnr(clean, denoise(image, sigma))
                row[f"{kind}estimated"] = psnr(clean, denoise(image))
            rows.append(row)
        mean = column_means(rows)
        table.rows.append(
            {"sigma": sigma}
            | mean
            | {"difference": mean["estimated"] - mean["given"]}
            | {"largest loss": largest_loss(rows, "estimated", "given")}
            | {"8-bit difference": mean["8 bit, estimated"] - mean["8 bit, given"]}
            | {"8-bit largest loss": largest_loss(rows, "8 bit, estimated", "8 bit, given")}
        )
    return table


def poisson(options):
    """Return the table of Poisson noise: gain given and estimated."""
    columns = dict.fromkeys(("peak",), "g") | dict.fromkeys(("noisy", "BM3D"), ".2f")
    columns |= {"fast": ".2f", "best": ".2f", "fast, estimated": ".2f", "best, estimated": ".2f"}
    columns |= {"gain error, mean %": ".2f", "gain error, max %": ".2f", "bias, max %": ".4f"}
    table = Table("Poisson noise: PSNR in dB; peak: expected count where the image is 255", columns)
    table.notes = (
        "BM3D: with the generalized Anscombe transform and its unbiased inverse. bias: of the mean",
        "of the result of 'best'.",
    )
    model = NoiseModel(gain=1)
    for peak in PEAKS:
        rows = []
        for index, (name, clean) in enumerate(read_gray_images(options.noise_images)):
            counts, truth = noises.poisson(clean, peak, [1, index]), clean * (peak / 255)
            estimated = estimate_noise(counts)
            row = {"image": name, "noisy": psnr(truth, counts, peak)}
            row |= _stabilized_bm3d(truth, counts, peak, 1.0, 0.0)
            for method in ("fast", "best"):
                result = denoise(counts, model, method=method)
                row[method] = psnr(truth, result, peak)
                blind = denoise(counts, estimated, method=method)
                row[f"{method}, estimated"] = psnr(truth, blind, peak)
            row["gain error"] = 100 * abs((estimated.gain[0] if estimated.gain else 0) - 1)
            row["bias"] = 100 * abs(result.mean() / counts.mean() - 1)
            rows.append(row)
        errors = {"gain error, mean %": fmean(row["gain error"] for row in rows)}
        errors |= {"gain error, max %": max(row["gain error"] for row in rows)}
        errors |= {"bias, max %": max(row["bias"] for row in rows)}
        table.rows.append({"peak": peak} | column_means(rows) | errors)
    return table


def poisson_gaussian(options):
    """Return the table of Poisson noise with read noise, both given and estimated."""
    columns = {"gain": "g", "read noise": "g", "noisy": ".2f", "BM3D": ".2f"}
    columns |= {
        "fast": ".2f",
        "best": ".2f",
        "fast, estimated": ".2f",
        "best, estimated": ".2f",
        "largest loss": "",
    }
    table = Table("Poisson noise and read noise, values up to 255: PSNR in dB", columns)
    for gain, read_noise in SENSORS:
        rows = []
        for index, (name, clean) in enumerate(read_gray_images(options.noise_images)):
            noisy = noises.poisson_gaussian(clean, gain, read_noise, [2, index])
            model, estimated = NoiseModel(gain=gain, sigma=read_noise), estimate_noise(noisy)
            row = {"image": name, "noisy": psnr(clean, noisy)}
            row |= _stabilized_bm3d(clean, noisy, 255, gain, read_noise)
            for method in ("fast", "best"):
                row[method] = psnr(clean, denoise(noisy, model, method=method))
                row[f"{method}, estimated"] = psnr(clean, denoise(noisy, estimated, method=method))
            rows.append(row)
        cells = {"gain": gain, "read noise": read_noise}
        cells |= {"largest loss": largest_loss(rows, "fast, estimated", "fast")}
        table.rows.append(cells | column_means(rows))
    return table


def _stabilized_bm3d(truth, noisy, peak, gain, read_noise):
    """Return the PSNR of BM3D after the generalized Anscombe transform, if it is installed.

    The inverse is M. Mäkitalo's and A. Foi's closed-form approximation of the exact unbiased one.
    """
    run = peers.bm3d_filter()
    if run is None:
        return {}
    offset = 3 / 8 + (read_noise / gain) ** 2
    d = np.maximum(run(2 * np.sqrt(np.maximum(noisy / gain + offset, 0)), 1.0), 2 * np.sqrt(3 / 8))
    root = np.sqrt(3 / 2)
    counts = d**2 / 4 + root / (4 * d) - 11 / (8 * d**2) + 5 * root / (8 * d**3) - 1 / 8
    return {"BM3D": psnr(truth, gain * (counts - (read_noise / gain) ** 2), peak)}


def correlated(options):
    """Return the table of stationary correlated noise: spectrum given and estimated."""
    names = ("noisy", "as white", "BM3D", "fast", "best", "fast, estimated", "best, estimated")
    columns = {"noise": "", "sigma": "g"} | dict.fromkeys(names, ".2f")
    columns |= {"largest loss, fast": "", "level estimated / true": ".2f"}
    table = Table("Correlated noise: PSNR in dB with the spectrum given and estimated", columns)
    table.notes = ("as white: 'fast', given the standard deviation. BM3D: given the spectrum.",)
    for kind in noises.KINDS:
        for sigma in (10, 25, 50):
            rows = [
                _correlated_row(name, clean, kind, sigma, [3, index])
                for index, (name, clean) in enumerate(read_gray_images(options.noise_images))
            ]
            cells = {
                "noise": kind,
                "sigma": sigma,
                "largest loss, fast": largest_loss(rows, "fast, estimated", "fast"),
            }
            table.rows.append(cells | column_means(rows))
    return table


def _correlated_row(name, clean, kind, sigma, seed):
    """Return the scores of one image with correlated noise."""
    sample = noises.correlated(kind, clean.shape, seed)
    noisy, psd = clean + sigma * sample.noise, sigma**2 * sample.psd
    model, estimated = NoiseModel.from_psd(psd), estimate_noise(noisy)
    row = {"image": name, "noisy": psnr(clean, noisy)}
    row["as white"] = psnr(clean, denoise(noisy, sigma))
    run = peers.bm3d_filter()
    if run is not None:
        row["BM3D"] = psnr(clean, _bm3d_with_spectrum(run, noisy, psd))
    for method in ("fast", "best"):
        row[method] = psnr(clean, denoise(noisy, model, method=method))
        row[f"{method}, estimated"] = psnr(clean, denoise(noisy, estimated, method=method))
    power = estimated.sigma[0] ** 2 + estimated.rows**2 + estimated.columns**2
    return row | {"level estimated / true": np.sqrt(power) / sigma}


def _bm3d_with_spectrum(run, noisy, psd):
    """Denoise by BM3D with a given spectrum; it needs np.trapz, which numpy 2 has renamed."""
    with patch.object(np, "trapz", np.trapezoid, create=True):
        return run(noisy, psd * psd.size)


def uneven(options):
    """Return the table of uneven noise: a map of levels and the best single level."""
    columns = {
        "image": "",
        "noisy": ".2f",
        "map": ".2f",
        "best single level": ".2f",
        "gain": "+.2f",
    }
    table = Table(
        "White noise whose level rises from 5 to 50 across the image: PSNR in dB", columns
    )
    for index, (name, clean) in enumerate(read_gray_images(options.noise_images)):
        levels = noises.rising_levels(clean.shape, 5, 50)
        noisy = noises.white(clean, levels, [4, index])
        single = max(psnr(clean, denoise(noisy, sigma)) for sigma in range(10, 45, 2))
        mapped = psnr(clean, denoise(noisy, levels))
        cells = {"image": name, "noisy": psnr(clean, noisy), "map": mapped}
        table.rows.append(cells | {"best single level": single, "gain": mapped - single})
    table.rows.append({"image": "mean"} | column_means(table.rows))
    return table
