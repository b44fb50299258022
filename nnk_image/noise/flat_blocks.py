"""Level and correlation of the noise from the flattest blocks of an image.

A block of the image that is flat but for noise shows the noise alone.  Blocks are sorted by
brightness into bins, for noise changes with it; the blocks of least variance in each bin are
taken as flat.  Texture left in them raises variance and correlation, so lower values are used.

With the correlation known, patches of the luminance can be whitened.  Noise is then the same in
all directions of patch space, while texture lies in few of them: the median of the variances along
the main directions is the level.  The energies of a bin's quietest patches end at a sharp edge.

References
----------
M. Lebrun, M. Colom, J.-M. Morel, "Multiscale image blind denoising", IEEE Transactions on Image
Processing 24 (2015), estimate noise from the flattest blocks as well, frequency by frequency.
"""

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.fft import fft2, ifft2, irfft2, rfft2

from nnk_image.noise.standard import patch_covariance, regularized

BINS = 6
FLAT = 0.1
"""Share of the blocks of a bin that is taken for flat."""

SMALL, MEDIUM, LARGE = 12, 20, 32
"""Sides of the blocks.  Small ones are flat in more places, but lack what is wider than that."""

_ALIKE = 0.8
"""Ratio of the levels of any two bins from which blocks hold noise alone, and no texture."""

_FEWEST = 8  # flat blocks of a bin
_MOST_BLOCKS = 6000
_MOST_CLIPPED = 0.02  # share of a block's pixels at the ends of the range
_MOST_BAD = 0.5  # of a block's pixels, however few blocks are left
_FEWEST_WHOLE = 0.25  # share of the blocks that are used, if need be with more pixels clipped

_LOW_QUANTILE = 0.1
"""Of the bins' correlations: texture only adds to them."""

_LEAST = 0.08  # correlation of neighbors, or certainty, that is more than chance
_PATCH = 7  # side of the patches that are whitened
_MOST_PATCHES = 60_000
_FEWEST_PATCHES = 200
_LEAST_POWER = 0.25  # directions of patch space with less of the noise are not looked at
_TEXTURED = 2.33  # standard deviations of the energy of white noise that a flat patch is below
_MOST_DEVIATION = 0.4  # of that energy, or its low quantiles would be negative

QUIET = 3
"""Number of bins with the lowest levels, which are most reliable."""

_EDGE = 0.02, 0.2
"""Quantiles of the patches' energy; the ratio of their square roots tells how sharp its edge is."""

_SHARP = 0.755
"""Sharpness, in units of that of noise, from which noise is seen beneath the texture."""

_MOST_SPREAD = 0.3
"""Spread above which a few bins hold noise and the others texture."""

_GAUSSIAN, _FILTERED = 3.7, 5.0  # limits of the kurtosis
_STRONGEST_FILTERED = 0.12  # level of noise that is not Gaussian; half the range of values is 1

_MARGIN, _MOST_MARGIN = 1.4, 2.1
"""Factor of the levels of color images, and their largest ratio to those of quiet bins."""

_WOVEN_MARGIN = 0.8  # of pictures that are all texture
_UNLIKE_TO_ALIKE = 0.6, 0.8
"""Levels of the quietest bins over those of all, with texture and with noise in the others."""

_NOT_DETAIL = 4.0  # kurtosis of the differences of neighbors up to which they may well be noise

_PLAIN, _WOVEN = 0.57, 0.67
"""Correlations of neighbors in color images: mostly noise below, mostly texture above."""

_CHANGE = 1.2  # ratio of factors that makes a curve

_SYNTHETIC = 256  # pixels, the side of an image of noise


