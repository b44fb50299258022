"""'fast': few Wiener passes on groups of patches, then the NNK polish."""

from dataclasses import replace

from nnk_image.denoising import patch_filter
from nnk_image.denoising.color import from_opponent, to_opponent
from nnk_image.denoising.graph_smoothing import STAGES as POLISH_STAGES
from nnk_image.denoising.graph_smoothing import polish
from nnk_image.denoising.presets import PRESETS


def denoise(image, executor):
    """Denoise an `Image` in units of its noise; (H, W, C) ndarray."""
    estimate = patch_filter.wiener(to_opponent(image.pixels), PRESETS["fast"], False, executor)
    pixels = from_opponent(estimate)
    low, high = float(pixels.min()), float(pixels.max())
    return polish(replace(image, pixels=pixels, low=low, high=high), executor)


def stages(image):
    """Passes over the rows, for progress bars."""
    return patch_filter.stages(PRESETS["fast"]) * image.channels + POLISH_STAGES
