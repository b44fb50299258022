"""'fast': few Wiener passes on groups of patches; images are then smoothed on their NNK graph."""

from dataclasses import replace

from nnk_image.base.color import from_opponent, to_opponent
from nnk_image.denoising import graph_smoothing, half_size, patch_filter
from nnk_image.denoising.presets import preset


def denoise(image, whole, executor):
    """Denoise an `Image` in units of its noise; parameters and result as in 'balanced'."""
    levels = whole.standard.levels
    noisy = to_opponent(image.pixels, levels)
    whole = whole.completed(noisy)
    estimate = patch_filter.wiener(noisy, preset("fast", noisy.ndim - 1), whole, executor)
    # Coloured blotches are wider than a patch.
    if len(noisy) > 1 and not whole.standard.is_white and half_size.helps(noisy, whole):
        low = half_size.run(noisy, preset("coarse", noisy.ndim - 1), whole, executor)
        estimate = half_size.with_low_frequencies(estimate, low)
    pixels = from_opponent(estimate, levels)
    if not _is_polished(image):
        return pixels
    low, high = float(pixels.min()), float(pixels.max())
    return graph_smoothing.polish(replace(image, pixels=pixels, low=low, high=high), executor)


def progress_units(image):
    """How many times the method goes over all rows of an `Image` at most, for progress bars."""
    units = patch_filter.progress_units(preset("fast", len(image.shape)), image.channels)
    if image.channels > 1:
        units += half_size.progress_units(preset("coarse", len(image.shape)), image)
    return units + (graph_smoothing.progress_units(image) if _is_polished(image) else 0)


def reach(shape, channels, spacing=None):
    """The `Reach` of the method in an image of a shape and so many channels.

    Not that of the low frequencies of coloured blotches.
    """
    whole = patch_filter.reach_of_passes(shape, preset("fast", len(shape)), spacing)
    return whole + graph_smoothing.reach() if len(shape) == 2 else whole


def _is_polished(image):
    """Images are; the graph of a volume would take three times the memory of all else, and gains
    .02 dB there."""
    return len(image.shape) == 2
