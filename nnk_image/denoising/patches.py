"""'fast' and 'best': Wiener passes on groups of similar patches.

Where noise is correlated, and in volumes, the image at half size comes first: there patches reach
twice as far, noise is nearly white, and its covariance is known exactly. Colors are weak and
smooth: few passes in the groups of the denoised luminance are enough, and the two colors share one
filter per group.

Half size also saves time. Where an image has no finer detail, colors are not filtered at full size
at all, which is better too. In color images with coarse noise, 'fast' makes one pass over the
luminance at full size, and every second group is enough for the colors.
"""

import math
from functools import partial

import numpy as np
from scipy.ndimage import correlate1d

from nnk_image.base.channels import from_opponent, to_opponent
from nnk_image.base.pyramid import double, half_shape, halve
from nnk_image.base.reach import Reach
from nnk_image.denoising import graph_smoothing
from nnk_image.denoising.efforts import COLOR_LEFT, effort
from nnk_image.denoising.method import Method
from nnk_image.denoising.patch_filter import PASS_ROWS, PatchGroups, search_reach

FLOAT32_SPREAD = 200
"""Range of values, in units of the noise, up to which float32 is enough: rounding of the Gram
matrices stays below 1 % of the noise that is left after the first pass."""

SMALLEST, _SMALLEST_OF_VOLUMES = 32, 8
"""Side below which an image at half size has too few patches to help."""

_LUMINANCE_MERGED = 0.5
"""Share of the half-size estimate in the luminance where noise is as coarse as can be; in colors it
is 1. Between 0 and 1 it makes 0.06 dB on photographs of three cameras and five telephones, and
0.2 dB on images with exactly known noise, which are best below 0.5."""

_COARSE = 0.3
"""Coarseness of the noise above which the first groups are good enough for all passes: corrected by
half size, the image in which they are found has little noise left."""

_HALVINGS = 2
"""How often colors are halved."""

_DETAIL = (0.5, 1.5)
"""Colors come from half size alone where the mean square of their detail exceeds that of the noise
by less than the first number times `coarseness`, from full size where it exceeds it by more than
the second. From (0.2, 0.8) to (0.6, 1.2), photographs of three cameras and five telephones, and
colorful pictures with binomial noise, differ by at most 0.03 dB."""

_BOX = 9
"""Side of the boxes of pixels in which detail is measured."""

_FLAT = 0.02
"""Variance of a denoised image in a box below which the second look counts less: it leaves more
noise, by which 'best' lost up to 7 dB in smooth pictures. At 0.1 it loses its gain on some."""

_DOUBLED = 4
"""How far the interpolation from half size to full size reaches, in pixels of full size."""


def method(name):
    """Return the `Method` 'fast' or 'best'."""
    return Method(
        partial(denoise, name),
        partial(_progress_units, name),
        partial(_reach, name),
        _bytes_per_pixel,
    )


def denoise(name, image, noise, statistics, executor):
    """Denoise an `Image` with unit noise; see `Method`."""
    settings = effort(name, len(image.shape), image.channels)
    dtype = np.float32 if image.high - image.low <= FLOAT32_SPREAD else np.float64
    noisy = to_opponent(image.pixels.astype(dtype), noise.opponent)
    run = _Run(settings, statistics.spacing, executor)
    luminance, groups = run.luminance(noisy[:1], noise.of_channels(slice(1)))
    if noisy.ndim == 3 and (settings.polished or not noise.is_white):
        luminance = graph_smoothing.polish(luminance, executor)
    channels = luminance
    if len(noisy) > 1:
        colors = run.colors(noisy[1:], noise.of_channels(slice(1, None)), luminance, groups)
        channels = np.concatenate([luminance, colors])
    del noisy, luminance, groups  # a photograph has millions of pixels
    return from_opponent(channels, noise.opponent)


