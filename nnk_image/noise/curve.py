"""Growth of the noise with the brightness, estimated from one image.

Photons are counted, so the noise of a sensor has variance ``gain * x + variance``: a part that
grows with the intensity x, and a constant. Both come from the mean and the variance of patches
without texture. Sorting patches by noisy means adds no bias: the variance of Poisson counts about
their mean is that mean, and Gaussian noise is independent of it.

References
----------
X. Liu, M. Tanaka, M. Okutomi, "Single-image noise level estimation for blind denoising", IEEE
Transactions on Image Processing 22 (2013): patches with little gradient, and directions of patch
space with little variance.

A. Foi, M. Trimeche, V. Katkovnik, K. Egiazarian, "Practical Poissonian-Gaussian noise modeling and
fitting for single-image raw-data", IEEE Transactions on Image Processing 17 (2008): a line through
the levels at all brightnesses.
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.fft import dct
from scipy.optimize import nnls

PATCH = 7

MEAN_ENERGY, ENERGY_SPREAD = 168.0, 46.0
"""Gradient energy of a patch of unit white noise: its mean, and the spread such that 99 % of the
patches stay below mean + `_QUANTILE` spreads."""

_QUANTILE = 2.326
_KURTOSIS_ENERGY = 580.0  # what an excess kurtosis of 1 adds to the squared spread
_QUIET = 8  # directions of patch space, of 48, that textures reach least
_STRIPS = 8  # of the image, to find those directions in and use them on by turns
_BINS = 12
_FEWEST = 200  # patches of a bin at the least
_MOST_PATCHES = 30_000
_ROUNDS = 2
_FLOOR = 0.05  # least variance, over the median of the bins, for choosing patches
_LEAST = 1e-12  # variance, over the square of the largest value: less is rounding
_CERTAIN = 0.02  # relative error of a bin that even the best fit is granted
_ABOVE = 2.0  # residuals above the line count double: texture can only increase the variance
_GAIN_SEEN, _VARIANCE_SEEN = 10.0, 30.0
"""Reduction of the squared errors, relative to theirs, from which a coefficient is needed."""

_DEPENDENT = 0.3  # growth of the variance, over its middle, that is worth a model
_CLEAR = 2.0  # standard deviations between the mean of a patch and a clipped value
_SPIKE = 4  # a clipped value is so much more frequent than the next one
_COUNTS = 64  # levels; images with fewer are counts of light, and zero is one of them


@dataclass(frozen=True)
class NoiseCurve:
    """Variance of white noise as a function of the intensity x: ``gain * x + variance``.

    Attributes
    ----------
    gain : float
        Growth of the variance with the intensity, in image units; 0 if noise is the same
        everywhere.
    variance : float
        At intensity zero, in squared image units; 0 if noise is that of counts alone.
    gain_error : float
        Standard error of the gain.
    intensities, variances : (n,) ndarray
        What was measured: mean intensity and variance of the patches of each bin.
    """

    gain: float
    variance: float
    gain_error: float
    intensities: np.ndarray
    variances: np.ndarray

    @property
    def signal_dependent(self):
        """Whether noise grows with the intensity, beyond what chance and textures explain."""
        return self.gain > 0

    def at(self, x):
        """Variance of the noise at intensity `x`."""
        return np.maximum(self.gain * np.asarray(x) + self.variance, 0)


def noise_curve(channel, valid=None):
    """Estimate how the noise of one channel depends on its brightness.

    Parameters
    ----------
    channel : (H, W) ndarray of float
        Noise is taken to be white.
    valid : (H, W) ndarray of bool, optional
        True for the pixels that take part.

    Returns
    -------
    NoiseCurve or None
        None if there are too few patches to tell: the noise may then still have one level, which
        `nnk_image.estimate_sigma` finds.

    Notes
    -----
    Patches whose mean is near a clipped value are left out, for clipping takes noise away.  Each
    coefficient must be needed: without gain the noise is constant, without variance it is that of
    counts.  Of 12 photographs with white noise none was taken to be signal dependent.
    """
    scale = float(np.abs(channel[valid] if valid is not None else channel).max(initial=0))
    if min(channel.shape) <= PATCH or scale == 0:
        return None
    patches = _Patches(channel / scale, valid)
    bins = patches.first_bins()
    if len(bins[0]) < 3:
        return None
    line = _fit(*bins)
    for _ in range(_ROUNDS):
        again = patches.bins(line, _FLOOR * np.median(bins[1]))
        if len(again[0]) < 3:
            break
        bins = again
        line = _fit(*bins)
    return _simplest(bins, line, scale)


class _Patches:
    """Patches of an image: their means, how they vary, and how much gradient they have."""

    def __init__(self, channel, valid):
        shape = tuple(n - PATCH + 1 for n in channel.shape)
        step = max(1, int(np.ceil(np.sqrt(shape[0] * shape[1] / _MOST_PATCHES))))
        chosen = np.zeros(shape, bool)
        chosen[::step, ::step] = True
        self.low, self.high = _clipped_values(channel.ravel() if valid is None else channel[valid])
        if valid is not None:
            chosen &= sliding_window_view(valid, (PATCH, PATCH)).all(axis=(2, 3))
        square = sliding_window_view(channel, (PATCH, PATCH))[chosen].astype(np.float64)
        rows, columns = np.diff(square, axis=1), np.diff(square, axis=2)
        self.energy = np.einsum("nij,nij->n", rows, rows)
        self.energy += np.einsum("nij,nij->n", columns, columns)
        flat = square.reshape(-1, PATCH**2)
        waves = dct(np.eye(PATCH), norm="ortho", axis=0)
        self.means = flat.mean(axis=1)
        self.parts = flat @ np.kron(waves, waves)[1:].T  # all but the mean

    def first_bins(self):
        """Noise in bins of brightness, each by the smallest eigenvalue of its patches."""
        clear = (self.means > self.low) & (self.means < self.high)
        if clear.sum() < 3 * _FEWEST:
            return (np.empty(0),) * 3
        kept = np.flatnonzero(clear)
        groups = np.array_split(kept[np.argsort(self.means[kept])], _bin_count(kept.size))
        levels = [_smallest_level(self.parts[g], self.energy[g]) for g in groups]
        means = [self.means[g].mean() for g in groups]
        return np.array(means), np.array(levels), np.array([g.size for g in groups])

    def bins(self, line, floor):
        """Noise in bins of brightness, measured where textures reach least.

        The patches that are flat if noise is as `line` says are brought to unit noise.  The
        directions in which all of them together vary least are then the same for all bins.
        """
        noise = np.maximum(line[0] * self.means + line[1], max(floor, _LEAST))
        kurtosis = line[0] ** 3 * np.maximum(self.means, 0) / noise**2
        spread = np.sqrt(ENERGY_SPREAD**2 + _KURTOSIS_ENERGY * kurtosis)
        room = _CLEAR * np.sqrt(noise)
        kept = self.energy <= noise * (MEAN_ENERGY + _QUANTILE * spread)
        kept &= (self.means - room >= self.low) & (self.means + room <= self.high)
        kept = np.flatnonzero(kept)
        if kept.size < 3 * _FEWEST:
            return (np.empty(0),) * 3
        power = _quiet_power(self.parts[kept], noise[kept])
        groups = np.array_split(np.argsort(self.means[kept]), _bin_count(kept.size))
        means = [self.means[kept[g]].mean() for g in groups]
        levels = [power[g].mean() for g in groups]
        return np.array(means), np.array(levels), np.array([g.size for g in groups])


def _quiet_power(parts, noise):
    """Mean square of each patch in the directions in which patches of unit noise vary least.

    The directions come from every other strip of the image, and are applied to the strips between:
    they would else be chosen for what chance took from the very same patches.
    """
    power = np.empty(len(parts))
    strip = np.arange(len(parts)) * _STRIPS // len(parts) % 2
    for here in (strip == 0, strip == 1):
        units = parts[~here] / np.sqrt(noise[~here])[:, None]
        quiet = np.linalg.eigh(units.T @ units)[1][:, :_QUIET]
        power[here] = ((parts[here] @ quiet) ** 2).mean(axis=1)
    return power


def _bin_count(patches):
    return int(np.clip(patches // _FEWEST, 3, _BINS))


def _smallest_level(parts, energy):
    """Variance of noise, from patches of much the same brightness, chosen again and again."""
    variance = _smallest_eigenvalue(parts)
    for _ in range(5):
        flat = energy <= (MEAN_ENERGY + _QUANTILE * ENERGY_SPREAD) * variance
        if flat.sum() < 3 * PATCH**2:
            break
        variance = _smallest_eigenvalue(parts[flat])
    return variance


def _smallest_eigenvalue(parts):
    """Of the covariance, corrected for the number of patches (Marchenko-Pastur edge)."""
    n, size = parts.shape
    smallest = max(np.linalg.eigvalsh(parts.T @ parts / n)[0], 0.0)
    return smallest / (1 - np.sqrt(size / n)) ** 2 if n > 4 * size else smallest


def _clipped_values(values):
    """Return the values at which an image was clipped, infinite where it was not."""
    levels, counts = np.unique(values[:: max(1, values.size // 2**18)], return_counts=True)
    if levels.size <= _COUNTS:
        return -np.inf, np.inf
    low = levels[0] if counts[0] > _SPIKE * counts[1] else -np.inf
    high = levels[-1] if counts[-1] > _SPIKE * counts[-2] else np.inf
    return low, high


def _fit(means, levels, counts, gain=True, variance=True):
    """Line through the levels, of no negative coefficient; outliers and empty bins weigh little.

    Most so if they lie above the line.
    """
    matrix = np.stack([means * gain, np.full(means.size, float(variance))], axis=1)
    share = np.sqrt(counts / counts.max())
    weights = share / np.maximum(levels, 1e-3 * levels.max() + 1e-300)
    for _ in range(20):
        line = nnls(matrix * weights[:, None], levels * weights)[0]
        fitted = np.maximum(matrix @ line, 1e-3 * levels.max() + 1e-300)
        errors = (levels - fitted) / fitted
        usual = max(1.48 * np.median(np.abs(errors)), _CERTAIN)
        errors[errors > 0] *= _ABOVE
        weights = share / (fitted * np.sqrt(1 + (errors / (2 * usual)) ** 2))
    return line


def _simplest(bins, line, scale):
    """Return the curve with the fewest coefficients that explains the bins."""
    means, levels, _ = bins
    middle = np.median(levels)
    grown = line[0] * (means[-1] - means[0])
    without_gain, without_variance = _fit(*bins, gain=False), _fit(*bins, variance=False)
    grows = grown > max(_DEPENDENT * middle, _LEAST)
    if not (grows and _needed(bins, line, without_gain, _GAIN_SEEN)):
        line = without_gain
    elif not _needed(bins, line, without_variance, _VARIANCE_SEEN):
        line = without_variance
    errors = _standard_errors(bins, line)
    return NoiseCurve(
        gain=float(line[0] * scale),
        variance=float(line[1] * scale**2),
        gain_error=float(errors[0] * scale),
        intensities=means * scale,
        variances=levels * scale**2,
    )


def _squared_errors(bins, line):
    """Return squared logarithms of the ratio of measured and fitted variance."""
    means, levels, _ = bins
    fitted = np.maximum(line[0] * means + line[1], 1e-3 * levels.max() + 1e-300)
    return (np.log(np.maximum(levels, 1e-6 * fitted) / fitted)) ** 2


def _needed(bins, line, simpler, seen):
    """Whether `simpler` explains the bins so much worse that it cannot be."""
    errors = _squared_errors(bins, line)
    usual = max(1.48**2 * np.median(errors), _CERTAIN**2)
    more = np.minimum(_squared_errors(bins, simpler), 100 * usual) - np.minimum(errors, 100 * usual)
    return more.sum() > seen * usual


def _standard_errors(bins, line):
    """Of both coefficients, from how far the bins lie off the line; 0 for one left out."""
    means, _, _ = bins
    fitted = np.maximum(line[0] * means + line[1], 1e-300)
    used = line > 0
    matrix = (np.stack([means, np.ones_like(means)], axis=1) / fitted[:, None])[:, used]
    usual = max(1.48**2 * np.median(_squared_errors(bins, line)), _CERTAIN**2)
    errors = np.zeros(2)
    errors[used] = np.sqrt(usual * np.diag(np.linalg.pinv(matrix.T @ matrix)))
    return errors
