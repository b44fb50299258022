"""Noise after standardization: of variance 1, but possibly correlated and uneven.

The patch filters need the covariance of the pixels of a patch, the covariance between patches of a
group, and what noise adds to the distance between patches.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfftn, rfftn
from scipy.ndimage import uniform_filter

from nnk_image.base.geometry import BLOCK_BYTES
from nnk_image.base.image import opponent_matrix
from nnk_image.noise.checks import root_mean_square
from nnk_image.noise.model import NoiseModel, cut

_LEAST_EIGENVALUE = 0.02
"""Eigenvalues below 2 % of the mean are raised to it before whitening."""

_LEAST_QUARTER = 16  # of the frequencies in which a spectrum is sampled


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
    levels : None or (C,) ndarray
        Standard deviation of the noise of each opponent channel: they are to be divided by it.
        None if all are 1.
    """

    correlations: np.ndarray | None = None
    variances: np.ndarray | None = None
    levels: np.ndarray | None = None

    @classmethod
    def of(cls, noise: NoiseModel, channels, axes):
        """Return the noise of an image standardized by `noise`.

        Parameters
        ----------
        noise : NoiseModel
            With one value per channel, and `levels` instead of a curve.
        channels : (n,) ndarray of int
            The channels that were standardized, and are then rotated to opponent colors.
        axes : int
            Spatial axes of the image.
        """
        variances = None
        if noise.is_uneven:
            variances = (noise.levels / root_mean_square(noise.levels)) ** 2
        if noise.correlation is None:
            return cls(variances=variances)
        if noise.correlation.ndim < 4:
            same = np.stack([regularized(noise.correlation)] * len(channels))
            return cls(_in_all_axes(same, axes), variances)
        sigmas = np.ones(len(channels))
        if not any(noise.gain):
            sigmas = np.array(noise.sigma)[channels]
            sigmas = sigmas / np.sqrt(np.mean(sigmas**2))
        mixed = opponent_matrix(len(channels)) * sigmas
        among = noise.correlation[np.ix_(channels, channels)]
        own = np.einsum("kc,kd,cdyx->kyx", mixed, mixed, among)
        middle = own[:, own.shape[1] // 2, own.shape[2] // 2]
        correlations = np.stack([regularized(c / m) for c, m in zip(own, middle, strict=True)])
        return cls(_in_all_axes(correlations, axes), variances, np.sqrt(middle))

    @property
    def is_white(self):
        """Whether the noise of different pixels is independent."""
        return self.correlations is None

    def distances(self, number, patch, radius, dtype):
        """Return what noise adds to squared distances of patches, for `_core.Patches.set_noise`.

        Parameters
        ----------
        number : int
            Of the channel.
        patch, radius : tuple of int
            Sides of a patch, reach of the search.
        dtype : numpy.dtype

        Returns
        -------
        bias : 1-D ndarray or None
            By offset, 2 radius + 1 along each axis.
        variances : ndarray of the image's shape, or None
        """
        if self.correlations is None and self.variances is None:
            return None, None
        correlation = np.zeros([2 * r + 1 for r in radius])
        correlation[tuple(radius)] = 1
        if self.correlations is not None:
            correlation = cut(self.correlations[number], radius)
        bias = (2 * math.prod(patch) * (1 - correlation)).astype(dtype).reshape(-1)
        return bias, self._patch_variances(patch, dtype)

    def tables(self, number, patch, radius, dtype):
        """Whitening and shared noise of the patches of one channel; None if white."""
        if self.correlations is None:
            return None
        covariance = patch_covariance(self.correlations[number], patch)
        values, vectors = np.linalg.eigh(covariance)
        values = np.maximum(values, _LEAST_EIGENVALUE)
        inverse = (vectors / values) @ vectors.T
        return (
            _padded((vectors / np.sqrt(values)) @ vectors.T, dtype),
            shared_noise(self.correlations[number], inverse, patch, radius).astype(dtype),
        )

    def halved(self, shape):
        """Return the noise of the lower half of the frequencies, as an image of `shape`.

        Its `levels` are those of channels that have been divided by the levels of this.
        """
        correlations, levels = None, None
        if self.correlations is not None:
            halves = [_lower_half(c) for c in self.correlations]
            middle = np.array([_middle(half) for half in halves])
            correlations = np.stack([half / m for half, m in zip(halves, middle, strict=True)])
            levels = np.sqrt(middle)
        variances = None
        if self.variances is not None:
            whole = self.variances[tuple(slice(2 * n) for n in shape)]
            blocks = whole.reshape([side for n in shape for side in (n, 2)])
            inner = tuple(range(1, 2 * len(shape), 2))
            variances = np.ascontiguousarray(blocks.mean(axis=inner))
        return StandardNoise(correlations, variances, levels)

    def _patch_variances(self, patch, dtype):
        if self.variances is None:
            return None
        origin = [-(side // 2) for side in patch]
        means = uniform_filter(self.variances.astype(np.float64), patch, origin=origin)
        return np.ascontiguousarray(means, dtype)


WHITE = StandardNoise()
"""White noise, the same everywhere."""


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


def shared_noise(correlation, inverse, patch, radius):
    """``tr(V^-1 V_o)`` for all offsets o of two patches whose groups reach `radius`.

    V is the covariance of a patch, V_o that between two patches.  Summed by the offset of pixels,
    that is a correlation of the inverse, added up along its diagonals, with that of the noise.

    Returns
    -------
    ndarray
        4 radius + 1 along each axis.
    """
    sums = np.zeros([2 * side - 1 for side in patch])
    np.add.at(sums, tuple(place.T for place in _differences(patch)), inverse)
    reach = [2 * r + side - 1 for r, side in zip(radius, patch, strict=True)]
    shape = [2 * r + 1 for r in reach]
    spectrum = rfftn(cut(correlation, reach)) * np.conj(rfftn(sums, shape))
    table = irfftn(spectrum, shape)[tuple(slice(4 * r + 1) for r in radius)]
    return np.ascontiguousarray(table)


def _padded(matrix, dtype):
    """Rows padded with zeros to whole SIMD blocks."""
    lanes = BLOCK_BYTES // np.dtype(dtype).itemsize
    padded = np.zeros((len(matrix), -(-len(matrix) // lanes) * lanes), dtype)
    padded[:, : len(matrix)] = matrix
    return padded


def _lower_half(correlation):
    """Covariance, by offset, of noise cut to half of its frequencies and sampled as coarsely."""
    shape = [4 * max(_LEAST_QUARTER, -(-n // 2)) for n in correlation.shape]
    inside = (slice(1, None),) * len(shape)
    around = np.zeros(shape)
    around[inside] = cut(correlation, [n // 2 - 1 for n in shape])
    power = np.maximum(np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(around)).real), 0)
    low = power[tuple(slice(n // 4, -n // 4) for n in shape)]
    return np.fft.fftshift(np.fft.ifftn(np.fft.ifftshift(low)).real)[inside]