class _Run:
    """Denoising of channels (C, H, W), with unit noise, by settings of class `Effort`."""

    def __init__(self, settings, spacing, executor):
        self._settings, self._spacing, self._executor = settings, spacing, executor

    def luminance(self, noisy, noise, again=True):
        """Return a denoised channel (1, H, W), and the groups of its last search."""
        settings = self._settings
        coarse = _Coarse.of(noisy, noise) if again else None
        if coarse is not None:
            coarse.denoised = self.luminance(coarse.noisy, coarse.noise, again=False)[0]
        corrected = partial(_corrected, coarse=coarse, weight=1)
        groups = self._groups(corrected(noisy)[0], noise, settings.first, noisy=coarse is None)
        if settings.light and coarse is not None and coarse.coarseness > _COARSE:
            rest, fine = _rest_and_detail(noisy, coarse)
            estimate = groups.first_estimate(noisy, noise, self._executor, fine == 1, rest)
            groups.keep(fine == 1, elsewhere=0.5)
            pilot, _ = self._passes(groups, noisy, noisy, corrected(estimate), noise, (0.0,))
            return _merged(pilot, coarse, _LUMINANCE_MERGED), groups
        pilot = corrected(groups.first_estimate(noisy, noise, self._executor))
        found_on, work = pilot, noisy
        for grouping, left in zip(settings.searches, settings.left, strict=True):
            groups = self._groups(found_on[0], noise, grouping)
            pilot, work = self._passes(groups, noisy, work, pilot, noise, left)
            found_on = work
        if settings.second_look is not None and noise.is_white:
            larger = self._groups(pilot[0], noise, settings.second_look)
            other, _ = self._passes(larger, noisy, noisy, pilot, noise, (0.0,))
            variance = _box_means(pilot[0] ** 2) - _box_means(pilot[0]) ** 2
            pilot = pilot + np.clip(variance / _FLAT, 0, 1) / 2 * (other - pilot)
        return _merged(pilot, coarse, _LUMINANCE_MERGED), groups

    def colors(self, noisy, noise, guide, groups, halvings=_HALVINGS):
        """Return denoised colors (C, H, W), in groups of a denoised luminance of the same size."""
        grouping = self._settings.coarse_colors
        coarse = _Coarse.of(noisy, noise) if halvings else None
        if coarse is not None:
            half = halve(guide)
            found = self._groups(half[0], coarse.noise, grouping)
            coarse.denoised = self.colors(coarse.noisy, coarse.noise, half, found, halvings - 1)
        rest, fine = _rest_and_detail(noisy, coarse)
        mixed = fine is not None and halvings == _HALVINGS
        if mixed and not self._settings.light:
            groups = self._groups(guide[0], noise, grouping)
        where = fine > 0 if mixed else None
        pilot = groups.first_estimate(noisy, noise, self._executor, where, rest)
        groups.keep(where, share=0.5 if self._settings.light and fine is not None else 1)
        if coarse is not None:  # what is finer counts for less, the coarser the noise
            pilot = _corrected(pilot * pilot.dtype.type(1 - coarse.coarseness), coarse, 1)
        pilot, _ = self._passes(groups, noisy, noisy, pilot, noise, COLOR_LEFT)
        if mixed:
            pilot = rest + fine * (pilot - rest)
        return _merged(pilot, coarse, 1)

    def _groups(self, image, noise, grouping, noisy=False):
        groups = PatchGroups(image.shape, grouping, self._spacing)
        groups.match(image, noise, self._executor, noisy)
        return groups

    def _passes(self, groups, noisy, work, pilot, noise, left):
        for tau in left:
            pilot, work = groups.filter(noisy, work, pilot, noise, self._executor, tau)
        return pilot, work


class _Coarse:
    """Channels at half size, with unit noise; `levels` is what they were divided by.

    `coarseness` is 0 for white noise, whose variance `halve` keeps, and grows to 1 with the
    variance of correlated noise at half size.
    """

    def __init__(self, noisy, levels, noise):
        self.noisy, self.levels, self.noise = noisy, levels, noise
        self.coarseness = max(0.0, 1 - 1 / float(np.mean(levels**2)))
        self.denoised = None

    @classmethod
    def of(cls, noisy, noise):
        """Return them, or None if they would be too small or, of an image, do not help."""
        shape = noisy.shape[1:]
        is_image = len(shape) == 2
        least = SMALLEST if is_image else _SMALLEST_OF_VOLUMES
        if min(shape) < least or (is_image and noise.is_white):
            return None
        halved, levels = noise.halved(shape)
        levels = levels.reshape(-1, *(1,) * len(shape)).astype(noisy.dtype)
        return cls(halve(noisy) / levels, levels, halved)


