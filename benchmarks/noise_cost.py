"""Processor time of each kind of noise, and a large picture beside OpenCV."""

import time
from functools import partial
from statistics import median

import numpy as np
from skimage import data

import nnk_image
from benchmarks import noises, peers
from benchmarks.noise_scores import cpu, psnr
from benchmarks.timing import Table
from nnk_image import NoiseModel, denoise, estimate_noise


def large(options):
    """A colour picture of 12 megapixels, on two threads, beside OpenCV if it is installed."""
    columns = {"": "", "s": ".1f", "processor s": ".1f", "dB": ".2f"}
    table = Table("12 megapixels in colour, sigma 25, two threads", columns)
    table.notes = ("bundled and scikit-image's photographs, side by side; float32",)
    clean = _twelve_megapixels()
    noisy = noises.white(clean, 25, 5).astype(np.float32)
    contenders = {
        method: partial(denoise, noisy, 25, method=method, channel_axis=-1, n_jobs=2)
        for method in ("quick", "sgw", "fast")
    }
    contenders |= _opencv(noisy)
    for name, run in contenders.items():
        start = time.perf_counter()
        result, processor = cpu(run)
        seconds = time.perf_counter() - start
        row = {"": name, "s": seconds, "processor s": processor, "dB": psnr(clean, result)}
        table.rows.append(row)
    return table


def _twelve_megapixels():
    """Photographs side by side, mirrored until they fill 3000 x 4000 pixels."""
    pictures = [nnk_image.standard_image(name) for name in ("astronaut", "coffee", "chelsea")]
    pictures += [data.rocket(), data.immunohistochemistry()]
    strip = np.concatenate([picture[:300, :427] for picture in pictures], axis=1)
    height, width = strip.shape[:2]
    more = ((0, 3000 - height), (0, 4000 - width), (0, 0))
    return np.pad(strip, more, mode="symmetric").astype(float)


def _opencv(noisy):
    """OpenCV's non-local means at settings that suit sigma 25, on two threads."""
    try:
        import cv2
    except ImportError:
        return {}
    cv2.setNumThreads(2)
    pixels = noises.as_8_bit(noisy)
    settings = {f"OpenCV NLM, h {h}": h for h in (15, 25)}
    return {
        name: partial(cv2.fastNlMeansDenoisingColored, pixels, None, h, h)
        for name, h in settings.items()
    }


def cost(options):
    """Processor time of each kind of noise, beside white noise that is told."""
    columns = {"": "", "grey": "", "colour": ""}
    table = Table("Processor time of 'fast', white noise told = 1; medians (range)", columns)
    grey = nnk_image.standard_image("camera_512").astype(float)
    colour = nnk_image.standard_image("astronaut").astype(float)
    sides = {"grey": _costs(grey, options.rounds), "colour": _costs(colour, options.rounds)}
    for name in sides["grey"]:
        table.rows.append({"": name} | {side: costs[name] for side, costs in sides.items()})
    return table


def _costs(clean, rounds):
    """Ratios of processor times, taken in turn within each round."""
    axis = peers.channel_axis_of(clean)
    white = noises.white(clean, 20, 6)
    grain = noises.grain("mild", clean.shape[:2], 6)
    correlated = clean + 20 * (grain.noise if axis is None else grain.noise[..., None])
    counts = noises.counted_and_read(clean, 4, 10, 6)
    levels = noises.rising_levels(clean.shape[:2], 10, 30)
    run = partial(denoise, channel_axis=axis)
    contenders = {
        "white, told": partial(run, white, 20),
        "white, found": partial(run, white),
        "estimate_noise alone": partial(estimate_noise, white, channel_axis=axis),
        "correlated, told": partial(run, correlated, NoiseModel(psd=400 * grain.psd)),
        "correlated, found": partial(run, correlated),
        "Poisson-Gaussian, told": partial(run, counts, NoiseModel(gain=4, sigma=10)),
        "Poisson-Gaussian, found": partial(run, counts),
        "a map of levels": partial(run, white, levels),
    }
    times = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            times[name].append(cpu(contender)[1])
    ratios = {
        name: [t / told for t, told in zip(values, times["white, told"], strict=True)]
        for name, values in times.items()
    }
    return {name: f"{median(r):.2f} ({min(r):.2f}-{max(r):.2f})" for name, r in ratios.items()}
