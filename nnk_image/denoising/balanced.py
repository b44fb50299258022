"""'balanced': more passes and a wider search than 'fast'."""

from nnk_image.base.image import from_opponent, to_opponent
from nnk_image.denoising import patch_filter
from nnk_image.denoising.method import Method
from nnk_image.denoising.presets import preset


def denoise(image, noise, statistics, executor):
    """Denoise an `Image` with unit noise; see `Method`."""
    noisy = to_opponent(image.pixels, noise.levels)
    statistics = statistics.completed(noisy)
    balanced = preset("balanced", noisy.ndim - 1)
    estimate = patch_filter.wiener(noisy, balanced, noise, statistics, executor)
    return from_opponent(estimate, noise.levels)


def _progress_units(shape, channels):
    return patch_filter.progress_units(preset("balanced", len(shape)), channels)


def _reach(shape, channels, spacing=None):
    return patch_filter.reach_of_passes(shape, preset("balanced", len(shape)), spacing)


METHOD = Method(denoise, _progress_units, _reach, memory=(0, 8, 0))
