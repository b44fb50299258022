"""The methods of `denoise`, and how an image goes through one of them."""

import math
from dataclasses import replace

import numpy as np

from nnk_image.base.image import as_row, is_column
from nnk_image.denoising import balanced, best, fast, quick, wavelet_lowpass
from nnk_image.denoising.noise_units import NoiseUnits
from nnk_image.graph.window import check_spacing
from nnk_image.noise import stripes

FLOATS_PER_PIXEL = {
    "sgw": (5, 5, 0),
    "quick": (0, 3, 0),
    "fast": (6, 7, 2),
    "balanced": (0, 8, 0),
    "best": (0, 8, 0),
}
"""What a method holds at the least at its peak, beside the image: numbers of the image's type for
each pixel, for each channel of a pixel, and for each channel more if noise is not white
(measured)."""

METHODS = {
    "sgw": wavelet_lowpass,
    "quick": quick,
    "fast": fast,
    "balanced": balanced,
    "best": best,
}
"""Name of a method -> its module, which has

- ``denoise(image, whole, executor)``, which gets an `Image` whose noise has standard deviation 1,
  the numbers of the `WholeImage` and a `RowExecutor`, and returns (H, W, C) pixels;
- ``progress_units(image)``, which says how many times that goes over all rows at most;
- ``reach(shape, channels, spacing)``, which gives its `Reach`: how much a tile needs around it.

A new method is a file with these three functions, and a line here.
"""


EVEN_ONLY = ("quick", "sgw")
"""Methods that know one level of noise for the whole image."""


def denoise_checked(image, whole, method, run, executor, **options):
    """(H, W, C) pixels of a checked image without its noise, which has no stripes.

    Parameters
    ----------
    image : Image
        The whole image or a part of it.
    whole : WholeImage
        Of the whole; what is None is found in `image`.
    method : str
    run : function
        Denoises what has been brought to unit noise, by `method`.
    executor : RowExecutor
    **options
        For `run`.
    """
    if _is_turned(image, whole.noise) and not options:
        row = as_row(image)
        return denoise_checked(row, whole, method, run, executor).reshape(image.pixels.shape)
    noise = whole.noise.on(image)
    whole = replace(whole, noise=noise)
    units = NoiseUnits(noise, image, whole.limits, whole.means)

    def denoise_unit(part, standard, name):
        chosen = run if name == method else METHODS[name].denoise
        return chosen(part, replace(whole, standard=standard), executor, **options)

    return units.denoise(method, denoise_unit)


def _is_turned(image, noise):
    """Whether an image is one column, with noise that does not tell its axes apart."""
    by_axis = noise.levels is not None or noise.correlation is not None or noise.has_stripes
    return is_column(image.shape) and not by_axis


def progress_rows(image, whole, method, progress_units):
    """How many rows all stages go over at most, for progress reports.

    `progress_units` is that of what denoises by `method`; other parameters as of
    `denoise_checked`.
    """
    noise = whole.noise
    units = NoiseUnits(noise.without_curve(), image, whole.limits, whole.means)
    runs = units.runs(method)
    if noise.has_stripes:
        runs = [("fast", image.pixels.shape)] * len(stripes.ROUNDS) + runs
    rows = 0
    for name, shape in runs:
        part = replace(image, pixels=np.broadcast_to(image.dtype.type(0), shape))
        units = progress_units if name == method else METHODS[name].progress_units
        rows += round(math.prod(part.shape[:-1]) * units(part))
    return rows


def relative_spacing(spacing, axes):
    """Distances of pixels relative to the least, checked; None if all are equal."""
    spacing = check_spacing(spacing, axes)
    least = min(spacing)
    return None if least == max(spacing) else tuple(s / least for s in spacing)
