"""'fast' and 'best': Wiener filters for groups of similar patches, in several passes.

docs/denoising.md describes the steps, and what those at half size and for colors gain.
"""

import math
import operator
from functools import partial, reduce
from itertools import pairwise

import numpy as np
from scipy.ndimage import correlate1d

from nnk_image.base.channels import from_opponent, to_opponent
from nnk_image.base.pyramid import double, half_shape, halve
from nnk_image.base.reach import Reach
from nnk_image.denoising import graph_smoothing
from nnk_image.denoising.efforts import COLOR_NOISE_LEFT, effort
from nnk_image.denoising.method import Method
from nnk_image.denoising.patch_filter import PASS_ROWS, PatchGroups, search_reach

_LEAST_SIDE, _LEAST_SIDE_OF_VOLUMES = 32, 8
"""Shortest side, in pixels, of images and of volumes that are denoised at half size; smaller ones
have too few patches there."""

_COARSE_COLORS = 0.5
"""The `coarseness` of the colors' noise above which they need no first estimate and only one pass
after those at half size. With 0.3, up to 0.3 dB would be lost; photographs have 0.6 to 0.7."""

_HALVINGS = 2  # of colors: they are also denoised at a quarter of the size

_DETAIL_LIMITS = (0.5, 1.5)
"""Limits of the detail that halving loses: its mean square minus that of noise alone, in units of
the latter times `coarseness`. Colors are taken from half size below the first limit, from full size
above the second. Results with (0.2, 0.8) or (0.6, 1.2) differ by at most 0.03 dB."""

_BOX = 9  # side, in pixels, of boxes in which detail is averaged

_DOUBLE_REACH = 4  # of the interpolation from half size to full size, in pixels of the latter


def method(name):
    """Return the `Method` 'fast' or 'best'."""
    own = (partial(function, name) for function in (denoise, _progress_units, _reach))
    return Method(*own, _bytes_per_pixel)


def denoise(name, image, noise, options, executor):
    """Denoise an `Image` with unit noise; see `Method`."""
    settings = effort(name, len(image.shape), image.channels)
    noisy = to_opponent(image.pixels, noise.opponent)
    run = _Denoising(settings, image.channels, options.spacing, executor)
    luminance, groups = run.luminance(noisy[:1], noise.of_channels(slice(1)))
    if noisy.ndim == 3 and (settings.polished or not noise.is_white):
        luminance = graph_smoothing.polish(luminance, executor)
    channels = luminance
    if len(noisy) > 1:
        colors = run.colors(noisy[1:], noise.of_channels(slice(1, None)), luminance, groups)
        channels = np.concatenate([luminance, colors])
    del noisy, luminance, groups  # to free memory before the result is allocated
    return from_opponent(channels, noise.opponent)


class _Denoising:
    """Denoises an image of `channels` with unit noise, with the settings of an `Effort`."""

    def __init__(self, settings, channels, spacing, executor):
        self._settings, self._channels = settings, channels
        self._spacing, self._executor = spacing, executor

    def luminance(self, noisy, noise, halvings=1):
        """Return a denoised channel (1, H, W), and the groups of its last search."""
        settings = self._settings
        half = self._half_size(noisy, noise, halvings)
        if half is not None:
            half.denoised = self.luminance(half.noisy, half.noise, halvings - 1)[0]
        groups = self._groups(_corrected(noisy, half)[0], noise, settings.first, noisy=half is None)
        pilot = _corrected(groups.first_estimate(noisy, noise, self._executor), half)
        found_on, work = pilot, noisy
        for grouping, left in zip(settings.searches, settings.noise_left, strict=True):
            groups = self._groups(found_on[0], noise, grouping)
            pilot, work = self._passes(groups, noisy, work, pilot, noise, left)
            found_on = work
        return _merged(pilot, half), groups

    def colors(self, noisy, noise, luminance, groups, halvings=_HALVINGS):
        """Return denoised colors (C, H, W), given the denoised luminance and groups found on it."""
        half = self._half_size(noisy, noise, halvings)
        if half is not None:
            smaller = halve(luminance)
            found = self._groups(smaller[0], half.noise, self._settings.coarse_colors)
            half.denoised = self.colors(half.noisy, half.noise, smaller, found, halvings - 1)
        rest, fine = _rest_and_detail(noisy, half)
        if halvings < _HALVINGS:  # at half size, colors are filtered everywhere
            fine = None
        where = None if fine is None else fine > 0
        if fine is not None and half.coarseness > _COARSE_COLORS:
            pilot, left = rest + fine * (noisy - rest), (1.0, 0.0)
        else:
            pilot = groups.first_estimate(noisy, noise, self._executor, where, rest)
            left = COLOR_NOISE_LEFT
        groups.keep(where, every_second=rest is not None)  # `rest` fills the gaps between them
        if half is not None:  # the coarser the noise, the less reliable fine detail
            pilot *= pilot.dtype.type(1 - half.coarseness)
            pilot = _corrected(pilot, half)
        pilot, _ = self._passes(groups, noisy, noisy, pilot, noise, left)
        if fine is not None:
            pilot -= rest
            pilot *= fine
            pilot += rest
        return _merged(pilot, half)

    def _half_size(self, noisy, noise, halvings):
        """Return the `_HalfSize`, or None if the image is not denoised at half size."""
        wanted = halvings and _has_half_size(noisy.shape[1:], self._channels, noise.is_white)
        return _HalfSize(noisy, noise) if wanted else None

    def _groups(self, image, noise, grouping, noisy=False):
        groups = PatchGroups(image.shape, grouping, self._spacing)
        groups.match(image, noise, self._executor, noisy)
        return groups

    def _passes(self, groups, noisy, work, pilot, noise, left):
        """Return the pilot and the working image after passes; see `Effort.noise_left`."""
        for before, after in pairwise(left):
            pilot = groups.filter(noisy, work, pilot, noise, self._executor)
            work = pilot if after == 0 else _mixed(pilot, work, after / before)
        return pilot, work


