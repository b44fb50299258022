"""'balanced': more passes and a wider search than 'fast'."""

from nnk_image.denoising import patch_filter
from nnk_image.denoising.color import from_opponent, to_opponent
from nnk_image.denoising.presets import PRESETS


def denoise(image, whole, executor):
    """Denoise an `Image` in units of its noise.

    Parameters
    ----------
    image : Image
    whole : WholeImage
    executor : RowExecutor

    Returns
    -------
    (H, W, C) ndarray
    """
    levels = whole.standard.levels
    noisy = to_opponent(image.pixels, levels)
    whole = whole.completed(noisy)
    return from_opponent(patch_filter.wiener(noisy, PRESETS["balanced"], whole, executor), levels)


def progress_units(image):
    """How many times the method goes over all rows of an `Image`, for progress bars."""
    return patch_filter.progress_units(PRESETS["balanced"]) * image.channels
