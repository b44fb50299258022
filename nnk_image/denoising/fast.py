"""'fast': few Wiener passes on groups of patches, then the NNK polish."""

from dataclasses import replace

from nnk_image.denoising import wiener
from nnk_image.denoising.opponent import from_opponent, to_opponent
from nnk_image.denoising.polish import STAGES as POLISH_STAGES
from nnk_image.denoising.polish import polish
from nnk_image.denoising.presets import PRESETS


def denoise(image, bands):
    """Denoise an `Image` in units of its noise; (H, W, C) ndarray."""
    estimate = wiener.wiener(to_opponent(image.pixels), PRESETS["fast"], False, bands)
    pixels = from_opponent(estimate)
    low, high = float(pixels.min()), float(pixels.max())
    return polish(replace(image, pixels=pixels, low=low, high=high), bands)


def stages(image):
    """Passes over the rows, for progress bars."""
    return wiener.stages(PRESETS["fast"]) * image.channels + POLISH_STAGES
