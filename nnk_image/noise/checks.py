"""Checks of what a caller says about noise: numbers per channel, maps, curves, covariances."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import check_positive
from nnk_image.base.image import MOST_AXES, place_of

REACH = 48
"""Largest displacement at which row and column noise, or a power spectrum, correlates pixels."""

_NEGLIGIBLE = 0.02  # correlation, or share of the variance, that counts as none
_ASYMMETRY = 0.1  # difference of opposite frequencies of a spectrum, relative to its sum
_LEAST_LENGTH = 8  # pixels over which row noise must stay constant to differ from smooth noise


def per_channel(name: str, value: Any, what: str, any_sign: bool = False) -> tuple[float, ...]:
    """Check one number, or one per channel, and return a tuple of floats."""
    values = value.tolist() if isinstance(value, np.ndarray) else value
    values = list(values) if isinstance(values, list | tuple) else [values]
    if not values:
        raise ValueError(f"{name} has no value: give one number, or one per channel ({what})")
    if any_sign:
        for v in values:
            if isinstance(v, bool) or not isinstance(v, numbers.Real) or not np.isfinite(float(v)):
                raise ValueError(f"{name}={v!r} must be a finite number ({what})")
        return tuple(float(v) + 0.0 for v in values)  # -0.0 becomes 0.0
    return tuple(check_positive(name, v, what, zero_allowed=True) for v in values)


def checked_levels(levels: Any) -> npt.NDArray[np.float64]:
    """Check the standard deviation of each pixel; returns float64."""
    array = real_array("levels", levels)
    if not 2 <= array.ndim <= MOST_AXES:
        raise ValueError(
            f"levels have shape {array.shape}: give the standard deviation of each pixel, (H, W), "
            "which holds for all channels; more axes for volumes"
        )
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{int(bad.sum())} of {array.size} levels are not above 0, the first at "
            f"{place_of(first)} ({array[first]}); give each pixel its standard deviation"
        )
    return array


def checked_curve(curve: Any) -> npt.NDArray[np.float64]:
    """Check standard deviations by intensity, (2, n); returns float64."""
    array = real_array("curve", curve)
    if array.ndim != 2 or len(array) != 2 or array.shape[1] < 2:
        raise ValueError(
            f"curve has shape {array.shape}: give (2, n), n intensities and the standard "
            "deviations there"
        )
    intensities, levels = array
    if not np.isfinite(array).all() or np.any(np.diff(intensities) <= 0) or levels.min() <= 0:
        raise ValueError(
            "curve must be finite, with intensities that rise and standard deviations above 0, "
            f"not {intensities.tolist()} and {levels.tolist()}"
        )
    return array


def real_array(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Return real numbers as a float64 array."""
    array = np.asarray(values)
    if array.dtype.kind not in "buif" or array.size == 0:
        raise TypeError(f"{name} must be an array of real numbers, not {array.dtype} {array.shape}")
    return array.astype(np.float64)


def root_mean_square(levels: npt.NDArray[np.float64]) -> float:
    """Return the root mean square of positive numbers of any size, without overflow."""
    exponent = np.frexp(levels.max())[1]
    return float(np.ldexp(np.sqrt(np.mean(np.ldexp(levels, -exponent) ** 2)), exponent))


def checked_autocovariance(
    autocovariance: Any, name: str = "autocovariance"
) -> npt.NDArray[np.float64]:
    """Check an autocovariance: odd sides, symmetric, positive variance; returns float64."""
    array = real_array(name, autocovariance)
    offsets = array.shape[-2:] if array.ndim == 4 else array.shape
    if array.ndim not in (2, 3, 4) or not all(n % 2 for n in offsets):
        raise ValueError(
            f"{name} has shape {array.shape}: give the covariance for offsets from "
            "(-a, -b) to (a, b), an array of odd height and width, or (C, C, height, width); for "
            "volumes also (depth, height, width)"
        )
    if array.ndim == 4 and array.shape[0] != array.shape[1]:
        raise ValueError(
            f"{name} has shape {array.shape}: the first two axes must both have one "
            "element per channel, (C, C, height, width)"
        )
    variances = variances_of(array)
    if not np.isfinite(array).all() or variances.min() <= 0:
        raise ValueError(
            f"{name} must be finite, and positive in the middle, which is the variance"
        )
    reflected = np.swapaxes(array, 0, 1)[..., ::-1, ::-1] if array.ndim == 4 else np.flip(array)
    if not np.allclose(array, reflected, atol=1e-6 * variances.max()):
        raise ValueError(f"{name} must be symmetric: the same for an offset and its opposite")
    return array


