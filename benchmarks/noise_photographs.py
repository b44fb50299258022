"""`denoise` without a given noise level, on clean photographs to which noise is added."""

from functools import partial

import numpy as np
from skimage.color import gray2rgb, rgb2gray

from benchmarks import cameras, noises
from benchmarks.leaderboard import Pair
from benchmarks.peers import channel_axis_of
from benchmarks.pictures import read_8_bit_images, shrink
from benchmarks.scores import psnr
from benchmarks.timing import Table
from nnk_image import denoise
from nnk_image.base.image import check_image
from nnk_image.noise.estimation import measure_scales
from nnk_image.noise.white import independent_white

WIDTH = 900  # of the reduced photographs, about; reduction removes most noise of their own
SIDE, CROPS = 256, 2  # height and width of a crop in pixels; number of crops of a photograph
QUALITIES = 75, 85, 92, 97  # of JPEG
PHOTONS = 100, 3000  # range of the expected counts where a scene is white
MOST = 99.0  # PSNR in dB of equal pictures
_NO_PROCESSING = cameras.Processing()


def photographs(options):
    """Return the table of the photographs in a folder, or of the bundled images."""
    columns = {"noise": "", "crops": "d", "noisy": ".2f", "known": ".2f", "estimated": ".2f"}
    columns |= {"least gain": "+.2f", "below noisy": "d", "below 42 dB": "d"}
    table = Table("Photographs: PSNR in dB with known and with estimated noise", columns)
    table.notes = (
        f"Reduced to a width of about {WIDTH} pixels; {CROPS} crops of {SIDE} x {SIDE} of each.",
        "Known noise, if not white, is fitted to the difference of the noisy and the clean crop.",
        "Below noisy: crops that lose more than 0.1 dB.",
    )
    crops = _all_crops(options)
    for kind, (name, add) in enumerate(NOISES.items()):
        pairs = [add(crop, np.random.default_rng([kind, i])) for i, crop in enumerate(crops)]
        noisy, known, estimated = np.transpose([_scores(pair) for pair in pairs])
        cells = name, len(crops), noisy.mean(), known.mean(), estimated.mean()
        row = dict(zip(columns, cells, strict=False)) | {"below 42 dB": int((estimated < 42).sum())}
        if noisy.min() < MOST:
            gains = estimated - noisy
            row |= {"least gain": gains.min(), "below noisy": int((gains < -0.1).sum())}
        table.rows.append(row)
    return table


def white_part(options):
    """Return the table of what is measured as white noise in the same crops.

    In gray, with white noise of known level, that is the share of noise in it; in color, with
    speckle, the largest ratio of the variance that independent noise would have in an opponent
    channel to the variance measured there.
    """
    columns = {"noise": "", "crops": "d", "true share": ".2f", "share": ".2f", "rms error": ".2f"}
    columns |= {"median ratio": ".2f", "95 %": ".2f"}
    table = Table("White part of the noise of photographs", columns)
    crops = _all_crops(options)
    for sigma in (0, 2, 5, 12):
        noisy = [_of_gray(partial(_white, sigma), c, i).noisy for i, c in enumerate(crops)]
        found = [(scale, unit) for scale, unit in map(_scale_and_unit, noisy) if scale]
        true = [min(1, sigma**2 / (unit * scale.typical_white[0])) for scale, unit in found]
        shares = [scale.noise_share for scale, _ in found]
        error = np.sqrt(np.mean(np.subtract(shares, true) ** 2))
        cells = f"gray: white, sigma {sigma}", len(found), np.mean(true), np.mean(shares), error
        table.rows.append(dict(zip(columns, cells, strict=False)))
    for share in (0.1, 0.2):
        speckle = [c * (1 + noises.white(np.zeros(c.shape), share, i)) for i, c in enumerate(crops)]
        scales = [scale for scale, _ in map(_scale_and_unit, speckle) if scale]
        sums = [scale.matrix**2 @ independent_white(scale) for scale in scales]
        ratios = [max(s / scale.typical_white_own) for s, scale in zip(sums, scales, strict=True)]
        median, most = np.quantile(ratios, (0.5, 0.95))
        row = {"noise": f"speckle of {share:.0%}", "crops": len(scales), "median ratio": median}
        table.rows.append(row | {"95 %": most})
    return table