@dataclass(frozen=True)
class FlatNoise:
    """Noise of C opponent channels, measured in flat blocks.

    Attributes
    ----------
    levels : (C,) ndarray
        Standard deviations: geometric means over the bins.
    quiet : (C,) ndarray
        The same of the quietest bins alone.
    correlations : (C, LARGE + 1, LARGE + 1) ndarray
        By offset, from (-LARGE / 2, -LARGE / 2) on; 1 in the middle.
    spread : float
        Relative standard error of the levels, from the differences between bins.
    neighbors : (BINS,) ndarray
        Mean correlation of the luminance of pixels side by side and above each other, in each bin.
    kurtosis : float
        Of the differences of neighbors, in the median bin: 3 for Gaussian noise, more for texture.
    sharpness : float
        Of the lower edge of the energies in the quietest bins: 1 for noise, less for texture.
    by_brightness : (2, BINS) ndarray
        Mean luminance of each bin, and the standard deviation there.
    side : int
        Of the blocks that the correlation of the luminance comes from.
    """

    levels: np.ndarray
    quiet: np.ndarray
    correlations: np.ndarray
    spread: float
    neighbors: np.ndarray
    kurtosis: float
    sharpness: float
    by_brightness: np.ndarray
    side: int

    def is_correlated_noise(self, white):
        """Whether the flat blocks show correlated noise, not white noise, nor texture.

        `white` is the white-noise estimate of the luminance, which is too low for correlated noise:
        a half where neighbors correlate by 0.2, a third by 0.4, a tenth by 0.6 (measured). Noise is
        in every patch, equal in all bins and nearly Gaussian; fine texture is not.
        """
        least, differ = self.neighbors.min(), self.neighbors.std()
        share = white / max(self.quiet[0], np.finfo(float).tiny)
        if least < _LEAST or share > max(0.82 - 0.8 * least, 0.35):
            return False
        if self.sharpness < _SHARP or differ > 0.15 or self.spread > _MOST_SPREAD:
            return False
        weak = self.quiet[0] < _STRONGEST_FILTERED and least > 0.25
        return bool(self.kurtosis < (_FILTERED if weak else _GAUSSIAN - share))

    def corrected(self):
        """Return the noise corrected for the bias of its measurement, by a parametric bootstrap.

        Blocks with little noise by chance count as flat, and blocks without their mean lack what is
        wider than a block. Synthetic noise of the measured kind shows how much that changes.
        """
        noise = _synthetic(self.correlations) * self.levels[:, None, None]
        again = measure(noise, np.ones(noise.shape[1:], bool), self.side)
        correlations = 2 * self.correlations - again.correlations
        return replace(
            self,
            levels=self.levels**2 / again.levels,
            quiet=self.levels * self.quiet / again.quiet,
            correlations=np.stack([regularized(c) for c in correlations]),
        )

    def denoising_levels(self):
        """Return the (C,) standard deviations to denoise with.

        In grayscale images they lie between the levels of all bins and of the quietest. In color a
        margin is added, because cameras filter unevenly; where texture may have raised the levels,
        those of the quietest bins are used, minus a margin.
        """
        if len(self.levels) == 1:
            return np.sqrt(self.levels * self.quiet)
        generous = _MARGIN * self.levels
        generous[0] = min(generous[0], _MOST_MARGIN * self.quiet[0])
        plain = _rising(self.neighbors.min(), _WOVEN, _PLAIN)
        # Two signs of noise: a sharp edge of the energies, and the same level at all brightnesses.
        sharp = _rising(self.sharpness, _SHARP, 1.0)
        alike = _rising(self.quiet[0] / self.levels[0], *_UNLIKE_TO_ALIKE)
        either = 1 - (1 - sharp) * (1 - alike)
        both = max(np.sqrt(sharp * alike), _LEAST)
        trust = plain * either * _rising(self.kurtosis, _FILTERED, _NOT_DETAIL)
        careful = _WOVEN_MARGIN * both ** (1 - plain) * self.quiet
        levels = careful ** (1 - trust) * generous**trust
        levels[1:] = np.minimum(levels[1:], (1 + trust) * levels[0])
        return levels

    def curve(self):
        """(2, BINS) brightness and factors of the levels there; None if they are much the same.

        The factors are the roots of those that were measured, for texture is in them too.
        """
        brightness, levels = self.by_brightness
        factors = np.sqrt(np.maximum(levels, np.finfo(float).tiny))
        factors /= np.exp(np.mean(np.log(factors)))
        changes = factors.max() > _CHANGE * factors.min() and np.all(np.diff(brightness) > 0)
        return np.array([brightness, factors]) if changes else None


