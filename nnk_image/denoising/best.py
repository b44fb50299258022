"""'best': growing patches, low frequencies from a half-size run, a second look."""

from nnk_image.denoising import half_size, patch_filter
from nnk_image.denoising.color import from_opponent, to_opponent
from nnk_image.denoising.presets import PRESETS, SECOND_LOOK


def denoise(image, whole, executor):
    """Denoise an `Image` in units of its noise; parameters and result as in 'balanced'."""
    levels = whole.standard.levels
    noisy = to_opponent(image.pixels, levels)
    whole = whole.completed(noisy)
    estimate = patch_filter.wiener(noisy, PRESETS["best"], whole, executor)
    if not half_size.helps(noisy, whole):
        return from_opponent(estimate, levels)
    low = half_size.run(noisy, PRESETS["balanced"], whole, executor)
    estimate = half_size.with_low_frequencies(estimate, low)
    if whole.noise_is_strong:
        again = patch_filter.look_again(noisy, estimate, SECOND_LOOK, whole, executor)
        estimate = half_size.with_low_frequencies((estimate + again) / 2, low)
    return from_opponent(estimate, levels)


def progress_units(image):
    """How many times the method goes over all rows, for progress bars; more in strong noise."""
    units = (patch_filter.progress_units(PRESETS[name]) for name in ("best", "balanced"))
    return sum(units) * image.channels
