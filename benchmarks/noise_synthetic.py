"""PSNR where the noise is known: given to `denoise`, and estimated by it; BM3D if installed."""

from statistics import fmean
from unittest.mock import patch

import numpy as np

from benchmarks import noises, peers
from benchmarks.noise_scores import images, means, psnr, worst
from benchmarks.timing import Table
from nnk_image import NoiseModel, denoise, estimate_noise

SIGMAS = (10, 15, 25, 50)
PEAKS = (1, 2, 4, 10, 30)
SENSORS = ((1, 5), (4, 10), (12, 12))
"""Gain and read noise, for values up to 255."""


def white(options):
    """The level given, estimated, and estimated in 8 bit."""
    columns = {"sigma": "g", "given": ".2f", "estimated": ".2f", "difference": "+.3f", "worst": ""}
    columns |= {"8 bit, given": ".2f", "8 bit, estimated": ".2f", "8-bit difference": "+.3f"}
    columns |= {"8-bit worst": ""}
    table = Table("White noise: dB with the level given, and with that estimated", columns)
    for sigma in SIGMAS:
        rows = []
        for index, (name, clean) in enumerate(images(options)):
            noisy = noises.white(clean, sigma, [0, index])
            row = {"image": name}
            for kind, image in (("", noisy), ("8 bit, ", noises.as_8_bit(noisy))):
                row[f"{kind}given"] = psnr(clean, denoise(image, sigma))
                row[f"{kind}estimated"] = psnr(clean, denoise(image))
            rows.append(row)
        mean = means(rows)
        table.rows.append(
            {"sigma": sigma}
            | mean
            | {"difference": mean["estimated"] - mean["given"]}
            | {"worst": worst(rows, "estimated", "given")}
            | {"8-bit difference": mean["8 bit, estimated"] - mean["8 bit, given"]}
            | {"8-bit worst": worst(rows, "8 bit, estimated", "8 bit, given")}
        )
    return table


def poisson(options):
    """Counts of light, with the gain given and estimated."""
    columns = dict.fromkeys(("peak",), "g") | dict.fromkeys(("noisy", "BM3D"), ".2f")
    columns |= {"fast": ".2f", "best": ".2f", "fast, estimated": ".2f", "best, estimated": ".2f"}
    columns |= {"gain off, mean %": ".2f", "gain off, most %": ".2f", "mean off, most %": ".4f"}
    table = Table("Counted light (Poisson): dB; peak: counts where the image is 255", columns)
    table.notes = ("BM3D: with the generalized Anscombe transform and its unbiased inverse.",)
    model = NoiseModel(gain=1)
    for peak in PEAKS:
        rows = []
        for index, (name, clean) in enumerate(images(options)):
            counts, truth = noises.counted(clean, peak, [1, index]), clean * (peak / 255)
            estimated = estimate_noise(counts)
            row = {"image": name, "noisy": psnr(truth, counts, peak)}
            row |= _stabilized_bm3d(truth, counts, peak, 1.0, 0.0)
            for method in ("fast", "best"):
                result = denoise(counts, model, method=method)
                row[method] = psnr(truth, result, peak)
                blind = denoise(counts, estimated, method=method)
                row[f"{method}, estimated"] = psnr(truth, blind, peak)
            row["gain"] = 100 * abs((estimated.gain[0] if estimated.gain else 0) - 1)
            row["mean"] = 100 * abs(result.mean() / counts.mean() - 1)
            rows.append(row)
        off = {"gain off, mean %": fmean(row["gain"] for row in rows)}
        off |= {"gain off, most %": max(row["gain"] for row in rows)}
        off |= {"mean off, most %": max(row["mean"] for row in rows)}
        table.rows.append({"peak": peak} | means(rows) | off)
    return table


def sensor(options):
    """Counts of light and read noise, given and estimated."""
    columns = {"gain": "g", "read": "g", "noisy": ".2f", "BM3D": ".2f"}
    columns |= {
        "fast": ".2f",
        "best": ".2f",
        "fast, estimated": ".2f",
        "best, estimated": ".2f",
        "worst": "",
    }
    table = Table("Counted light and read noise (Poisson-Gaussian), values to 255: dB", columns)
    for gain, read in SENSORS:
        rows = []
        for index, (name, clean) in enumerate(images(options)):
            seen = noises.counted_and_read(clean, gain, read, [2, index])
            model, estimated = NoiseModel(gain=gain, sigma=read), estimate_noise(seen)
            row = {"image": name, "noisy": psnr(clean, seen)}
            row |= _stabilized_bm3d(clean, seen, 255, gain, read)
            for method in ("fast", "best"):
                row[method] = psnr(clean, denoise(seen, model, method=method))
                row[f"{method}, estimated"] = psnr(clean, denoise(seen, estimated, method=method))
            rows.append(row)
        cells = {"gain": gain, "read": read, "worst": worst(rows, "fast, estimated", "fast")}
        table.rows.append(cells | means(rows))
    return table


