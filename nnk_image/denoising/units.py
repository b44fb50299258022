"""Units in which the noise of an image has standard deviation 1, and the exact way back."""

import math

import numpy as np

from nnk_image.base.pyramid import double, halve
from nnk_image.noise.magnitudes import magnitudes
from nnk_image.noise.stabilization import Stabilizer


class GaussianUnits:
    """Units of Gaussian noise with (C,) levels, in an image with values from `low` to `high`."""

    def __init__(self, sigmas, low, high, dtype):
        self._center = dtype.type(low / 2 + high / 2)
        self._scales = np.minimum(sigmas, float(np.finfo(dtype).max) / 16).astype(dtype)
        most = (high / 2 - low / 2) / float(self._scales.min())
        self.limits = -most, most

    def forward(self, pixels):
        """Return (H, W, C) pixels less the middle of the range, divided by the noise levels."""
        units = np.subtract(pixels, self._center, dtype=self._scales.dtype)
        units /= self._scales
        return units

    def inverse(self, units):
        """Return the (H, W, C) pixels of denoised values."""
        pixels = units * self._scales
        pixels += self._center
        return pixels


class RicianUnits:
    """Variance-stabilized units of magnitudes of `coils` coils.

    `sigmas` are (C,) noise levels, `variances` those of the (H, W) pixels relative to their mean.
    """

    limits = None

    def __init__(self, coils, sigmas, variances, dtype):
        levels = sigmas if variances is None else sigmas * np.sqrt(variances)[..., None]
        self._table, self._levels = magnitudes(coils), levels.astype(dtype)

    def forward(self, pixels):
        """Return (H, W, C) magnitudes, stabilized to noise of standard deviation 1."""
        return self._table.forward(pixels.astype(self._levels.dtype, copy=False) / self._levels)

    def inverse(self, units):
        """Return the (H, W, C) signal of denoised stabilized values."""
        return self._table.inverse(units) * self._levels


class PoissonUnits:
    """Variance-stabilized units of sums of blocks of pixels, given `poisson_parameters`.

    The blocks have `sides`, powers of 2. The image is a mixture, in which the noisy one has this
    `share`; `shape` is that of its axes.
    """

    limits = None

    def __init__(self, parameters, sides, share, shape, dtype):
        number = math.prod(sides)
        self._sides, self._shape, self._dtype = sides, shape, dtype
        self._stabilizers = [
            Stabilizer(gain, read * math.sqrt(number), offset * number, share)
            for gain, read, offset in parameters
        ]

    def forward(self, pixels):
        """Return the sums of blocks of pixels, stabilized to noise of standard deviation 1."""
        pixels, stabilizers = pixels.astype(self._dtype, copy=False), enumerate(self._stabilizers)
        return np.stack([s.forward(_sums(pixels[..., c], self._sides)) for c, s in stabilizers], -1)

    def inverse(self, units):
        """Return the (H, W, C) intensities of denoised stabilized values."""
        sums = (s.inverse(units[..., c]) for c, s in enumerate(self._stabilizers))
        return np.stack([_interpolated(channel, self._sides, self._shape) for channel in sums], -1)


def _sums(channel, sides):
    """Sum blocks of pixels; where a side is odd, the last pixels count twice."""
    while max(sides) > 1:
        axes, sides = _next(sides)
        channel = halve(channel[None], axes)[0] * channel.dtype.type(2 ** (len(axes) / 2))
    return channel


def _interpolated(sums, sides, shape):
    """Return a smooth channel of `shape` whose blocks of pixels have the given sums."""
    if max(sides) == 1:
        return sums
    axes, sides = _next(sides)
    between = tuple(-(-n // side) for n, side in zip(shape, sides, strict=True))
    sums = double(sums[None] / sums.dtype.type(2 ** (len(axes) / 2)), between, axes)[0]
    return _interpolated(sums, sides, shape)


def _next(sides):
    """Return the axes with the longest sides, after one of channels, and all sides once halved."""
    most = max(sides)
    axes = [axis for axis, side in enumerate(sides, start=1) if side == most]
    return axes, tuple(side // 2 if side == most else side for side in sides)
