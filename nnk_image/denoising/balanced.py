"""'balanced': more passes and a wider search than 'fast'."""

from nnk_image.denoising import patch_filter
from nnk_image.denoising.color import from_opponent, to_opponent
from nnk_image.denoising.presets import PRESETS, STRONG, noise_to_signal


def denoise(image, executor):
    """Denoise an `Image` in units of its noise; (H, W, C) ndarray."""
    noisy = to_opponent(image.pixels)
    strong = noise_to_signal(noisy[0]) >= STRONG
    return from_opponent(patch_filter.wiener(noisy, PRESETS["balanced"], strong, executor))


def stages(image):
    """Passes over the rows, for progress bars."""
    return patch_filter.stages(PRESETS["balanced"]) * image.channels
