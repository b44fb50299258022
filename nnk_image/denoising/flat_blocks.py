"""The noise of an image from its flattest blocks: level and correlation, whatever its spectrum.

A block of the image that is flat but for noise shows the noise alone.  Blocks are sorted by
brightness into bins, for noise changes with it; in each bin the blocks of least variance are
taken for flat.  What texture is left in them raises the variance and the correlation of some
bins, so that the lower values are to be believed.

With the correlation known, patches can be whitened.  What is then the same in all directions of
patch space is noise, while texture lies in few of them: the median of the variances along the main
directions is a second estimate of the level, which texture hardly raises.

References
----------
M. Lebrun, M. Colom, J.-M. Morel, "Multiscale image blind denoising", IEEE Transactions on Image
Processing 24 (2015), estimate noise from the flattest blocks as well, frequency by frequency.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.fft import fft2, ifft2, irfft2, rfft2

from nnk_image.denoising.standard_noise import patch_covariance, regularized

BINS = 6
FLAT = 0.1
"""Share of the blocks of a bin that is taken for flat."""

SMALL, MEDIUM, LARGE = 12, 16, 32
"""Sides of the blocks: for the correlation of luminance, for its level, and for chroma, whose noise
is smooth over more pixels."""

_FEWEST = 8  # flat blocks of a bin
_MOST_BLOCKS = 6000
_MOST_CLIPPED = 0.02  # share of a block's pixels at the ends of the range

_LOW_QUANTILE = 0.1
"""Of the bins' correlations: texture only adds to them."""

_LEAST = 0.08  # correlation of neighbours that is more than chance
_PATCH = 7  # side of the patches that are whitened
_MOST_PATCHES = 40_000
_FEWEST_PATCHES = 400
_LEAST_POWER = 0.25  # directions of patch space with less of the noise are not looked at
_TEXTURED = 2.33  # standard deviations of the energy of white noise that a flat patch is below

_LUMINANCE_MARGIN, _CHROMA_MARGIN = 1.2, 1.4
"""What levels of colour pictures are multiplied by."""

_SYNTHETIC = 256  # pixels, the side of an image of noise


@dataclass(frozen=True)
class FlatNoise:
    """What flat blocks tell of the noise of C opponent channels.

    Attributes
    ----------
    levels : (C,) ndarray
        Standard deviations in the flat blocks.
    quiet : float
        Standard deviation of the luminance in its quietest patches, whitened.
    correlations : (C, LARGE + 1, LARGE + 1) ndarray
        By offset, from (-LARGE / 2, -LARGE / 2) on; 1 in the middle.
    spread : float
        Relative standard error of the levels, from the differences between bins.
    neighbors : (BINS,) ndarray
        Mean correlation of the luminance of pixels side by side and above each other, in each bin.
    kurtosis : float
        Of the differences of neighbours, in the median bin: 3 for Gaussian noise, more for texture.
    unevenness : float
        Standard deviation of the logarithm of the flat blocks' variance, in the median bin.
    """

    levels: np.ndarray
    quiet: float
    correlations: np.ndarray
    spread: float
    neighbors: np.ndarray
    kurtosis: float
    unevenness: float

    def is_correlated_noise(self, white):
        """Whether the flat blocks show correlated noise, not white noise, nor texture.

        `white` is the level that the estimate for white noise reads off the luminance: that of
        white noise, even beneath texture that seems correlated; but less than the level of
        correlated noise, the less the stronger the correlation (measured: a half where neighbours
        correlate by 0.2, a third by 0.4, a tenth by 0.6).

        Noise is the same in all bins, and nearly Gaussian.  Fine texture is neither.  Where there
        is chroma to tell noise from texture, noise may be less Gaussian, as what cameras have
        filtered is.  The limits separate fifteen photographs of three cameras, and the classic test
        images with noise of three spectra, from those images without noise and with white noise.
        """
        least, differ = self.neighbors.min(), self.neighbors.std()
        share = white / max(self.quiet, np.finfo(float).tiny)
        if least < _LEAST or share > max(0.82 - 0.8 * least, 0.35):
            return False
        if self.kurtosis < 3.7 - share:
            return bool(differ < 0.15)
        filtered = len(self.levels) > 1 and self.kurtosis < 4.3 and self.unevenness < 0.45
        return bool(filtered and least > 0.3 and differ < 0.1)

    def corrected(self):
        """The same without what the way of measuring adds or takes away.

        Blocks that happen to have little noise are taken for flat, and a block without its mean
        lacks what is wider than a block.  How much that changes levels and correlations is seen in
        an image of nothing but noise of the measured kind (parametric bootstrap).
        """
        noise = _synthetic(self.correlations) * self.levels[:, None, None]
        again = measure(noise, np.ones(noise.shape[1:], bool))
        correlations = 2 * self.correlations - again.correlations
        return replace(
            self,
            levels=self.levels**2 / again.levels,
            quiet=self.levels[0] * self.quiet / again.quiet,
            correlations=np.stack([regularized(c) for c in correlations]),
        )

    def denoising_levels(self):
        """(C,) standard deviations to denoise with.

        In grey images that is the level of the quietest patches.  What a camera has filtered,
        strongly here and weakly there, is stronger than they say: in colour it is the level of the
        flat blocks, with a margin.  Noise that is too strong for its level somewhere stays in the
        image as a whole blotch, while one that is a little weaker costs next to nothing.
        """
        if len(self.levels) == 1:
            return np.array([self.quiet])
        return self.levels * [_LUMINANCE_MARGIN, *[_CHROMA_MARGIN] * (len(self.levels) - 1)]


