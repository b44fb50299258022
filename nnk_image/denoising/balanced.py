"""'balanced': more passes and a wider search than 'fast'."""

from nnk_image.base.color import from_opponent, to_opponent
from nnk_image.denoising import patch_filter
from nnk_image.denoising.presets import preset


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
    estimate = patch_filter.wiener(noisy, preset("balanced", noisy.ndim - 1), whole, executor)
    return from_opponent(estimate, levels)


def progress_units(image):
    """How many times the method goes over all rows of an `Image`, for progress bars."""
    return patch_filter.progress_units(preset("balanced", len(image.shape)), image.channels)


def reach(shape, channels, spacing=None):
    """The `Reach` of the method in an image of a shape and so many channels."""
    return patch_filter.reach_of_passes(shape, preset("balanced", len(shape)), spacing)
