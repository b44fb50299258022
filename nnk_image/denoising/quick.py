"""'quick': for large photographs; one Wiener pass, with colors that share their filters.

The luminance gets a first estimate on a coarse grid and one Wiener pass. The other opponent
channels are weak and smooth: their pilot is made in the same way at half resolution, where noise is
half as strong. One Wiener pass on the full image then restores their fine detail, in the
luminance's groups. The channels beside the luminance share one filter per group, which saves a
quarter of their time; sharing it with the luminance too would lose 0.4 dB.
"""

import math

import numpy as np

from nnk_image import _core
from nnk_image.base.image import from_opponent, to_opponent
from nnk_image.base.reach import Reach
from nnk_image.denoising.method import Method
from nnk_image.denoising.patch_filter import PASS_ROWS, PatchGroups
from nnk_image.denoising.patch_filter import reach as patch_reach
from nnk_image.denoising.presets import quick as grouping_of
from nnk_image.noise.standard import WHITE

FLOAT32_SPREAD = 400
"""Range of values, in units of the noise, up to which float32 is enough: one pass on the noisy
image needs less than those of `patch_filter`, the last of which find little noise left."""

AS_WHITE = 1.5
"""Factor of the level at which correlated noise is removed as white noise; on real photographs that
gains more than 1 dB over a factor of 1."""

GRID_ROWS_PER_CHUNK = 8
"""As in `patch_filter`, but more rows, for chunks overlap and their sums are added up."""

_DOUBLED = 4
"""How far the interpolation from half size to full size reaches, in pixels of full size."""


def denoise(image, noise, statistics, executor):
    """Denoise an `Image` with unit noise; see `Method`.

    The work is done in float32 wherever the range of values allows, whatever the image's type.
    """
    spacing = statistics.spacing
    levels = _levels(noise, image.channels)
    noisy = to_opponent(image.pixels.astype(np.float32), levels)
    if statistics.completed(noisy).spread > FLOAT32_SPREAD:
        noisy = to_opponent(image.pixels, levels)
    luminance, colors = noisy[:1], noisy[1:]
    pilot = _first_estimate(luminance, luminance[0], "first", spacing, executor)
    groups = _groups_on(pilot[0], "pass", spacing, executor)
    channels = [_shared_pass(groups, luminance, pilot, executor)]
    if len(colors):
        coarse = _half_size_run(colors, channels[0], spacing, executor)
        pilot = _double(coarse, groups.shape)
        channels.append(_shared_pass(groups, colors, pilot, executor))
    return from_opponent(np.concatenate(channels), levels).astype(image.dtype, copy=False)


def _levels(standard, n):
    """Return noise levels of n opponent channels, raised for correlated noise."""
    if standard.is_white:
        return standard.levels
    return AS_WHITE * (np.ones(n) if standard.levels is None else standard.levels)


def _progress_units(shape, channels):
    if channels == 1:
        return 4 * PASS_ROWS
    half = math.prod(-(-n // 2) for n in shape[:-1]) / math.prod(shape[:-1])
    return PASS_ROWS * (5 + half * (2 + channels))


def _reach(shape, channels, spacing=None):
    last = _reach_of_search("pass", shape, spacing, GRID_ROWS_PER_CHUNK)
    luminance = _reach_of_search("first", shape, spacing) + last
    if channels == 1:
        return luminance
    half = tuple(-(-n // 2) for n in shape)
    colors = _reach_of_search("half size, first", half, spacing)
    colors += _reach_of_search("half size, pass", half, spacing, GRID_ROWS_PER_CHUNK)
    doubling = Reach((_DOUBLED,) * len(shape), (2,) * len(shape))
    return luminance + colors.at_half_size() + doubling + last


def _reach_of_search(search, shape, *options):
    grouping = grouping_of(search, len(shape))
    return patch_reach(shape, grouping.patch, grouping, *options)


def _half_size_run(colors, luminance, spacing, executor):
    """Estimate the colors at half size, in groups of the denoised luminance (1, H, W)."""
    colors, guide = _halve(colors), _halve(luminance)[0]
    pilot = _first_estimate(colors, guide, "half size, first", spacing, executor)
    groups = _groups_on(guide, "half size, pass", spacing, executor)
    return _shared_pass(groups, colors, pilot, executor)


def _groups_on(image, search, spacing, executor):
    """Find groups of similar patches of an image (H, W) by the search named `search`."""
    grouping = grouping_of(search, image.ndim)
    groups = PatchGroups(image.shape, grouping.patch, grouping, grouping.group, WHITE, spacing)
    groups.match(image, executor, WHITE)
    return groups


def _first_estimate(noisy, guide, search, spacing, executor):
    """Estimate (C, H, W) of each channel from itself alone, in groups found on `guide`."""
    groups = _groups_on(guide, search, spacing, executor)
    return np.stack([groups.filter(0, y, y, y, 0.0, executor, first=True)[0] for y in noisy])


def _shared_pass(groups, noisy, pilot, executor):
    """Make one Wiener pass on (C, H, W) channels that share each group's filter.

    See nnk_shared_pass in nnk_patches.h.
    """
    y, x = (channels.reshape(len(channels), -1) for channels in (noisy, pilot))

    def work(part, box, g0, g1):
        _core.shared_pass(groups.core, 1.0, y, x, part, *box, g0, g1)

    sums = np.zeros((len(noisy) + 1, *groups.shape), noisy.dtype)
    groups.add_up(work, sums, executor, GRID_ROWS_PER_CHUNK)
    sums[:-1] /= sums[-1]
    return sums[:-1]


def _halve(channels):
    """Halve channels (C, H, W): sums of 2 x 2 pixels, divided by 2, which keeps unit noise.

    Where the number of rows or columns is odd, the last one stands for the one that is missing.
    """
    shape = channels.shape[1:]
    half = np.pad(channels, ((0, 0), *((0, n % 2) for n in shape)), mode="edge")
    for axis in range(1, channels.ndim):
        half = half[_every_second(axis, 0)] + half[_every_second(axis, 1)]
    return half / _halving(shape)


def _double(half, shape):
    """Double channels so that `_halve` of the result gives them again."""
    for axis, n in enumerate(shape, start=1):
        half = _double_axis(half, axis)[(slice(None),) * axis + (slice(n),)]
    return np.ascontiguousarray(half) / _halving(shape)


def _double_axis(half, axis):
    """Double an axis: each value becomes two on the parabola through it and its neighbors."""
    half = np.moveaxis(half, axis, -1)
    ends = np.pad(half, (*((0, 0),) * (half.ndim - 1), (1, 1)), mode="edge")
    slope = (ends[..., 2:] - ends[..., :-2]) / 8
    return np.moveaxis(
        np.stack([half - slope, half + slope], -1).reshape(*half.shape[:-1], -1), -1, axis
    )


def _every_second(axis, first):
    return (slice(None),) * axis + (slice(first, None, 2),)


def _halving(shape):
    """Return the normalization of a 2 x 2 sum that keeps unit noise: 2 for an image."""
    return 2 ** (len(shape) / 2)


METHOD = Method(denoise, _progress_units, _reach, memory=(0, 3, 0), uneven=False)
