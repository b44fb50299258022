"""PSNR of `denoise` where the noise is not given: a simulated camera, clean pictures."""

from statistics import fmean

import numpy as np

import nnk_image
from benchmarks import cameras, noises, peers
from benchmarks.noise_scores import means, psnr, worst
from benchmarks.timing import Table
from nnk_image import NoiseModel, denoise, estimate_noise

LIGHTS = (2000, 500, 125)
"""Counts that the simulated camera gets from white, in daylight and in dim rooms."""

NOT_CLEAN = {"hopper"}
"""Bundled pictures with visible noise."""


def synthetic_cameras(options):
    """Photographs of a simulated camera, as they come and as JPEG."""
    columns = {"stored as": "", "pictures": "d", "noisy": ".2f", "fast": ".2f", "mean gain": "+.2f"}
    columns |= {"least gain": "", "below noisy": "d"}
    table = Table("A simulated camera, noise not given: dB to that without noise", columns)
    table.notes = (
        f"{len(cameras.SCENES)} scenes at {', '.join(map(str, LIGHTS))} counts for white.",
    )
    shots = list(cameras.shots(LIGHTS))
    for quality in (None, 95, 85, 75):
        rows = []
        for shot in shots:
            stored = cameras.jpeg(shot.noisy, quality) if quality else shot.noisy
            denoised = noises.as_8_bit(denoise(stored, channel_axis=-1))
            scores = {"noisy": psnr(shot.clean, stored), "fast": psnr(shot.clean, denoised)}
            rows.append({"image": shot.name} | scores)
        gains = [row["fast"] - row["noisy"] for row in rows]
        cells = {"stored as": f"JPEG {quality}" if quality else "PNG", "pictures": len(rows)}
        cells |= {"mean gain": fmean(gains), "least gain": worst(rows, "fast", "noisy")}
        table.rows.append(cells | means(rows) | {"below noisy": sum(gain < 0 for gain in gains)})
    return table


def raw(options):
    """The same camera: photographs denoised after they are developed, and before."""
    model = NoiseModel(gain=1.0, sigma=cameras.READ_NOISE)
    table = Table(
        "A simulated camera's raw values: dB of the developed picture to that without noise",
        {"": "", "pictures": "d", "dB": ".2f", "least gain": "+.2f"},
    )
    ways = {
        "denoised after, noise not given": lambda shot: noises.as_8_bit(
            denoise(shot.noisy, channel_axis=-1)
        ),
        "denoised before, noise not given": lambda shot: _developed(shot, None),
        "denoised before, gain and read noise given": lambda shot: _developed(shot, model),
    }
    shots = list(cameras.shots(LIGHTS))
    noisy = [psnr(shot.clean, shot.noisy) for shot in shots]
    table.rows.append({"": "noisy", "pictures": len(shots), "dB": fmean(noisy), "least gain": 0.0})
    for name, way in ways.items():
        scores = [psnr(shot.clean, way(shot)) for shot in shots]
        least = min(after - before for after, before in zip(scores, noisy, strict=True))
        cells = {"pictures": len(shots), "dB": fmean(scores), "least gain": least}
        table.rows.append({"": name} | cells)
    table.notes = ("Each of the four colors of the mosaic is denoised as an image of its own.",)
    return table


def _developed(shot, noise):
    """The picture of a shot whose raw values are denoised."""
    mosaic = np.empty(shot.mosaic.shape)
    for y, x in np.ndindex(2, 2):
        mosaic[y::2, x::2] = denoise(shot.mosaic[y::2, x::2], noise)
    return cameras.develop(mosaic / shot.light)


def clean(options):
    """Pictures without noise, which should come back as they are."""
    columns = {"": "", "as it is": ".1f", "level": "", "JPEG 90": ".1f", "level in JPEG": ""}
    table = Table("Bundled pictures, noise not given: dB of the result to the input", columns)
    for name in sorted({*nnk_image.standard_images()} - NOT_CLEAN):
        picture = nnk_image.standard_image(name)
        axis = peers.channel_axis_of(picture)
        row = {"": name}
        for kind, level, image in (
            ("as it is", "level", picture),
            ("JPEG 90", "level in JPEG", cameras.jpeg(picture, 90)),
        ):
            row[kind] = psnr(image, denoise(image, channel_axis=axis))
            row[level] = "/".join(
                f"{s:.1f}" for s in estimate_noise(image, channel_axis=axis).sigma
            )
        table.rows.append(row)
    return table