def seem_correlated(channels, usable):
    """Whether neighbours correlate in the flat blocks of every bin; a first quick look.

    Parameters and blocks are those of `measure`.
    """
    if min(channels.shape[1:]) < 2 * LARGE:
        return False
    bins = _flat(channels, usable, SMALL)
    if bins is None:
        return False
    return min(_neighbor_correlation(_autocovariance(b[:, 0], 1)) for b in bins) > _LEAST


def measure(channels, usable):
    """Noise of opponent channels.

    Parameters
    ----------
    channels : (C, H, W) ndarray
        Luminance first.
    usable : (H, W) bool ndarray
        False where pixels are absent, or at the ends of the range of values.

    Returns
    -------
    FlatNoise or None
        None if there are too few blocks.
    """
    if min(channels.shape[1:]) < 2 * LARGE:
        return None
    reach = LARGE // 2
    size = 2 * reach + 1
    small, medium, large = (_flat(channels, usable, side) for side in (SMALL, MEDIUM, LARGE))
    if small is None or medium is None or large is None:
        return None
    covariances = [_autocovariance(b[:, 0], SMALL // 2) for b in small]
    correlations = np.zeros((len(channels), size, size))
    middle = slice(reach - SMALL // 2, reach + SMALL // 2 + 1)
    correlations[0, middle, middle] = _luminance_correlation(covariances)
    level, spread = _level(medium, 0)
    levels = [level]
    for c in range(1, len(channels)):
        bins = [_autocovariance(b[:, c], reach) for b in large]
        correlations[c] = _without_tail(np.median(bins, axis=0), reach * 3 // 4, reach)
        levels.append(_level(large, c)[0])
    return FlatNoise(
        np.array(levels),
        _quiet_level(channels[0], correlations[0], usable),
        correlations,
        spread,
        np.array([_neighbor_correlation(covariance) for covariance in covariances]),
        float(np.median([_kurtosis(b[:, 0]) for b in medium])),
        float(np.median([np.std(np.log(_variances(b[:, 0]))) for b in medium])),
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
    """The flattest blocks of each bin, a plane taken off: list of (n, C, side, side) ndarrays."""
    shape = tuple(n - side + 1 for n in usable.shape)
    step = max(side // 4, int(np.sqrt(shape[0] * shape[1] / _MOST_BLOCKS)))
    windows = sliding_window_view(channels, (side, side), axis=(1, 2))[:, ::step, ::step]
    blocks = np.moveaxis(windows, 0, 2).reshape(-1, len(channels), side, side)
    bad = sliding_window_view(~usable, (side, side))[::step, ::step].mean(axis=(2, 3))
    blocks = blocks[bad.reshape(-1) <= _MOST_CLIPPED]
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


def _variances(blocks):
    """Of each block; never 0."""
    return np.maximum(np.mean(blocks**2, axis=(1, 2)), np.finfo(float).tiny)


def _kurtosis(blocks):
    """Of the differences of pixels side by side, in units of their deviation in each block."""
    steps = np.diff(blocks, axis=-1)
    return np.mean((steps / np.sqrt(_variances(steps))[:, None, None]) ** 4)


def _luminance_correlation(bins):
    reach = bins[0].shape[0] // 2
    correlations = [b / max(b[reach, reach], np.finfo(float).tiny) for b in bins]
    low = np.quantile(correlations, _LOW_QUANTILE, axis=0)
    low[reach, reach] = 1
    return _without_tail(low, reach // 2, reach - 1)


def _without_tail(covariance, first, last):
    """A correlation, lifted so that it is 0 in the mean at offsets from `first` to `last`.

    A block less its mean has lost what is common to all of its pixels, so that its covariances
    are too small by the same number.
    """
    reach = covariance.shape[0] // 2
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    offset = np.maximum(abs(y), abs(x))
    lost = min(0.0, covariance[(offset >= first) & (offset <= last)].mean())
    lifted = np.where(offset <= last, np.maximum(covariance - lost, 0), 0)
    return lifted / max(lifted[reach, reach], np.finfo(float).tiny)


def _level(bins, channel):
    """Geometric mean over the bins, which single ones with texture hardly raise, and its error."""
    variances = [np.mean(b[:, channel] ** 2) for b in bins]
    logarithms = np.log(np.maximum(variances, np.finfo(float).tiny)) / 2
    return np.exp(np.mean(logarithms)), float(np.std(logarithms) / np.sqrt(len(bins)))


def _quiet_level(channel, correlation, usable):
    """Level of noise of this correlation in (H, W) pixels, from patches with little texture."""
    centre = np.eye(_PATCH**2) - 1 / _PATCH**2
    covariance = centre @ patch_covariance(regularized(correlation), _PATCH) @ centre
    values, vectors = np.linalg.eigh(covariance)
    strong = values > _LEAST_POWER
    parts = _whole_patches(channel, usable) @ (vectors[:, strong] / np.sqrt(values[strong]))
    energy = (parts**2).mean(axis=1)
    limit = 1 + _TEXTURED * np.sqrt(2 / strong.sum())
    variance = np.quantile(energy, FLAT)
    for _ in range(12):
        flat = parts[energy <= limit * variance]
        if len(flat) < _FEWEST_PATCHES:
            break
        before, variance = variance, np.median(np.linalg.eigvalsh(flat.T @ flat / len(flat)))
        if abs(variance - before) <= 1e-3 * before:
            break
    return np.sqrt(variance)


def _whole_patches(channel, usable):
    """Some (n, _PATCH^2) patches, nearly all of whose pixels are usable, less their mean."""
    bad = sliding_window_view(~usable, (_PATCH, _PATCH)).mean(axis=(2, 3))
    positions = np.flatnonzero(bad <= _MOST_CLIPPED)
    positions = positions[:: max(1, len(positions) // _MOST_PATCHES)]
    y, x = np.unravel_index(positions, bad.shape)
    patches = sliding_window_view(channel, (_PATCH, _PATCH))[y, x].reshape(-1, _PATCH**2)
    return patches - patches.mean(axis=1, keepdims=True)