def autocovariance_of_spectrum(psd: Any) -> npt.NDArray[np.float64]:
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
    # A formula may have any value at half the sampling rate, which is its own opposite.
    compared = np.ix_(*(2 * np.arange(n) != n for n in psd.shape))
    if np.abs(psd - opposite)[compared].sum() > _ASYMMETRY * psd.sum():
        raise ValueError(
            "psd differs between opposite frequencies, psd[i, j] and psd[-i, -j]: give all "
            "frequencies in the order of numpy.fft.fft2, not those of rfft2, and undo a shift with "
            "numpy.fft.ifftshift"
        )
    covariance = np.fft.fftshift(np.fft.ifft2(psd).real)
    y, x = (n // 2 for n in psd.shape)
    a, b = (min(REACH, (n - 1) // 2) for n in psd.shape)
    covariance = covariance[y - a : y + a + 1, x - b : x + b + 1]
    return (covariance + covariance[::-1, ::-1]) / 2


def variances_of(covariance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the (C,) variances of the channels, (1,) where there is one for all."""
    if covariance.ndim == 4:
        y, x = (n // 2 for n in covariance.shape[-2:])
        return np.asarray(np.diagonal(covariance[..., y, x]))
    return np.reshape(covariance[tuple(n // 2 for n in covariance.shape)], 1)


def correlation_of(covariance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the autocovariance divided by the variance, 1 in the middle."""
    sigma = np.sqrt(variances_of(covariance))
    if covariance.ndim < 4:
        return np.asarray(covariance / sigma[0] ** 2)
    return np.asarray(covariance / (sigma[:, None] * sigma)[..., None, None])


def cut(correlation: npt.NDArray[Any], reach: Sequence[int]) -> npt.NDArray[np.float64]:
    """Return a correlation at offsets from -reach to reach along each axis, 0 where unknown."""
    result = np.zeros([2 * r + 1 for r in reach])
    both = [(r, n // 2, min(r, n // 2)) for r, n in zip(reach, correlation.shape, strict=True)]
    inside = tuple(slice(r - common, r + common + 1) for r, _, common in both)
    result[inside] = correlation[tuple(slice(n - c, n + c + 1) for _, n, c in both)]
    return result


def split_row_and_column_noise(
    correlation: npt.NDArray[np.float64],
) -> tuple[float, float, float, npt.NDArray[np.float64] | None]:
    """Split a correlation into shares of row noise, of column noise, and the remaining correlation.

    Returns
    -------
    rows, columns, rest : float
        Shares of the variance.
    correlation : ndarray or None
        Of the rest, None if that is white.
    """
    if correlation.ndim != 2:
        return 0.0, 0.0, 1.0, correlation
    rows, columns = _share_of_rows(correlation), _share_of_rows(correlation.T)
    if rows == columns == 0:
        return 0.0, 0.0, 1.0, correlation
    rest = correlation.copy()
    y, x = (n // 2 for n in rest.shape)
    rest[y] -= rows
    rest[:, x] -= columns
    share = max(float(rest[y, x]), 0.0)
    if share <= _NEGLIGIBLE:
        return rows, columns, share, None
    rest /= share
    others = np.delete(rest.ravel(), rest.size // 2)
    return rows, columns, share, None if np.abs(others).max() < _NEGLIGIBLE else rest


def _share_of_rows(correlation: npt.NDArray[np.float64]) -> float:
    """Return the share of the variance common to all pixels of a row.

    Far along the row the correlation is then constant, and far off the row it is absent.
    """
    y, x = (n // 2 for n in correlation.shape)
    far = np.abs(np.arange(-x, x + 1)) > max(x // 2, _LEAST_LENGTH)
    if not far.any() or y < 2:
        return 0.0
    along, beside = correlation[y, far], correlation[y + 2 :, far]
    share = float(np.median(along) - np.median(beside))
    return share if share > _NEGLIGIBLE and along.min() > share / 2 else 0.0
