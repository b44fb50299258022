"""Variance stabilization of Poisson-Gaussian noise, with its exact unbiased inverse.

A sensor that counts photons records ``z = offset + gain * Poisson((x - offset) / gain) + read *
N(0, 1)``. A square root gives the noise a standard deviation close to 1 everywhere. Squaring would
make dark pixels too dark, because the mean of a root is less than the root of the mean. Instead the
mean of the transformed pixel is tabulated by true intensity, and the table is read backwards.

References
----------
M. Makitalo, A. Foi, "Optimal inversion of the generalized Anscombe transformation for
Poisson-Gaussian noise", IEEE Transactions on Image Processing 22 (2013).

L. Azzari, A. Foi, "Variance stabilization for noisy+estimate combination in iterative Poisson
denoising", IEEE Signal Processing Letters 23 (2016).
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline
from scipy.special import gammaln, xlogy

from nnk_image.base.image import Floats

# From this variance on, in squared counts, four moments of the noise suffice: the error is < 1e-6.
_MANY = 50.0
_KNOTS = 400  # of the table, for smaller variances
_KNOTS_ABOVE = 200  # of the table, for larger ones
_LARGEST = 1e6  # variance where the table ends, over the larger of `_MANY` and that of read noise
_FAR = 10.0  # mean of a Gaussian, in standard deviations, above which its values are all positive


@dataclass(frozen=True)
class Stabilizer:
    """Transform of an image with Poisson-Gaussian noise to noise of standard deviation 1.

    It also serves the mixture ``share * z + (1 - share) * estimate`` of a noisy image with an
    estimate of its true intensities, whose noise is only that of the first part.

    With counts ``u = (z - offset) / (gain share^2)`` and read noise ``r = read / (gain share)``
    the transform is ``2 sqrt(max(u + c, 0)) - 2 sqrt(c)`` where ``c = 3/8 + r^2``: equation (3) of
    Makitalo and Foi, for a mixture with equation (5) of Azzari and Foi, less its value at zero
    counts. So it tends to ``(z - offset) / read`` where read noise outweighs that of the counts.
    """

    gain: float  # image units per count, above 0
    read: float = 0.0  # standard deviation of the Gaussian part of the noise, in image units
    offset: float = 0.0  # value that the camera gives to no light
    share: float = 1.0  # of the noisy image in a mixture, above 0

    def forward(self, z: Floats) -> Floats:
        """Transform a noisy image, or a mixture, to noise of standard deviation 1 and offset 0."""
        counts = (z - z.dtype.type(self.offset)) / z.dtype.type(self.gain * self.share**2)
        return _root(counts, self._lift)

    def inverse(self, d: Floats) -> Floats:
        """Return intensities, not below the offset, whose transformed pixels have the mean `d`."""
        root, less = self._table
        counts = self.share**2 * d * (d / 4 + float(np.sqrt(self._lift)))
        counts += np.interp(d, root, less).astype(d.dtype)
        np.maximum(counts, 0, out=counts)
        return counts * d.dtype.type(self.gain) + d.dtype.type(self.offset)

    def mean(self, x: npt.ArrayLike) -> Floats:
        """Return the mean of a transformed noisy pixel of intensity `x`, not below the offset."""
        counts = (np.asarray(x, np.float64) - self.offset) / self.gain
        many = counts + self._counts_read**2 >= _MANY
        return np.where(many, self._mean_of_many(counts), self._mean_of_few(counts))

    @property
    def _counts_read(self) -> float:
        """Read noise in counts."""
        return self.read / self.gain

    @property
    def _lift(self) -> float:
        """What is added to the counts before the root: c in the notes of the class."""
        return 0.375 + (self._counts_read / self.share) ** 2

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        """Means of transformed pixels, and what the algebraic inverse lacks there, in counts."""
        read = self._counts_read**2
        few = np.linspace(0, np.sqrt(max(_MANY - read, 0)), _KNOTS, endpoint=False) ** 2
        above = np.geomspace(max(_MANY, read), max(_MANY, read) * _LARGEST, _KNOTS_ABOVE) - read
        counts = np.concatenate([few if read < _MANY else [], np.maximum(above, 0)])
        root = self.mean(self.offset + self.gain * counts)
        return root, counts - self.share**2 * root * (root / 4 + np.sqrt(self._lift))

    def _mean_of_few(self, counts: Floats) -> Floats:
        """Exact mean: a sum over all numbers of counts, each with its mean over the Gaussian."""
        share, counts = self.share, counts[..., None]
        k = np.arange(int(_MANY + 10 * np.sqrt(_MANY)) + 20)
        probability = np.exp(xlogy(k, counts) - counts - gammaln(k + 1))
        mean = k / share + (1 - share) / share**2 * counts + self._lift
        roots = 2 * _mean_root(mean, self._counts_read / share)
        return (probability * roots).sum(axis=-1) - 2 * np.sqrt(self._lift)

    def _mean_of_many(self, counts: Floats) -> Floats:
        """Mean by the Taylor series of the root, up to the fourth moment of the noise."""
        share, c = self.share, self._lift
        mean = counts / share**2 + c
        variance = (counts + self._counts_read**2) / share**2
        third, fourth = counts / share**3, counts / share**4 + 3 * variance**2
        less = variance / (8 * mean**2) - third / (16 * mean**3) + 5 * fourth / (128 * mean**4)
        return _root(counts / share**2, c) - 2 * np.sqrt(mean) * less


def _root(counts: Floats, lift: float) -> Floats:
    """``2 sqrt(max(counts + lift, 0)) - 2 sqrt(lift)``, without cancellation."""
    c = counts.dtype.type(lift)
    return 2 * np.maximum(counts, -c) / (np.sqrt(np.maximum(counts + c, 0)) + np.sqrt(c))


def _mean_root(mean: Floats, deviation: float) -> Floats:
    """Mean of ``sqrt(max(g, 0))`` over a Gaussian g."""
    if deviation == 0:
        return np.sqrt(mean)
    t = mean / deviation
    far = np.sqrt(t) * (1 - 1 / (8 * t**2) - 15 / (128 * t**4))
    return np.sqrt(deviation) * np.where(t > _FAR, far, _standard_mean_root()(np.minimum(t, _FAR)))


@lru_cache(maxsize=1)
def _standard_mean_root() -> CubicSpline:
    """Mean of ``sqrt(max(t + n, 0))`` over a standard Gaussian n, as a function of t from 0 on."""
    # With v = sqrt(t + n) the integrand is even and smooth: the trapezoidal rule is all but exact.
    v = np.arange(0, 5, 0.02)
    t = np.linspace(0, _FAR, 400)
    density = np.exp(-((v**2 - t[:, None]) ** 2) / 2) / np.sqrt(2 * np.pi)
    return CubicSpline(t, (2 * v**2 * density).sum(axis=1) * 0.02)