def _scale_and_unit(noisy):
    """Return the `Scale` of a picture, None if it has no noise, and its unit of variances."""
    image = check_image(noisy, channel_axis_of(noisy))
    return next(iter(measure_scales(image)), None), image.half_range**2


def _all_crops(options):
    images = read_8_bit_images(options.noise_images)
    return [crop for number, (_, image) in enumerate(images) for crop in _crops(image, number)]


def _crops(image, number):
    """Yield (SIDE, SIDE, 3) crops of a reduced photograph, at random places."""
    color = image[..., :3] if image.ndim == 3 else gray2rgb(image)
    small = shrink(color, max(1, round(color.shape[1] / WIDTH)))
    rng = np.random.default_rng(number)
    for _ in range(CROPS):
        top, left = (rng.integers(max(1, n - SIDE + 1)) for n in small.shape[:2])
        yield noises.as_8_bit(small[top : top + SIDE, left : left + SIDE])


def _scores(pair):
    """Return the PSNR of the noisy picture, and of the results with known and estimated noise."""
    axis = channel_axis_of(pair.noisy)
    known = 0 if np.array_equal(pair.clean, pair.noisy) else pair.noise
    results = [denoise(pair.noisy, sigma, channel_axis=axis) for sigma in (known, None)]
    pictures = pair.noisy, *results
    return [min(MOST, psnr(pair.clean, np.clip(picture, 0, 255))) for picture in pictures]


def _unchanged(clean, rng):
    return Pair(clean, clean)


def _as_jpeg(clean, rng):
    return Pair(cameras.jpeg(clean, int(rng.choice(QUALITIES))), clean)


def _white(sigma, clean, rng):
    return Pair(noises.as_8_bit(noises.white(clean, sigma, rng)), clean, sigma)


def _binomial(clean, rng):
    sigma = rng.choice([4, 8, 14])
    channels = [noises.correlated("binomial", clean.shape[:2], rng).noise for _ in range(3)]
    return Pair(noises.as_8_bit(clean + sigma * np.stack(channels, axis=-1)), clean)


def _camera(clean, rng, processing=_NO_PROCESSING, quality=None):
    """Simulate a camera; the clean picture is what it stores of the scene without noise."""
    shot = cameras.shoot("", clean, np.exp(rng.uniform(*np.log(PHOTONS))), rng, processing)
    return Pair(cameras.jpeg(shot.noisy, quality) if quality else shot.noisy, shot.clean)


def _camera_as_jpeg(clean, rng):
    return _camera(clean, rng, quality=int(rng.choice(QUALITIES)))


def _processed(clean, rng):
    processing = cameras.Processing(
        chroma=rng.choice([0, 1, 2, 3]),
        smoothing=rng.choice([0, 0, 6, 12]),
        sharpening=rng.choice([0, 0.4, 0.8]),
    )
    return _camera(clean, rng, processing, int(rng.choice(QUALITIES)))


def _camera_in_gray(clean, rng):
    pair = _camera(clean, rng)
    return Pair(_gray(pair.noisy), _gray(pair.clean))


def _of_gray(add, clean, rng):
    return add(_gray(clean), rng)


def _gray(picture):
    return noises.as_8_bit(255 * rgb2gray(picture))


NOISES = {
    "none": _unchanged,
    "none, stored as JPEG": _as_jpeg,
    "white, sigma 5": partial(_white, 5),
    "white, sigma 15": partial(_white, 15),
    "white, sigma 30": partial(_white, 30),
    "white, filtered by a 3 x 3 binomial": _binomial,
    "simulated camera": _camera,
    "simulated camera, JPEG": _camera_as_jpeg,
    "simulated camera that reduces noise and sharpens, JPEG": _processed,
    "gray: none": partial(_of_gray, _unchanged),
    "gray: white, sigma 5": partial(_of_gray, partial(_white, 5)),
    "gray: simulated camera": _camera_in_gray,
}
"""Functions of a clean crop and a generator, which return a `Pair`."""
