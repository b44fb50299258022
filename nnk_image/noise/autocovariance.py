"""Autocovariance of noise: the covariance of two pixels for each displacement between them.

The array goes from displacement (-a, -b) to (a, b), with the variance in the middle. Beyond, the
covariance is 0. A correlation is an autocovariance with 1 in the middle.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import correlate1d

from nnk_image.base.image import Floats
from nnk_image.noise.checks import real_array

REACH = 48  # largest displacement, in pixels, of correlations of spectra, row and column noise
_MOST_CORRELATION = 1.01  # largest value accepted, because estimates may slightly exceed 1
_NEGLIGIBLE = 0.02  # correlation, or share of the variance, below which it counts as 0
_MOST_ASYMMETRY = 0.1  # sum of the differences of opposite frequencies, relative to the total power
_LEAST_LENGTH = 8  # pixels; farther along a row, correlation is from row noise, not smooth noise
_LEAST_POWER = 0.02  # least power of a correlation at any frequency, relative to the mean power


def checked_autocovariance(autocovariance: Any, name: str = "autocovariance") -> Floats:
    """Check an autocovariance: odd sides, symmetric, positive variance; returns float64."""
    array = real_array(name, autocovariance)
    offsets = array.shape[-2:] if array.ndim == 4 else array.shape
    odd = all(n % 2 for n in offsets)
    square = array.ndim != 4 or array.shape[0] == array.shape[1]
    if array.ndim not in (2, 3, 4) or not odd or not square:
        raise ValueError(
            f"{name} has shape {array.shape}: give the covariance for offsets from (-a, -b) to "
            "(a, b), an array of odd height and width; for volumes (depth, height, width), for C "
            "channels (C, C, height, width)"
        )
    variance, largest = variances_of(array), np.abs(array).max()
    if not (variance.min() > 0 and largest <= _MOST_CORRELATION * variance.max() < np.inf):
        raise ValueError(
            f"{name} is up to {largest:.4g}, and {variance.min():.4g} in the middle: it must be "
            "finite, positive there, and nowhere larger; if it is in the order of "
            "numpy.fft.ifft2, use numpy.fft.fftshift"
        )
    reflected = np.swapaxes(array, 0, 1)[..., ::-1, ::-1] if array.ndim == 4 else np.flip(array)
    if not np.allclose(array, reflected, atol=1e-6 * largest):
        raise ValueError(f"{name} must be symmetric: the same for an offset and its opposite")
    return array


def autocovariance_of_spectrum(psd: Any) -> Floats:
    """Return the autocovariance, up to `REACH`, of a power spectral density of shape (H, W)."""
    psd = real_array("psd", psd)
    if psd.ndim != 2:
        raise ValueError(f"psd has shape {psd.shape}: give one power spectral density, (H, W)")
    if not np.isfinite(psd).all() or psd.min() < 0 or psd.max() == 0:
        raise ValueError(
            f"psd must be finite and nowhere negative, its smallest value is {psd.min():g}: it is "
            "the mean of abs(fft2(noise)) ** 2 / (H * W)"
        )
    opposite = np.roll(psd[::-1, ::-1], 1, axis=(0, 1))
    # A psd from a formula may be asymmetric at the Nyquist frequency, which is its own opposite.
    compared = np.ix_(*(2 * np.arange(n) != n for n in psd.shape))
    if np.abs(psd - opposite)[compared].sum() > _MOST_ASYMMETRY * psd.sum():
        raise ValueError(
            "psd differs between opposite frequencies, psd[i, j] and psd[-i, -j]: give all "
            "frequencies in the order of numpy.fft.fft2, not those of rfft2, and undo a shift with "
            "numpy.fft.ifftshift"
        )
    reach = [min(REACH, (n - 1) // 2) for n in psd.shape]
    covariance = cut(np.fft.fftshift(np.fft.ifft2(psd).real), reach)
    return (covariance + covariance[::-1, ::-1]) / 2


def variances_of(covariance: Floats) -> Floats:
    """Return the (C,) variances of the channels, (1,) where there is one for all."""
    if covariance.ndim == 4:
        y, x = (n // 2 for n in covariance.shape[-2:])
        return np.asarray(np.diagonal(covariance[..., y, x]))
    return np.reshape(middle(covariance), 1)


def correlation_of(covariance: Floats) -> Floats:
    """Return the autocovariance divided by the variance, 1 in the middle."""
    if covariance.ndim < 4:
        return np.asarray(covariance / middle(covariance))
    sigma = np.sqrt(variances_of(covariance))
    return np.asarray(covariance / (sigma[:, None] * sigma)[..., None, None])


def middle(covariance: Floats) -> Any:
    """Return the variance: the covariance of one channel without displacement."""
    return covariance[tuple(n // 2 for n in covariance.shape)]


def cut(correlation: npt.NDArray[Any], reach: Sequence[int]) -> Floats:
    """Return a correlation at offsets from -reach to reach along each axis, 0 where unknown."""
    wider = [max(0, r - n // 2) for r, n in zip(reach, correlation.shape, strict=True)]
    padded = np.pad(correlation, [(w, w) for w in wider])
    middles = zip((n // 2 for n in padded.shape), reach, strict=True)
    return padded[tuple(slice(m - r, m + r + 1) for m, r in middles)]


def regularized(correlation: Floats) -> Floats:
    """Return a valid correlation close to this one, with positive power at every frequency."""
    shape, axes = correlation.shape, tuple(range(correlation.ndim))
    inside = tuple(map(slice, shape))
    around = np.zeros([2 * n for n in shape])
    around[inside] = correlation
    power = np.fft.fftn(np.roll(around, [-(n // 2) for n in shape], axes)).real
    power = np.maximum(power, _LEAST_POWER * power.mean())
    result = np.roll(np.fft.ifftn(power).real, [n // 2 for n in shape], axes)[inside]
    return result / middle(result)


def patch_covariance(correlation: Floats, patch: Sequence[int]) -> Floats:
    """Return the (n, n) covariance of the n pixels of a patch, in units of their variance."""
    table = cut(correlation, [side - 1 for side in patch])
    places = np.indices(patch).reshape(len(patch), -1)
    between = (place[:, None] - place + side - 1 for place, side in zip(places, patch, strict=True))
    return table[tuple(between)]


def halved(correlation: Floats) -> Floats:
    """Return the covariance of noise of this correlation after `nnk_image.base.pyramid.halve`."""
    for axis, n in enumerate(correlation.shape):
        wide = [(2, 2) if a == axis else (0, 0) for a in range(correlation.ndim)]
        sums = correlate1d(np.pad(correlation, wide), [0.5, 1, 0.5], axis, mode="constant")
        correlation = sums.take(np.arange(n // 2 % 2, n + 4, 2), axis)
    return correlation


def split_row_and_column_noise(correlation: Floats) -> tuple[float, float, float, Floats | None]:
    """Split a correlation of two axes into row noise, column noise, and the rest.

    Returns the three shares of the variance, and the correlation of the rest, None if it is white.
    """
    rows, columns = _share_of_rows(correlation), _share_of_rows(correlation.T)
    if rows == columns == 0:
        return 0.0, 0.0, 1.0, correlation
    rest = correlation.copy()
    y, x = (n // 2 for n in rest.shape)
    rest[y] -= rows
    rest[:, x] -= columns
    share = max(float(rest[y, x]), 0.0)
    if share > _NEGLIGIBLE:
        rest = np.clip(rest / share, -1, 1)
        if np.abs(np.delete(rest.ravel(), rest.size // 2)).max() >= _NEGLIGIBLE:
            return rows, columns, share, rest
    return rows, columns, share, None


def _share_of_rows(correlation: Floats) -> float:
    """Return the share of the variance common to a row: it correlates far along it, not across."""
    y, x = (n // 2 for n in correlation.shape)
    far = np.abs(np.arange(-x, x + 1)) > max(x // 2, _LEAST_LENGTH)
    if not far.any() or y < 2:
        return 0.0
    along, elsewhere = correlation[y, far], correlation[y + 2 :, far]
    share = float(np.median(along) - np.median(elsewhere))
    return share if share > _NEGLIGIBLE and along.min() > share / 2 else 0.0