def measure_if_noise(channels, usable, white):
    """Return the `FlatNoise` of opponent channels if small blocks show correlated noise, else None.

    `channels` and `usable` are those of `measure`.  `white` is called with the luminance for the
    level that the estimate for white noise reads.
    """
    if not seem_correlated(channels, usable):
        return None
    first = measure(channels, usable, SMALL)
    if first is None or not first.is_correlated_noise(white(channels[0])):
        return None
    return measure(channels, usable)


def _rising(value, start, end):
    """0 up to `start`, 1 from `end` on (which may be the lower one), straight between."""
    return float(np.clip((value - start) / (end - start), 0, 1))


def seem_correlated(channels, usable):
    """Whether neighbors correlate in the flat blocks of every bin; a first quick look.

    Parameters and blocks are those of `measure`.
    """
    if min(channels.shape[1:]) < 2 * LARGE:
        return False
    bins = _flat(channels, usable, SMALL)
    if bins is None:
        return False
    return min(_neighbor_correlation(_autocovariance(b[:, 0], 1)) for b in bins) > _LEAST


def measure(channels, usable, side=None):
    """Noise of opponent channels.

    Parameters
    ----------
    channels : (C, H, W) ndarray
        Luminance first.
    usable : (H, W) bool ndarray
        False where pixels are absent, or at the ends of the range of values.
    side : {SMALL, MEDIUM, LARGE}, optional
        Of the blocks that the correlation of the luminance comes from; by default the largest that
        vary as much in all bins.

    Returns
    -------
    FlatNoise or None
        None if there are too few blocks.
    """
    if min(channels.shape[1:]) < 2 * LARGE:
        return None
    reach = LARGE // 2
    size = 2 * reach + 1
    blocks = {s: _flat(channels, usable, s) for s in (LARGE, MEDIUM, SMALL)}
    if any(b is None for b in blocks.values()):
        return None
    covariances = {s: _covariances(b) for s, b in blocks.items()}
    if side is None:
        side = next((s for s, bins in covariances.items() if _are_alike(bins)), SMALL)
    correlations = np.zeros((len(channels), size, size))
    middle = slice(reach - SMALL // 2, reach + SMALL // 2 + 1)
    correlations[0, middle, middle] = _luminance_correlation(covariances[side])
    brightness, luminance, edges = _whitened_levels(channels[0], correlations[0], usable)
    bins = [luminance]
    for c in range(1, len(channels)):
        chroma = [_autocovariance(b[:, c], reach) for b in blocks[LARGE]]
        correlations[c] = _without_tail(np.median(chroma, axis=0), reach * 3 // 4, reach)
        bins.append([np.sqrt(np.mean(b[:, c] ** 2)) for b in blocks[LARGE]])
    logarithms = np.log(np.maximum(bins, np.finfo(float).tiny))
    quietest = np.argsort(luminance, kind="stable")[:QUIET]
    return FlatNoise(
        np.exp(logarithms.mean(axis=1)),
        np.exp(np.sort(logarithms, axis=1)[:, :QUIET].mean(axis=1)),
        correlations,
        float(np.std(logarithms[0]) / np.sqrt(BINS)),
        np.array([_neighbor_correlation(covariance) for covariance in covariances[SMALL]]),
        float(np.median([_kurtosis(b[:, 0]) for b in blocks[SMALL]])),
        float(np.exp(np.mean(np.log(edges[quietest])))),
        np.array([brightness, luminance]),
        side,
    )


def _synthetic(correlations):
    """(C, H, W) noise of variance 1 with these correlations, always the same."""
    generator = np.random.default_rng(0)
    channels = []
    for correlation in correlations:
        around = np.zeros((_SYNTHETIC, _SYNTHETIC))
        around[: correlation.shape[0], : correlation.shape[1]] = regularized(correlation)
        around = np.roll(around, [-(n // 2) for n in correlation.shape], (0, 1))
        amplitude = np.sqrt(np.maximum(fft2(around).real, 0))
        white = generator.standard_normal(around.shape)
        channels.append(ifft2(fft2(white) * amplitude).real)
    return np.array(channels)


def _flat(channels, usable, side):
    """Return the flattest blocks of each bin, minus a plane: (n, C, side, side) ndarrays."""
    shape = tuple(n - side + 1 for n in usable.shape)
    step = max(side // 4, int(np.sqrt(shape[0] * shape[1] / _MOST_BLOCKS)))
    windows = sliding_window_view(channels, (side, side), axis=(1, 2))[:, ::step, ::step]
    blocks = np.moveaxis(windows, 0, 2).reshape(-1, len(channels), side, side)
    bad = sliding_window_view(~usable, (side, side))[::step, ::step].mean(axis=(2, 3))
    blocks = blocks[_nearly_whole(bad.reshape(-1))]
    if len(blocks) < BINS * _FEWEST:
        return None
    brightness = blocks[:, 0].mean(axis=(1, 2))
    blocks = _without_plane(blocks)
    variances = np.einsum("ncij,ncij->nc", blocks, blocks) / side**2
    typical = np.maximum(np.quantile(variances, FLAT, axis=0), np.finfo(float).tiny)
    texture = (variances / typical).sum(axis=1)
    bins = np.array_split(np.argsort(brightness, kind="stable"), BINS)
    n_flat = [max(_FEWEST, int(FLAT * len(b))) for b in bins]
    return [
        blocks[b[np.argsort(texture[b], kind="stable")[:n]]]
        for b, n in zip(bins, n_flat, strict=True)
    ]


def _nearly_whole(bad):
    """Select blocks with few clipped or masked pixels, given their shares of bad pixels.

    Dark pictures may have no whole block; noise cut off at black is noise still, if a little less.
    """
    return bad <= max(_MOST_CLIPPED, min(np.quantile(bad, _FEWEST_WHOLE), _MOST_BAD))


def _without_plane(blocks):
    """Blocks less their mean and slopes."""
    side = blocks.shape[-1]
    slope = np.arange(side) - (side - 1) / 2
    slope /= np.sqrt((slope**2).sum() * side)
    blocks = blocks - blocks.mean(axis=(2, 3), keepdims=True)
    down = np.einsum("ncij,i->nc", blocks, slope)[..., None, None] * slope[:, None]
    right = np.einsum("ncij,j->nc", blocks, slope)[..., None, None] * slope
    return blocks - down - right


def _autocovariance(blocks, reach):
    """Mean product of the pixels of (n, side, side) blocks by their offset, up to `reach`."""
    side = blocks.shape[-1]
    power = (np.abs(rfft2(blocks, (2 * side, 2 * side))) ** 2).mean(axis=0)
    sums = np.fft.fftshift(irfft2(power, (2 * side, 2 * side)))
    inside = slice(side - reach, side + reach + 1)
    pairs = side - np.abs(np.arange(-reach, reach + 1))
    return sums[inside, inside] / (pairs[:, None] * pairs)


def _neighbor_correlation(covariance):
    y, x = (n // 2 for n in covariance.shape)
    beside = (covariance[y + 1, x] + covariance[y, x + 1]) / 2
    return beside / max(covariance[y, x], np.finfo(float).tiny)


def _middle(covariance):
    return covariance[covariance.shape[0] // 2, covariance.shape[1] // 2]


def _variances(blocks):
    """Of each block; never 0."""
    return np.maximum(np.mean(blocks**2, axis=(1, 2)), np.finfo(float).tiny)


def _kurtosis(blocks):
    """Of the differences of pixels side by side, in units of their deviation in each block."""
    steps = np.diff(blocks, axis=-1)
    return np.mean((steps / np.sqrt(_variances(steps))[:, None, None]) ** 4)


def _covariances(blocks):
    """Of the luminance up to the reach of small blocks, by offset, in each bin."""
    return [_autocovariance(b[:, 0], SMALL // 2) for b in blocks]


def _are_alike(bins):
    """Whether blocks vary as much in all bins, for then they hold noise alone."""
    variances = [_middle(covariance) for covariance in bins]
    return min(variances) >= _ALIKE**2 * max(variances)


def _luminance_correlation(bins):
    correlations = [b / max(_middle(b), np.finfo(float).tiny) for b in bins]
    low = np.quantile(correlations, _LOW_QUANTILE, axis=0)
    reach = low.shape[0] // 2
    low[reach, reach] = 1
    return _without_tail(low, reach // 2, reach - 1)


def _without_tail(covariance, first, last):
    """Lift a correlation so that its mean is 0 at offsets from `first` to `last`.

    A block less its mean has lost what is common to all of its pixels, so that its covariances
    are too small by the same number.
    """
    reach = covariance.shape[0] // 2
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    offset = np.maximum(abs(y), abs(x))
    lost = min(0.0, covariance[(offset >= first) & (offset <= last)].mean())
    lifted = np.where(offset <= last, np.maximum(covariance - lost, 0), 0)
    return lifted / max(lifted[reach, reach], np.finfo(float).tiny)


def _whitened_levels(channel, correlation, usable):
    """Of the patches of each bin: brightness, level of the noise, and sharpness of its edge.

    Returns three (BINS,) ndarrays.
    """
    center = np.eye(_PATCH**2) - 1 / _PATCH**2
    covariance = center @ patch_covariance(regularized(correlation), (_PATCH, _PATCH)) @ center
    values, vectors = np.linalg.eigh(covariance)
    strong = values >= min(_LEAST_POWER, values[-1])  # one at the least
    patches = _some_patches(channel, usable)
    brightness = patches.mean(axis=1)
    parts = (patches - brightness[:, None]) @ (vectors[:, strong] / np.sqrt(values[strong]))
    bins = np.array_split(np.argsort(brightness, kind="stable"), BINS)
    # Of the energy of one patch of unit noise.
    deviation = min(np.sqrt(2 / strong.sum()), _MOST_DEVIATION)
    levels, edges = zip(*(_level_and_edge(parts[b], deviation) for b in bins), strict=True)
    return np.array([brightness[b].mean() for b in bins]), np.array(levels), np.array(edges)


def _level_and_edge(parts, deviation):
    """Level and sharpness of the edge of (n, d) whitened patches."""
    energy = np.maximum((parts**2).mean(axis=1), np.finfo(float).tiny)
    low, high = np.quantile(energy, _EDGE)
    at_noise = [1 + NormalDist().inv_cdf(q) * deviation for q in _EDGE]
    edge = np.sqrt(low / high * at_noise[1] / at_noise[0])
    variance = np.quantile(energy, FLAT)
    for _ in range(12):
        flat = parts[energy <= (1 + _TEXTURED * deviation) * variance]
        if len(flat) < _FEWEST_PATCHES:
            break
        middle = np.median(np.linalg.eigvalsh(flat.T @ flat / len(flat)))
        before, variance = variance, max(middle, np.finfo(float).tiny)  # rounding may leave -0
        if abs(variance - before) <= 1e-3 * before:
            break
    return np.sqrt(variance), edge


def _some_patches(channel, usable):
    """Return (n, _PATCH^2) patches, most of whose pixels are usable."""
    bad = sliding_window_view(~usable, (_PATCH, _PATCH)).mean(axis=(2, 3))
    positions = np.flatnonzero(_nearly_whole(bad))
    positions = positions[:: max(1, len(positions) // _MOST_PATCHES)]
    y, x = np.unravel_index(positions, bad.shape)
    return sliding_window_view(channel, (_PATCH, _PATCH))[y, x].reshape(-1, _PATCH**2)
