"""'fast': few Wiener passes on groups of patches; images are then smoothed on their NNK graph."""

from dataclasses import replace

from nnk_image.base.image import from_opponent, to_opponent
from nnk_image.denoising import graph_smoothing, half_size, patch_filter
from nnk_image.denoising.method import Method
from nnk_image.denoising.presets import preset


def denoise(image, noise, statistics, executor):
    """Denoise an `Image` with unit noise; see `Method`."""
    noisy = to_opponent(image.pixels, noise.levels)
    statistics = statistics.completed(noisy)
    axes = noisy.ndim - 1
    estimate = patch_filter.wiener(noisy, preset("fast", axes), noise, statistics, executor)
    # Colored blotches are wider than a patch.
    if len(noisy) > 1 and not noise.is_white and half_size.helps(noisy, noise, statistics):
        low = half_size.run(noisy, preset("coarse", axes), noise, statistics, executor)
        estimate = half_size.with_low_frequencies(estimate, low)
    pixels = from_opponent(estimate, noise.levels)
    if axes > 2:  # a graph would take three times the memory of all else, for 0.02 dB
        return pixels
    low, high = float(pixels.min()), float(pixels.max())
    return graph_smoothing.polish(replace(image, pixels=pixels, low=low, high=high), executor)


def _progress_units(shape, channels):
    units = patch_filter.progress_units(preset("fast", len(shape)), channels)
    if channels > 1:
        units += half_size.progress_units(preset("coarse", len(shape)), shape, channels)
    return units + (graph_smoothing.progress_units(channels) if len(shape) == 2 else 0)


def _reach(shape, channels, spacing=None):
    """Return the `Reach`, without that of the low frequencies of colored blotches."""
    whole = patch_filter.reach_of_passes(shape, preset("fast", len(shape)), spacing)
    return whole + graph_smoothing.reach() if len(shape) == 2 else whole


METHOD = Method(denoise, _progress_units, _reach, memory=(6, 7, 2))
