"""Noise after standardisation: of variance 1, but it may be correlated and uneven.

The patch filters need of it the covariance of the pixels of a patch, the covariance between patches
of a group, and what it adds to the distance between patches.
"""

from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft2, rfft2
from scipy.ndimage import uniform_filter

from nnk_image.base.geometry import BLOCK_BYTES

_LEAST_EIGENVALUE = 0.02
"""Of the covariance of a patch, over its mean: so much is whitening limited to."""

_LEAST_QUARTER = 16  # of the frequencies in which a spectrum is sampled


@dataclass(frozen=True)
class StandardNoise:
    """The noise of an image that has been brought to variance 1.

    Attributes
    ----------
    correlations : None or (C, 2 a + 1, 2 b + 1) ndarray
        Correlation of the noise at two pixels by their offset, from (-a, -b) to (a, b), of each
        opponent channel; 1 in the middle, 0 beyond.  None if noise is white.
    variances : None or (H, W) ndarray
        Variance of the noise of each pixel, 1 on average.  None if it is the same everywhere.
    levels : None or (C,) ndarray
        Standard deviation of the noise of each opponent channel: they are to be divided by it.
        None if all are 1.
    """

    correlations: np.ndarray | None = None
    variances: np.ndarray | None = None
    levels: np.ndarray | None = None

    @property
    def is_white(self):
        """Whether the noise of different pixels is independent."""
        return self.correlations is None

    def distances(self, number, patch, radius, dtype):
        """What noise adds to squared distances of patches, as `_core.Patches.set_noise` wants it.

        Returns
        -------
        bias : ((2 radius + 1)^2,) ndarray or None
        variances : (H, W) ndarray or None
        """
        if self.correlations is None and self.variances is None:
            return None, None
        correlation = np.zeros((2 * radius + 1,) * 2)
        correlation[radius, radius] = 1
        if self.correlations is not None:
            correlation = cut(self.correlations[number], radius, radius)
        bias = (2 * patch**2 * (1 - correlation)).astype(dtype).reshape(-1)
        return bias, self._patch_variances(patch, dtype)

    def tables(self, number, patch, radius, dtype):
        """Covariance, whitening and shared noise of the patches of one channel; None if white."""
        if self.correlations is None:
            return None
        covariance = patch_covariance(self.correlations[number], patch)
        values, vectors = np.linalg.eigh(covariance)
        values = np.maximum(values, _LEAST_EIGENVALUE)
        inverse = (vectors / values) @ vectors.T
        return (
            _padded((vectors * values) @ vectors.T, dtype),
            _padded((vectors / np.sqrt(values)) @ vectors.T, dtype),
            shared_noise(self.correlations[number], inverse, patch, radius).astype(dtype),
        )

    def halved(self, shape):
        """The noise of the lower half of the frequencies, as an image of `shape`.

        Its `levels` are those of channels that have been divided by the levels of this.
        """
        correlations, levels = None, None
        if self.correlations is not None:
            halves = np.stack([_lower_half(c) for c in self.correlations])
            middle = halves[:, halves.shape[1] // 2, halves.shape[2] // 2]
            correlations, levels = halves / middle[:, None, None], np.sqrt(middle)
        variances = None
        if self.variances is not None:
            height, width = shape
            blocks = self.variances[: 2 * height, : 2 * width].reshape(height, 2, width, 2)
            variances = np.ascontiguousarray(blocks.mean(axis=(1, 3)))
        return StandardNoise(correlations, variances, levels)

    def _patch_variances(self, patch, dtype):
        if self.variances is None:
            return None
        means = uniform_filter(self.variances.astype(np.float64), patch, origin=-(patch // 2))
        return np.ascontiguousarray(means, dtype)


WHITE = StandardNoise()
"""White noise, the same everywhere."""


def regularized(correlation):
    """The nearest correlation by offset that noise can have: no frequency is without power."""
    height, width = (2 * n for n in correlation.shape)
    around = np.zeros((height, width))
    around[: height // 2, : width // 2] = correlation
    power = np.fft.fft2(np.roll(around, [-(n // 2) for n in correlation.shape], (0, 1))).real
    power = np.maximum(power, _LEAST_EIGENVALUE * power.mean())
    a, b = (n // 2 for n in correlation.shape)
    result = np.roll(np.fft.ifft2(power).real, (a, b), (0, 1))[: 2 * a + 1, : 2 * b + 1]
    return result / result[a, b]


def cut(correlation, a, b):
    """Offsets from (-a, -b) to (a, b) of a correlation, zeros where it has none."""
    result = np.zeros((2 * a + 1, 2 * b + 1))
    height, width = (n // 2 for n in correlation.shape)
    y, x = min(a, height), min(b, width)
    part = correlation[height - y : height + y + 1, width - x : width + x + 1]
    result[a - y : a + y + 1, b - x : b + x + 1] = part
    return result


def patch_covariance(correlation, patch):
    """(n, n) covariance of the n = patch^2 pixels of a patch, in units of their variance."""
    table = cut(correlation, patch - 1, patch - 1)
    y, x = np.divmod(np.arange(patch**2), patch)
    return table[y[:, None] - y + patch - 1, x[:, None] - x + patch - 1]


def shared_noise(correlation, inverse, patch, radius):
    """``tr(V^-1 V_o)`` for all offsets o of two patches whose groups reach `radius`.

    V is the covariance of a patch, V_o that between two patches.  Summed by the offset of pixels,
    that is a correlation of the inverse, added up along its diagonals, with that of the noise.

    Returns
    -------
    (4 radius + 1, 4 radius + 1) ndarray
    """
    y, x = np.divmod(np.arange(patch**2), patch)
    sums = np.zeros((2 * patch - 1,) * 2)
    np.add.at(sums, (y - y[:, None] + patch - 1, x - x[:, None] + patch - 1), inverse)
    reach = 2 * radius + patch - 1
    shape = (2 * reach + 1,) * 2
    spectrum = rfft2(cut(correlation, reach, reach)) * np.conj(rfft2(sums, shape))
    return irfft2(spectrum, shape)[: 4 * radius + 1, : 4 * radius + 1]


def _padded(matrix, dtype):
    """Rows padded with zeros to whole SIMD blocks."""
    lanes = BLOCK_BYTES // np.dtype(dtype).itemsize
    padded = np.zeros((len(matrix), -(-len(matrix) // lanes) * lanes), dtype)
    padded[:, : len(matrix)] = matrix
    return padded


def _lower_half(correlation):
    """Covariance, by offset, of noise cut to half of its frequencies and sampled as coarsely."""
    rows, columns = (4 * max(_LEAST_QUARTER, -(-n // 2)) for n in correlation.shape)
    around = np.zeros((rows, columns))
    around[1:, 1:] = cut(correlation, rows // 2 - 1, columns // 2 - 1)
    power = np.maximum(np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(around)).real), 0)
    low = power[rows // 4 : -rows // 4, columns // 4 : -columns // 4]
    return np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(low)).real)[1:, 1:]
