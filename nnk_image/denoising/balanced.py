"""'balanced': more passes and a wider search than 'fast'."""

from nnk_image.denoising import wiener
from nnk_image.denoising.contrast import STRONG, noise_to_signal
from nnk_image.denoising.opponent import from_opponent, to_opponent
from nnk_image.denoising.presets import PRESETS


def denoise(image, bands):
    """Denoise an `Image` in units of its noise; (H, W, C) ndarray."""
    noisy = to_opponent(image.pixels)
    strong = noise_to_signal(noisy[0]) >= STRONG
    return from_opponent(wiener.wiener(noisy, PRESETS["balanced"], strong, bands))


def stages(image):
    """Passes over the rows, for progress bars."""
    return wiener.stages(PRESETS["balanced"]) * image.channels
