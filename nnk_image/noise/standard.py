"""Noise after standardization: of variance 1, but possibly correlated and uneven.

The patch filters need the covariance of the pixels of a patch, and what noise adds to the distance
between patches.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import correlate1d, uniform_filter

from nnk_image.base.geometry import BLOCK_BYTES
from nnk_image.base.image import opponent_matrix
from nnk_image.base.pyramid import halve
from nnk_image.noise.checks import cut, root_mean_square
from nnk_image.noise.model import NoiseModel

_LEAST_EIGENVALUE = 0.02
"""Eigenvalues below 2 % of the mean are raised to it before whitening."""

_LEAST_RATIO = 1e-6
"""Least noise of a channel, relative to that of the noisiest, that opponent channels allow for."""


@dataclass(frozen=True)
class StandardNoise:
    """The noise of an image that has been brought to variance 1.

    Attributes
    ----------
    correlations : None or (C, 2 a + 1, 2 b + 1) ndarray
        Correlation of the noise at two pixels by their offset, from (-a, -b) to (a, b), of each
        opponent channel; 1 in the middle, 0 beyond.  More axes for volumes.  None if noise is
        white.
    variances : None or ndarray of the image's shape
        Variance of the noise of each pixel, 1 on average.  None if it is the same everywhere.
    opponent : None or (C, C) ndarray
        Matrix from the channels to opponent channels with unit noise.  None if the noise of the
        channels is independent and equally strong.
    """

    correlations: np.ndarray | None = None
    variances: np.ndarray | None = None
    opponent: np.ndarray | None = None

    @classmethod
    def of(cls, noise: NoiseModel, channels, axes):
        """Return the noise of an image standardized by `noise`.

        Parameters
        ----------
        noise : NoiseModel
            With one value per channel, and `levels` instead of a curve.
        channels : (n,) ndarray of int
            The channels that were standardized, and then become opponent channels.
        axes : int
            Spatial axes of the image.
        """
        variances = None
        if noise.is_uneven:
            variances = (noise.levels / root_mean_square(noise.levels)) ** 2
        number, correlation = len(channels), noise.correlation
        sigmas, among = np.ones(number), np.eye(number)
        if not any(noise.gain):
            sigmas = np.array(noise.sigma)[channels]
            sigmas = np.maximum(sigmas / sigmas.max(), _LEAST_RATIO)
        if noise.is_joint:
            correlation = correlation[np.ix_(channels, channels)].astype(np.float64)
            among = correlation[:, :, correlation.shape[2] // 2, correlation.shape[3] // 2]
            among += _LEAST_RATIO * np.eye(number)  # or colors may have no noise at all
        matrix = _to_unit_noise(sigmas, among)
        opponent = None if np.array_equal(sigmas[:, None] * among, np.eye(number)) else matrix
        if correlation is None:
            return cls(None, variances, opponent)
        own = [correlation] * number
        if noise.is_joint:
            own = np.einsum("kc,kd,cdyx->kyx", matrix, matrix, correlation)
        correlations = np.stack([regularized(c / _middle(c)) for c in own])
        return cls(_in_all_axes(correlations, axes), variances, opponent)

    @property
    def is_white(self):
        """Whether the noise of different pixels is independent."""
        return self.correlations is None

    def of_channels(self, channels):
        """Return the noise of a slice of the opponent channels."""
        correlations = None if self.correlations is None else self.correlations[channels]
        return StandardNoise(correlations, self.variances)

    def bias(self, patch, radius, dtype):
        """Return what noise adds to squared distances of patches of the first channel.

        Parameters
        ----------
        patch, radius : tuple of int
            Sides of a patch, reach of the search.
        dtype : numpy.dtype

        Returns
        -------
        1-D ndarray or None
            By offset, 2 radius + 1 along each axis. None if it is the same for all.
        """
        if self.correlations is None and self.variances is None:
            return None
        correlation = np.zeros([2 * r + 1 for r in radius])
        correlation[tuple(radius)] = 1
        if self.correlations is not None:
            correlation = cut(self.correlations[0], radius)
        return (2 * math.prod(patch) * (1 - correlation)).astype(dtype).reshape(-1)

    def patch_variances(self, patch, dtype):
        """Return the mean variance in the patch that begins at each pixel; None if all are 1."""
        if self.variances is None:
            return None
        origin = [-(side // 2) for side in patch]
        means = uniform_filter(self.variances.astype(np.float64), patch, origin=origin)
        return np.ascontiguousarray(means, dtype)

    def covariance(self, patch, dtype):
        """Return the covariance of the n pixels of a patch, the mean of the channels'.

        Returns
        -------
        (n, row) ndarray or None
            Rows are padded with zeros to whole SIMD blocks. None if noise is white.
        """
        if self.correlations is None:
            return None
        mean = np.mean([patch_covariance(c, patch) for c in self.correlations], axis=0)
        return _padded(mean, dtype)

    def halved(self, shape):
        """Return the noise of an image of this shape after `pyramid.halve` and division by levels.

        Returns
        -------
        noise : StandardNoise
        levels : (C,) ndarray
            Standard deviations of the channels before the division; of one element if noise is
            white, which stays as strong.
        """
        correlations, levels = None, np.ones(1)
        if self.correlations is not None:
            halves = [_halved(c) for c in self.correlations]
            variances = np.array([_middle(half) for half in halves])
            levels = np.sqrt(variances)
            correlations = np.stack([h / v for h, v in zip(halves, variances, strict=True)])
        variances = None
        if self.variances is not None:
            variances = halve(self.variances[None])[0] / 2 ** (len(shape) / 2)
        return StandardNoise(correlations, variances), levels


WHITE = StandardNoise()
"""White noise, the same everywhere."""


def _to_unit_noise(sigmas, among):
    """Return the matrix from channels with unit noise, correlated `among` them, to opponent ones.

    `sigmas` are the standard deviations of the channels' noise in a common unit.
    """
    covariance = sigmas[:, None] * among * sigmas
    matrix = opponent_matrix(covariance)
    variances = np.einsum("kc,kd,cd->k", matrix, matrix, covariance)
    return matrix * sigmas / np.sqrt(variances)[:, None]


def _in_all_axes(correlations, axes):
    """Return correlations (C, ...) by offset along all axes; slices not covered are independent."""
    missing = axes + 1 - correlations.ndim
    return correlations.reshape(len(correlations), *(1,) * missing, *correlations.shape[1:])


def regularized(correlation):
    """Return the nearest possible correlation by offset, with power at every frequency."""
    shape, axes = correlation.shape, tuple(range(correlation.ndim))
    around = np.zeros([2 * n for n in shape])
    around[tuple(slice(n) for n in shape)] = correlation
    power = np.fft.fftn(np.roll(around, [-(n // 2) for n in shape], axes)).real
    power = np.maximum(power, _LEAST_EIGENVALUE * power.mean())
    result = np.roll(np.fft.ifftn(power).real, [n // 2 for n in shape], axes)
    result = result[tuple(slice(n) for n in shape)]
    return result / _middle(result)


def patch_covariance(correlation, patch):
    """(n, n) covariance of the n pixels of a patch of these sides, in units of their variance."""
    table = cut(correlation, [side - 1 for side in patch])
    return table[_differences(patch)]


def _differences(patch):
    """Where, in an array by offset, the offsets between all pixels of a patch are."""
    places = np.indices(patch).reshape(len(patch), -1)
    offsets = zip(places, patch, strict=True)
    return tuple(place[:, None] - place + side - 1 for place, side in offsets)


def _middle(correlation):
    return correlation[tuple(n // 2 for n in correlation.shape)]


def _padded(matrix, dtype):
    """Rows padded with zeros to whole SIMD blocks."""
    lanes = BLOCK_BYTES // np.dtype(dtype).itemsize
    padded = np.zeros((len(matrix), -(-len(matrix) // lanes) * lanes), dtype)
    padded[:, : len(matrix)] = matrix
    return padded


def _halved(correlation):
    """Return the covariance by offset after `halve`, from the correlation before it."""
    for axis, n in enumerate(correlation.shape):
        wide = [(2, 2) if a == axis else (0, 0) for a in range(correlation.ndim)]
        sums = correlate1d(np.pad(correlation, wide), [0.5, 1, 0.5], axis, mode="constant")
        middle = n // 2 + 2
        correlation = sums[(slice(None),) * axis + (slice(middle % 2, None, 2),)]
    return correlation
