"""PSNR of `denoise` without a given noise level, on photographs by a simulated camera."""

from statistics import fmean

import numpy as np

from benchmarks import cameras, noises
from benchmarks.scores import column_means, largest_loss, psnr
from benchmarks.timing import Table
from nnk_image import NoiseModel, denoise

PEAKS = (2000, 500, 125)
"""Photon counts of the simulated camera where the scene is white: daylight to dim rooms."""


def synthetic_cameras(options):
    """Return the table of photographs by a simulated camera, uncompressed and as JPEG."""
    columns = {"stored as": "", "pictures": "d", "noisy": ".2f", "fast": ".2f", "mean gain": "+.2f"}
    columns |= {"least gain": "", "below noisy": "d"}
    table = Table(
        "A simulated camera, noise not given: PSNR in dB relative to the picture without noise",
        columns,
    )
    table.notes = (
        f"{len(cameras.SCENES)} scenes at {', '.join(map(str, PEAKS))} photons for white.",
    )
    shots = list(cameras.shots(PEAKS))
    for quality in (None, 95, 85, 75):
        rows = []
        for shot in shots:
            stored = cameras.jpeg(shot.noisy, quality) if quality else shot.noisy
            denoised = noises.as_8_bit(denoise(stored, channel_axis=-1))
            scores = {"noisy": psnr(shot.clean, stored), "fast": psnr(shot.clean, denoised)}
            rows.append({"image": shot.name} | scores)
        gains = [row["fast"] - row["noisy"] for row in rows]
        cells = {"stored as": f"JPEG {quality}" if quality else "PNG", "pictures": len(rows)}
        cells |= {"mean gain": fmean(gains), "least gain": largest_loss(rows, "fast", "noisy")}
        cells |= {"below noisy": sum(gain < 0 for gain in gains)}
        table.rows.append(cells | column_means(rows))
    return table


def raw(options):
    """Return the table of the same camera's photographs, denoised after and before development."""
    model = NoiseModel(gain=1.0, sigma=cameras.READ_NOISE)
    table = Table(
        "Raw values of a simulated camera: PSNR in dB of the developed picture, relative to that "
        "without noise",
        {"": "", "pictures": "d", "dB": ".2f", "least gain": "+.2f"},
    )
    ways = {
        "denoised after development, noise not given": lambda shot: noises.as_8_bit(
            denoise(shot.noisy, channel_axis=-1)
        ),
        "denoised before, noise not given": lambda shot: _denoise_and_develop(shot, None),
        "denoised before, gain and read noise given": lambda shot: _denoise_and_develop(
            shot, model
        ),
    }
    shots = list(cameras.shots(PEAKS))
    noisy = [psnr(shot.clean, shot.noisy) for shot in shots]
    table.rows.append({"": "noisy", "pictures": len(shots), "dB": fmean(noisy), "least gain": 0.0})
    for name, way in ways.items():
        scores = [psnr(shot.clean, way(shot)) for shot in shots]
        least = min(after - before for after, before in zip(scores, noisy, strict=True))
        cells = {"pictures": len(shots), "dB": fmean(scores), "least gain": least}
        table.rows.append({"": name} | cells)
    table.notes = ("Each of the four colors of the mosaic is denoised as a separate image.",)
    return table


def _denoise_and_develop(shot, noise):
    """Return the developed picture of a shot whose raw values are denoised first."""
    mosaic = np.empty(shot.mosaic.shape)
    for y, x in np.ndindex(2, 2):
        mosaic[y::2, x::2] = denoise(shot.mosaic[y::2, x::2], noise)
    return cameras.develop(mosaic / shot.peak)
