"""PSNR of `denoise` told nothing: real photographs, a synthetic camera, clean pictures."""

from statistics import fmean

import numpy as np

import nnk_image
from benchmarks import cameras, noises, peers
from benchmarks.noise_scores import cpu, means, psnr, worst
from benchmarks.timing import Table
from nnk_image import NoiseModel, denoise, estimate_noise
from nnk_image.io import read

LIGHTS = (2000, 500, 125)
"""Counts that the synthetic camera gets from white, in daylight and in dim rooms."""

NOT_CLEAN = {"hopper"}
"""Bundled pictures with visible noise."""


def photographs(options):
    """Real photographs whose truth is the mean of many."""
    names = [
        path.name[: -len("_real.png")] for path in sorted(options.photographs.glob("*_real.png"))
    ]
    columns = {"": ""} | dict.fromkeys(("noisy", "beside it", "CBM3D", "fast", "best"), ".2f")
    columns |= {"s, fast": ".2f", "s, best": ".2f"}
    table = Table("Real photographs, nothing told: dB over all channels, 8 bit", columns)
    table.notes = (
        "CBM3D: told the root mean square of the true noise.",
        "beside it: NAME_ours.png of the folder.  s: processor time, estimate included.",
    )
    rows = [{"": name} | _photograph_row(options.photographs, name) for name in names]
    table.rows = [*rows, {"": "mean"} | means(rows)]
    for method in ("fast", "best"):
        table.notes += tuple(
            f"{method} above {peer}: {sum(row[method] > row[peer] for row in rows)} of {len(rows)}"
            for peer in ("noisy", "beside it", "CBM3D")
            if peer in rows[0]
        )
    return table


def _photograph_row(folder, name):
    seen, clean = (read(folder / f"{name}_{part}.png")[0] for part in ("real", "mean"))
    row = {"noisy": psnr(clean, seen)}
    beside = folder / f"{name}_ours.png"
    if beside.exists():
        row["beside it"] = psnr(clean, read(beside)[0])
    run = peers.bm3d_filter()
    if run is not None:
        rms = float(np.sqrt(np.mean((seen.astype(float) - clean) ** 2)))
        row["CBM3D"] = psnr(clean, noises.as_8_bit(run(seen.astype(float), rms)))
    for method in ("fast", "best"):
        result, row[f"s, {method}"] = cpu(denoise, seen, method=method, channel_axis=-1)
        row[method] = psnr(clean, noises.as_8_bit(result))
    return row


def synthetic_cameras(options):
    """Photographs of a synthetic camera, as they come and as JPEG."""
    columns = {"stored as": "", "pictures": "d", "noisy": ".2f", "fast": ".2f", "mean gain": "+.2f"}
    columns |= {"least gain": "", "below noisy": "d"}
    table = Table("A synthetic camera, nothing told: dB to the photograph without noise", columns)
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
        "A synthetic camera's raw values: dB of the developed picture to that without noise",
        {"": "", "pictures": "d", "dB": ".2f", "least gain": "+.2f"},
    )
    ways = {
        "denoised after, nothing told": lambda shot: noises.as_8_bit(
            denoise(shot.noisy, channel_axis=-1)
        ),
        "denoised before, nothing told": lambda shot: _developed(shot, None),
        "denoised before, gain and read noise told": lambda shot: _developed(shot, model),
    }
    shots = list(cameras.shots(LIGHTS))
    noisy = [psnr(shot.clean, shot.noisy) for shot in shots]
    table.rows.append({"": "noisy", "pictures": len(shots), "dB": fmean(noisy), "least gain": 0.0})
    for name, way in ways.items():
        scores = [psnr(shot.clean, way(shot)) for shot in shots]
        least = min(after - before for after, before in zip(scores, noisy, strict=True))
        cells = {"pictures": len(shots), "dB": fmean(scores), "least gain": least}
        table.rows.append({"": name} | cells)
    table.notes = ("Each of the four colours of the mosaic is denoised as an image of its own.",)
    return table


def _developed(shot, noise):
    """The picture of a shot whose raw values are denoised."""
    mosaic = np.empty(shot.mosaic.shape)
    for y, x in np.ndindex(2, 2):
        mosaic[y::2, x::2] = denoise(shot.mosaic[y::2, x::2], noise)
    return cameras.develop(mosaic / shot.light)


def clean(options):
    """Pictures without noise, which should come back as they are."""
    columns = {"": "", "as it is": ".1f", "found": "", "JPEG 90": ".1f", "found in JPEG": ""}
    table = Table("Bundled pictures, nothing told: dB of the result to the input", columns)
    for name in sorted({*nnk_image.standard_images()} - NOT_CLEAN):
        picture = nnk_image.standard_image(name)
        axis = peers.channel_axis_of(picture)
        row = {"": name}
        for kind, found, image in (
            ("as it is", "found", picture),
            ("JPEG 90", "found in JPEG", cameras.jpeg(picture, 90)),
        ):
            row[kind] = psnr(image, denoise(image, channel_axis=axis))
            row[found] = "/".join(
                f"{s:.1f}" for s in estimate_noise(image, channel_axis=axis).sigma
            )
        table.rows.append(row)
    return table
