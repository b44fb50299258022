"""'fast': few Wiener passes on groups of patches, then a light smoothing on the NNK graph."""

from dataclasses import replace

from nnk_image.denoising import graph_smoothing, patch_filter
from nnk_image.denoising.color import from_opponent, to_opponent
from nnk_image.denoising.presets import PRESETS


def denoise(image, whole, executor):
    """Denoise an `Image` in units of its noise; parameters and result as in 'balanced'."""
    noisy = to_opponent(image.pixels)
    whole = whole.completed(noisy)
    pixels = from_opponent(patch_filter.wiener(noisy, PRESETS["fast"], whole, executor))
    low, high = float(pixels.min()), float(pixels.max())
    return graph_smoothing.polish(replace(image, pixels=pixels, low=low, high=high), executor)


def progress_units(image):
    """How many times the method goes over all rows of an `Image`, for progress bars."""
    units = patch_filter.progress_units(PRESETS["fast"]) * image.channels
    return units + graph_smoothing.PROGRESS_UNITS