class _HalfSize:
    """Channels at half size, divided by `levels`, the standard deviations of their noise there.

    `coarseness` is ``1 - 1 / r``, where r is the factor by which halving raises the variance of
    the noise: 0 for white noise, near 1 for very coarse noise.
    """

    def __init__(self, noisy, noise):
        halved, levels = noise.halved(noisy.shape[1:])
        self.levels = levels.reshape(-1, *(1,) * (noisy.ndim - 1)).astype(noisy.dtype)
        self.noisy, self.noise = halve(noisy) / self.levels, halved
        self.coarseness = max(0.0, 1 - 1 / float(np.mean(self.levels**2)))
        self.denoised = None


def _has_half_size(shape, channels, white):
    """Return whether an image is also denoised at half size; docs/denoising.md says why."""
    if len(shape) > 2:
        return min(shape) >= _LEAST_SIDE_OF_VOLUMES
    return min(shape) >= _LEAST_SIDE and (channels == 1 or not white)


def _rest_and_detail(channels, half):
    """Return the result of `half`, interpolated, and where the image has finer detail.

    The detail, (H, W), is 0 where `halve` loses nothing but noise, and 1 where it loses detail; see
    `_DETAIL_LIMITS`. Both are None for volumes, for noise that halving does not raise, and if
    `half` is None.
    """
    if half is None or channels.ndim > 3 or half.coarseness == 0:
        return None, None
    variances = np.maximum(4 - half.levels**2, 0.01)  # of the noise in `lost`
    lost = 2 * halve(channels**2) - (half.levels * half.noisy) ** 2
    detail = np.mean(lost / variances, axis=0)
    if half.noise.variances is not None:
        detail /= half.noise.variances
    # The running sums of scipy's `uniform_filter` would be rounded differently in a tile.
    box = np.full(_BOX, 1 / _BOX)
    detail = correlate1d(correlate1d(detail, box, 0), box, 1)
    low, high = _DETAIL_LIMITS
    fine = np.clip(((detail - 1) / half.coarseness - low) / (high - low), 0, 1)
    fine = fine.repeat(2, 0).repeat(2, 1)[: channels.shape[1], : channels.shape[2]]
    return double(half.levels * half.denoised, channels.shape[1:]), fine


def _mixed(channels, others, share):
    """Return a mixture of channels and this `share` of others."""
    mixture = others - channels
    mixture *= channels.dtype.type(share)
    mixture += channels
    return mixture


def _merged(channels, half):
    """Return channels of images merged with the denoised `half`, by its `coarseness`."""
    if half is None or channels.ndim > 3:
        return channels
    return _corrected(channels, half, half.coarseness)


def _corrected(channels, half, weight=1):
    """Return channels moved towards the denoised `half`, whose values they get for weight 1."""
    if half is None or weight == 0:
        return channels
    change = half.levels * half.denoised - halve(channels)
    change *= channels.dtype.type(weight)
    moved = double(change, channels.shape[1:])
    moved += channels
    return moved


def _progress_units(name, shape, channels, white):
    """Return the most that may be needed; coarse noise takes fewer passes in color."""
    settings = effort(name, len(shape), channels)
    has_half = _has_half_size(shape, channels, white)
    half = has_half * math.prod(half_shape(shape)[:-1]) / math.prod(shape[:-1])
    luminance = 2 + sum(map(len, settings.noise_left))
    units = luminance * (1 + half)
    if channels > 1:
        passes = len(COLOR_NOISE_LEFT)
        units += passes
        units += (1 + passes) * half * (1 + half)
    units *= PASS_ROWS
    if len(shape) == 2 and (settings.polished or not white):
        units += graph_smoothing.SWEEPS
    return units


def _bytes_per_pixel(channels, itemsize, axes):
    return 55 + (3 + 5 * channels) * itemsize


def _reach(name, shape, channels, spacing=None):
    """Return the `Reach`; that of the colors is added, because they need the denoised luminance."""
    settings = effort(name, len(shape), channels)

    def of_searches(shape):
        groupings = settings.first, *settings.searches
        passes = 1, *(len(left) - 1 for left in settings.noise_left)
        pairs = zip(groupings, passes, strict=True)
        reaches = (search_reach(shape, *pair, spacing) for pair in pairs)
        return reduce(operator.add, reaches)

    def of_colors(shape, grouping):
        return search_reach(shape, grouping, len(COLOR_NOISE_LEFT), spacing)

    half = half_shape(shape)
    doubling = Reach((_DOUBLE_REACH,) * len(shape), (2,) * len(shape))
    whole = of_searches(shape) + doubling + of_searches(half).at_half_size()
    if len(shape) == 2:
        whole += graph_smoothing.REACH
    if channels > 1:
        quarter = of_colors(half_shape(half), settings.coarse_colors).at_half_size()
        coarse = of_colors(half, settings.coarse_colors) + doubling + quarter
        whole += of_colors(shape, settings.searches[-1]) + doubling + coarse.at_half_size()
    return whole
