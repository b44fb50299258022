"""'best': growing patches, low frequencies from a half-size run, a second look."""

from dataclasses import replace

from nnk_image.base.color import from_opponent, to_opponent
from nnk_image.denoising import half_size, patch_filter
from nnk_image.denoising.presets import preset


def denoise(image, whole, executor):
    """Denoise an `Image` in units of its noise; parameters and result as in 'balanced'."""
    levels = whole.standard.levels
    noisy = to_opponent(image.pixels, levels)
    whole = whole.completed(noisy)
    estimate = patch_filter.wiener(noisy, preset("best", noisy.ndim - 1), whole, executor)
    if not half_size.helps(noisy, whole):
        return from_opponent(estimate, levels)
    low = half_size.run(noisy, preset("balanced", noisy.ndim - 1), whole, executor)
    estimate = half_size.with_low_frequencies(estimate, low)
    if whole.noise_is_strong:
        look = preset("second look", noisy.ndim - 1)
        again = patch_filter.look_again(noisy, estimate, look, whole, executor)
        estimate = half_size.with_low_frequencies((estimate + again) / 2, low)
    return from_opponent(estimate, levels)


def progress_units(image):
    """How many times the method goes over all rows of an `Image` at most, for progress bars."""
    units = patch_filter.progress_units(preset("best", len(image.shape)), image.channels)
    units += half_size.progress_units(preset("balanced", len(image.shape)), image)
    return units + patch_filter.PASS_ROWS * (1 + image.channels)  # the second look


def reach(shape, channels, spacing=None):
    """The `Reach` of the passes in an image of a shape and so many channels.

    The half-size run reaches twice as far, and its cosine transform everywhere, but by very little:
    with this border a part differs from the whole by less than .01 dB.
    """
    axes = len(shape)
    passes = patch_filter.reach_of_passes(shape, preset("best", axes), spacing)
    half = patch_filter.reach_of_passes(shape, preset("balanced", axes), spacing).at_half_size()
    look = preset("second look", axes)
    whole = passes + patch_filter.reach(shape, look.patches[0], look, spacing)
    return replace(whole + half, border=whole.border)
