"""'quick': for large photographs; one Wiener pass, with colours that share their filters.

The luminance gets a first estimate on a coarse grid and one Wiener pass.  The other opponent
channels hold little, and what they hold is smooth: their pilot is made in the same way at half
resolution, where noise is half as strong.  One Wiener pass on the full image then brings their fine
detail back, in the luminance's groups.  The channels beside the luminance share one filter per
group, which saves a quarter of their time; sharing it with the luminance too would lose .4 dB.
"""

import numpy as np

from nnk_image import _core
from nnk_image.denoising.color import from_opponent, to_opponent
from nnk_image.denoising.patch_filter import PatchGroups
from nnk_image.denoising.presets import QUICK
from nnk_image.denoising.standard_noise import WHITE

FLOAT32_SPREAD = 400
"""Range of values, in units of the noise, up to which float32 is enough: one pass on the noisy
image needs less than those of `patch_filter`, the last of which find little noise left."""

AS_WHITE = 1.5
"""Correlated noise is removed as white noise of so many times its level, which on real photographs
gains more than 1 dB over the level itself."""

GRID_ROWS_PER_CHUNK = 8
"""As in `patch_filter`, but more rows, for chunks overlap and their sums are added up."""


def denoise(image, whole, executor):
    """Denoise an `Image` in units of its noise; parameters and result as in 'balanced'.

    The work is done in float32 wherever the range of values allows, whatever the image's type.
    """
    levels = _levels(whole.standard, image.channels)
    noisy = to_opponent(image.pixels.astype(np.float32), levels)
    if whole.completed(noisy).spread > FLOAT32_SPREAD:
        noisy = to_opponent(image.pixels, levels)
    luminance, colours = noisy[:1], noisy[1:]
    pilot = _first_estimate(luminance, luminance[0], QUICK["first"], executor)
    groups = _groups_on(pilot[0], QUICK["pass"], executor)
    channels = [_shared_pass(groups, luminance, pilot, executor)]
    if len(colours):
        pilot = _double(_half_size_run(colours, channels[0], executor), groups.shape)
        channels.append(_shared_pass(groups, colours, pilot, executor))
    return from_opponent(np.concatenate(channels), levels).astype(image.dtype, copy=False)


def _levels(standard, n):
    """Noise levels of n opponent channels; higher for correlated noise, taken as white here."""
    if standard.is_white:
        return standard.levels
    return AS_WHITE * (np.ones(n) if standard.levels is None else standard.levels)


def progress_units(image):
    """How many times the method goes over all rows of an `Image`, for progress bars."""
    return 4 if image.channels == 1 else 7 + image.channels


def _half_size_run(colours, luminance, executor):
    """Estimate of the colours at half size, in groups of the denoised luminance (1, H, W)."""
    colours, guide = _halve(colours), _halve(luminance)[0]
    pilot = _first_estimate(colours, guide, QUICK["half size, first"], executor)
    groups = _groups_on(guide, QUICK["half size, pass"], executor)
    return _shared_pass(groups, colours, pilot, executor)


def _groups_on(image, grouping, executor):
    """Groups of similar patches of an image (H, W)."""
    groups = PatchGroups(image.shape, grouping.patch, grouping, grouping.group, WHITE)
    groups.match(image, executor, WHITE)
    return groups


def _first_estimate(noisy, guide, grouping, executor):
    """Estimate (C, H, W) of each channel from itself alone, in groups found on `guide`."""
    groups = _groups_on(guide, grouping, executor)
    return np.stack([groups.filter(0, y, y, y, 0.0, executor, first=True)[0] for y in noisy])


def _shared_pass(groups, noisy, pilot, executor):
    """One Wiener pass on (C, H, W) channels that share each group's filter.

    See nnk_shared_pass in nnk_patches.h.
    """
    sums = np.zeros((len(noisy) + 1, *groups.shape), noisy.dtype)

    def work(g0, g1):
        top = max(0, groups.rows[g0] - groups.radius)
        bottom = min(groups.shape[0], groups.rows[g1 - 1] + groups.radius + groups.patch)
        part = np.zeros((len(sums), bottom - top, groups.shape[1]), noisy.dtype)
        _core.shared_pass(groups.core, 1.0, noisy, pilot, part, top, g0, g1)
        return top, bottom, part

    def add(result):
        top, bottom, part = result
        sums[:, top:bottom] += part

    executor.run_in_order(work, add, len(groups.rows), GRID_ROWS_PER_CHUNK)
    sums[:-1] /= sums[-1]
    return sums[:-1]


def _halve(channels):
    """Channels (C, H, W) at half size: sums of 2 x 2 pixels, halved, which keeps unit noise.

    Where the number of rows or columns is odd, the last one stands for the one that is missing.
    """
    height, width = channels.shape[1:]
    even = np.pad(channels, ((0, 0), (0, height % 2), (0, width % 2)), mode="edge")
    rows = even[:, ::2] + even[:, 1::2]
    return (rows[..., ::2] + rows[..., 1::2]) / 2


def _double(half, shape):
    """Channels at full size (C, H, W) from those that `_halve` gives, which it would give again."""
    for axis, n in enumerate(shape, start=1):
        half = _double_axis(half, axis)[(slice(None),) * axis + (slice(n),)]
    return np.ascontiguousarray(half) / 2


def _double_axis(half, axis):
    """Twice as many values: each becomes two on the parabola through it and its neighbours."""
    half = np.moveaxis(half, axis, -1)
    ends = np.pad(half, ((0, 0), (0, 0), (1, 1)), mode="edge")
    slope = (ends[..., 2:] - ends[..., :-2]) / 8
    return np.moveaxis(
        np.stack([half - slope, half + slope], -1).reshape(*half.shape[:2], -1), -1, axis
    )