def _stabilized_bm3d(truth, seen, peak, gain, read):
    """BM3D after the generalized Anscombe transform, if it is installed.

    The inverse is M. Mäkitalo's and A. Foi's closed-form approximation of the exact unbiased one.
    """
    run = peers.bm3d_filter()
    if run is None:
        return {}
    offset = 3 / 8 + (read / gain) ** 2
    d = np.maximum(run(2 * np.sqrt(np.maximum(seen / gain + offset, 0)), 1.0), 2 * np.sqrt(3 / 8))
    root = np.sqrt(3 / 2)
    counts = d**2 / 4 + root / (4 * d) - 11 / (8 * d**2) + 5 * root / (8 * d**3) - 1 / 8
    return {"BM3D": psnr(truth, gain * (counts - (read / gain) ** 2), peak)}


def correlated(options):
    """Stationary correlated noise, its spectrum given and estimated."""
    names = ("noisy", "as white", "BM3D", "fast", "best", "fast, estimated", "best, estimated")
    columns = {"noise": "", "sigma": "g"} | dict.fromkeys(names, ".2f")
    columns |= {"worst, fast": "", "level estimated / true": ".2f"}
    table = Table("Correlated noise: dB with the spectrum given, and with that estimated", columns)
    table.notes = ("as white: 'fast', given the standard deviation. BM3D: given the spectrum.",)
    for kind in noises.KINDS:
        for sigma in (10, 25, 50):
            rows = [
                _correlated_row(name, clean, kind, sigma, [3, index])
                for index, (name, clean) in enumerate(images(options))
            ]
            cells = {
                "noise": kind,
                "sigma": sigma,
                "worst, fast": worst(rows, "fast, estimated", "fast"),
            }
            table.rows.append(cells | means(rows))
    return table


def _correlated_row(name, clean, kind, sigma, seed):
    grain = noises.grain(kind, clean.shape, seed)
    seen, psd = clean + sigma * grain.noise, sigma**2 * grain.psd
    model, estimated = NoiseModel.from_psd(psd), estimate_noise(seen)
    row = {"image": name, "noisy": psnr(clean, seen), "as white": psnr(clean, denoise(seen, sigma))}
    run = peers.bm3d_filter()
    if run is not None:
        row["BM3D"] = psnr(clean, _bm3d_with_spectrum(run, seen, psd))
    for method in ("fast", "best"):
        row[method] = psnr(clean, denoise(seen, model, method=method))
        row[f"{method}, estimated"] = psnr(clean, denoise(seen, estimated, method=method))
    power = estimated.sigma[0] ** 2 + estimated.rows**2 + estimated.columns**2
    return row | {"level estimated / true": np.sqrt(power) / sigma}


def _bm3d_with_spectrum(run, noisy, psd):
    """BM3D, given the spectrum; its way there needs a function that numpy 2 has renamed."""
    with patch.object(np, "trapz", np.trapezoid, create=True):
        return run(noisy, psd * psd.size)


def uneven(options):
    """A map of levels beside the best single level."""
    columns = {
        "image": "",
        "noisy": ".2f",
        "map": ".2f",
        "best single level": ".2f",
        "gain": "+.2f",
    }
    table = Table("White noise that rises from 5 to 50 across the image: dB", columns)
    for index, (name, clean) in enumerate(images(options)):
        levels = noises.rising_levels(clean.shape, 5, 50)
        seen = noises.white(clean, levels, [4, index])
        single = max(psnr(clean, denoise(seen, sigma)) for sigma in range(10, 45, 2))
        mapped = psnr(clean, denoise(seen, levels))
        cells = {"image": name, "noisy": psnr(clean, seen), "map": mapped}
        table.rows.append(cells | {"best single level": single, "gain": mapped - single})
    table.rows.append({"image": "mean"} | means(table.rows))
    return table
