"""'fast': few Wiener passes on groups of patches, then a light smoothing on the NNK graph."""

from dataclasses import replace

from nnk_image.denoising import graph_smoothing, half_size, patch_filter
from nnk_image.denoising.color import from_opponent, to_opponent
from nnk_image.denoising.presets import PRESETS


def denoise(image, whole, executor):
    """Denoise an `Image` in units of its noise; parameters and result as in 'balanced'."""
    preset, levels = PRESETS["fast"], whole.standard.levels
    noisy = to_opponent(image.pixels, levels)
    whole = whole.completed(noisy)
    estimate = patch_filter.wiener(noisy, preset, whole, executor)
    # Coloured blotches are wider than a patch.
    if len(noisy) > 1 and not whole.standard.is_white and half_size.helps(noisy, whole):
        low = half_size.run(noisy, PRESETS["coarse"], whole, executor)
        estimate = half_size.with_low_frequencies(estimate, low)
    pixels = from_opponent(estimate, levels)
    low, high = float(pixels.min()), float(pixels.max())
    return graph_smoothing.polish(replace(image, pixels=pixels, low=low, high=high), executor)


def progress_units(image):
    """How many times the method goes over all rows of an `Image`, for progress bars."""
    units = patch_filter.progress_units(PRESETS["fast"]) * image.channels
    return units + graph_smoothing.PROGRESS_UNITS
