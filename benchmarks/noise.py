"""`denoise` with known and with estimated noise, on clean photographs to which noise is added."""

from functools import partial

import numpy as np
from skimage.color import gray2rgb

from benchmarks import cameras, noises
from benchmarks.leaderboard import Pair
from benchmarks.peers import channel_axis_of
from benchmarks.pictures import gray_of, read_8_bit_images, shrink
from benchmarks.scores import psnr
from benchmarks.timing import Table, add_choice, existing_folder
from nnk_image import NoiseModel, denoise
from nnk_image.base.image import check_image
from nnk_image.noise.estimation import measure_scales
from nnk_image.noise.white import independent_white

WIDTH = 900  # of the reduced photographs, about; reduction removes most noise of their own
SIDE, CROPS = 256, 2  # height and width of a crop in pixels; number of crops of a photograph
QUALITIES = 75, 85, 92, 97  # of JPEG
PHOTONS = 100, 3000  # range of the expected counts where a scene is white
MOST = 99.0  # PSNR in dB of equal pictures


def photographs(options):
    """Return the table of the photographs in a folder, or of the bundled images."""
    columns = {"noise": "", "crops": "d", "noisy": ".2f", "known": ".2f", "estimated": ".2f"}
    columns |= {"least gain": "+.2f", "below noisy": "d", "below 42 dB": "d"}
    table = Table("Photographs: PSNR in dB with known and with estimated noise", columns)
    table.notes = (
        f"Reduced to a width of about {WIDTH} pixels; {CROPS} crops of {SIDE} x {SIDE} of each.",
        "Known noise of JPEG, cameras and the binomial is fitted to noisy minus clean crops.",
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
    channels = [noises.correlated("binomial", clean.shape[:2], rng)[0] for _ in range(3)]
    return Pair(noises.as_8_bit(clean + sigma * np.stack(channels, axis=-1)), clean)


def _camera(clean, rng, quality=None, **options):
    """Simulate a camera; the clean picture is what it stores of the scene without noise."""
    noisy, clean = cameras.shoot(clean, np.exp(rng.uniform(*np.log(PHOTONS))), rng, **options)
    return Pair(cameras.jpeg(noisy, quality) if quality else noisy, clean)


def _camera_as_jpeg(clean, rng):
    return _camera(clean, rng, int(rng.choice(QUALITIES)))


def _processed(clean, rng):
    processing = cameras.random_processing(rng)
    return _camera(clean, rng, int(rng.choice(QUALITIES)), processing=processing)


def _camera_in_gray(clean, rng):
    pair = _camera(clean, rng)
    return Pair(gray_of(pair.noisy), gray_of(pair.clean))


def _poisson(gain, read_noise, clean, rng):
    noisy = noises.poisson_gaussian(clean, gain, read_noise, rng)
    return Pair(noisy, clean, NoiseModel(read_noise, gain=gain))


def _correlated(kind, sigma, clean, rng):
    noise, psd = noises.correlated(kind, clean.shape, rng)
    return Pair(clean + sigma * noise, clean, NoiseModel.from_psd(sigma**2 * psd))


def _uneven(low, high, clean, rng):
    """Add white noise whose level rises from left to right."""
    levels = np.broadcast_to(np.linspace(low, high, clean.shape[1]), clean.shape)
    return Pair(noises.white(clean, levels, rng), clean, levels)


def _of_gray(add, clean, rng):
    return add(gray_of(clean), rng)


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
    "gray: Poisson, 4 counts of white": partial(_of_gray, partial(_poisson, 255 / 4, 0)),
    "gray: Poisson, gain 4, read noise 10": partial(_of_gray, partial(_poisson, 4, 10)),
    "gray: power 1/f, sigma 15": partial(_of_gray, partial(_correlated, "pink", 15)),
    "gray: white and row noise, sigma 15": partial(_of_gray, partial(_correlated, "rows", 15)),
    "gray: white, sigma 5 to 50 across": partial(_of_gray, partial(_uneven, 5, 50)),
}
"""Functions of a clean crop and a generator, which return a `Pair`."""

TABLES = {"photographs": photographs, "white-part": white_part}


def add_options(group):
    """Add the options of these tables to an argparse group."""
    add_choice(group, "--noise-tables", TABLES)
    group.add_argument(
        "--noise-images",
        type=existing_folder,
        metavar="FOLDER",
        help="8-bit images (default: bundled images)",
    )


def tables(options):
    """Yield the tables selected by --noise-tables."""
    for name in options.noise_tables:
        yield TABLES[name](options)
