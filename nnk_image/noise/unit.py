"""Noise of an image in units of the noise: of variance 1, but possibly correlated and uneven."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter

from nnk_image.base.channels import opponent_matrix
from nnk_image.base.geometry import BLOCK_BYTES
from nnk_image.base.pyramid import halve
from nnk_image.noise.autocovariance import cut, halved, middle, patch_covariance, regularized
from nnk_image.noise.checks import root_mean_square
from nnk_image.noise.model import NoiseModel

_LEAST_RATIO = 1e-6  # least noise level of a channel, over the noisiest, for opponent channels


@dataclass(frozen=True)
class UnitNoise:
    """The noise of an image that has been brought to variance 1."""

    correlations: np.ndarray | None = None
    """Correlation of two pixels by offset, (C, 2 a + 1, 2 b + 1), of each opponent channel; more
    axes for volumes; None if noise is white."""
    variances: np.ndarray | None = None
    """Variance of the noise of each pixel, 1 on average; None if it is the same everywhere."""
    opponent: np.ndarray | None = None
    """(C, C) matrix from the channels to opponent channels with unit noise; None if the noise of
    the channels is independent and equally strong."""

    @classmethod
    def of(cls, noise: NoiseModel, channels, axes: int):
        """Return the noise of an image with `axes` spatial axes, in units of `noise`.

        `noise` has one value per channel, and `levels` instead of a curve. `channels` are the
        numbers of the channels that are denoised together, and become opponent channels.
        """
        variances = None
        if noise.is_uneven:
            variances = ((noise.levels / root_mean_square(noise.levels)) ** 2).astype(np.float32)
        number, correlation = len(channels), noise.correlation
        sigmas, among = np.ones(number), np.eye(number)
        if not any(noise.gain):
            sigmas = np.array(noise.sigma)[channels]
            sigmas = np.maximum(sigmas / sigmas.max(), _LEAST_RATIO)
        if noise.is_joint:
            correlation = correlation[np.ix_(channels, channels)].astype(np.float64)
            among = correlation[:, :, correlation.shape[2] // 2, correlation.shape[3] // 2]
            # No color is without noise. `among` is a view, so that `correlation` changes too.
            among += _LEAST_RATIO * np.eye(number)
        matrix = _to_unit_noise(sigmas, among)
        opponent = None if np.array_equal(sigmas[:, None] * among, np.eye(number)) else matrix
        if correlation is None:
            return cls(None, variances, opponent)
        covariances = [correlation] * number
        if noise.is_joint:
            covariances = np.einsum("kc,kd,cdyx->kyx", matrix, matrix, correlation)
        correlations = np.stack([regularized(c / middle(c)) for c in covariances])
        others = (1,) * (axes + 1 - correlations.ndim)  # independent along further axes
        correlations = correlations.reshape(number, *others, *correlations.shape[1:])
        return cls(correlations, variances, opponent)

    @property
    def is_white(self):
        """Whether the noise of different pixels is independent."""
        return self.correlations is None

    def of_channels(self, channels):
        """Return the noise of a slice of the opponent channels."""
        correlations = None if self.correlations is None else self.correlations[channels]
        return UnitNoise(correlations, self.variances)

    def bias(self, patch, radius, dtype):
        """Return what noise adds to squared distances of patches of the first channel.

        That is a 1-D array by offset between the patches, from -radius to radius along each axis;
        None if it is the same for all.
        """
        if self.correlations is None and self.variances is None:
            return None
        white = np.ones((1,) * len(radius))
        correlation = cut(white if self.correlations is None else self.correlations[0], radius)
        return (2 * math.prod(patch) * (1 - correlation)).astype(dtype).ravel()

    def patch_variances(self, patch, dtype):
        """Return the mean variance in the patch that begins at each pixel; None if all are 1."""
        if self.variances is None:
            return None
        origin = [-(side // 2) for side in patch]
        means = uniform_filter(self.variances.astype(np.float64), patch, origin=origin)
        return np.ascontiguousarray(means, dtype)

    def covariance(self, patch, dtype):
        """Return the (n, n + padding) covariance of the n pixels of a patch; None if white."""
        if self.correlations is None:
            return None
        mean = np.mean([patch_covariance(c, patch) for c in self.correlations], axis=0)
        lanes = BLOCK_BYTES // np.dtype(dtype).itemsize  # rows are whole SIMD blocks
        return np.pad(mean, ((0, 0), (0, -len(mean) % lanes))).astype(dtype)

    def halved(self, shape):
        """Return the noise of an image of this shape after `halve` and division by levels.

        The levels are returned as well: (C,) standard deviations of the halved channels, or (1,) if
        noise is white, which stays as strong.
        """
        variances = self.variances
        if variances is not None:
            variances = halve(variances[None])[0] / 2 ** (len(shape) / 2)
        if self.correlations is None:
            return UnitNoise(variances=variances), np.ones(1)
        covariances = [halved(c) for c in self.correlations]
        correlations = np.stack([c / middle(c) for c in covariances])
        return UnitNoise(correlations, variances), np.sqrt([middle(c) for c in covariances])


WHITE = UnitNoise()  # the same everywhere


def _to_unit_noise(sigmas, among):
    """Return the matrix from channels to opponent channels, both with unit noise.

    `sigmas` holds the (C,) standard deviations of the channels' noise before it got variance 1,
    and `among` the (C, C) correlation between channels.
    """
    covariance = sigmas[:, None] * among * sigmas
    matrix = opponent_matrix(covariance)
    variances = np.einsum("kc,kd,cd->k", matrix, matrix, covariance)
    return matrix * sigmas / np.sqrt(variances)[:, None]