def _rest_and_detail(channels, coarse):
    """Return what can be had from half size alone, and where there is finer detail.

    Returns
    -------
    rest : (C, H, W) ndarray
        The denoised `coarse` at full size.
    fine : (H, W) ndarray
        From 0 to 1.  Detail is what exceeds the noise in the mean square, over about three
        patches, of what `halve` loses.

    Both are None for volumes, and without a `coarse` image or coarse noise.
    """
    if coarse is None or channels.ndim > 3 or coarse.coarseness == 0:
        return None, None
    variances = np.maximum(4 - coarse.levels**2, 0.01)  # of the noise that is lost in a block
    lost = 2 * halve(channels**2) - (coarse.levels * coarse.noisy) ** 2
    detail = np.mean(lost / variances, axis=0)
    if coarse.noise.variances is not None:
        detail /= coarse.noise.variances
    low, high = _DETAIL
    fine = np.clip(((_box_means(detail) - 1) / coarse.coarseness - low) / (high - low), 0, 1)
    fine = fine.repeat(2, 0).repeat(2, 1)[: channels.shape[1], : channels.shape[2]]
    return double(coarse.levels * coarse.denoised, channels.shape[1:]), fine


def _box_means(plane):
    """Return the means of (H, W) values in boxes around each pixel."""
    box = np.full(_BOX, 1 / _BOX)
    return correlate1d(correlate1d(plane, box, 0), box, 1)


def _merged(channels, coarse, share):
    """Return channels merged with the denoised `coarse`, by its coarseness times `share`."""
    return channels if coarse is None else _corrected(channels, coarse, coarse.coarseness * share)


def _corrected(channels, coarse, weight):
    """Return channels corrected by `weight` times what a denoised `_Coarse` says."""
    if coarse is None or coarse.denoised is None or weight == 0:
        return channels
    change = coarse.levels * coarse.denoised - halve(channels)
    change *= channels.dtype.type(weight)
    return channels + double(change, channels.shape[1:])


def _progress_units(name, shape, channels, white):
    settings = effort(name, len(shape), channels)
    luminance = 2 + sum(1 + len(left) for left in settings.left)
    luminance += 2 * (settings.second_look is not None and white)
    half = math.prod(half_shape(shape)[:-1]) / math.prod(shape[:-1])
    is_image = len(shape) == 2
    if white and is_image:
        half = 0
    at_full_size = luminance
    if settings.light and not white:  # a search, the first estimate and one pass
        at_full_size = 3
    units = at_full_size + luminance * half
    if channels > 1:
        passes = 1 + len(COLOR_LEFT)
        units += passes + (1 + passes) * half * (1 + half)
        units += is_image and not white
    units *= PASS_ROWS
    if is_image and (settings.polished or not white):
        units += graph_smoothing.SWEEPS
    return units


def _bytes_per_pixel(channels, itemsize):
    """Return the bytes held per pixel; the size of the image's own numbers hardly matters."""
    return 80 + 45 * channels


def _reach(name, shape, channels, spacing=None):
    """Return the `Reach`; with colors, that of the luminance comes before theirs."""
    settings = effort(name, len(shape), channels)

    def of_searches(shape):
        groupings = settings.first, *settings.searches
        pairs = list(zip(groupings, (1, *map(len, settings.left)), strict=True))
        reach = Reach.none(len(shape))
        if settings.second_look is not None:
            pairs.append((settings.second_look, 1))
            reach += Reach((_BOX // 2,) * 2, (1, 1))
        return sum((search_reach(shape, *pair, spacing) for pair in pairs), reach)

    def of_colors(shape):
        return search_reach(shape, settings.coarse_colors, 3, spacing)

    half = half_shape(shape)
    doubling = Reach((_DOUBLED,) * len(shape), (2,) * len(shape))
    whole = of_searches(shape) + doubling + of_searches(half).at_half_size()
    if len(shape) == 2:
        whole += graph_smoothing.reach()
    if channels > 1:
        coarse = of_colors(half) + doubling + of_colors(half_shape(half)).at_half_size()
        groupings = settings.searches[-1], settings.coarse_colors
        widest = max(groupings, key=lambda grouping: 2 * grouping.radius + grouping.patch)
        last = search_reach(shape, widest, 1 + len(COLOR_LEFT), spacing)
        whole += last + doubling + coarse.at_half_size()
    return whole
