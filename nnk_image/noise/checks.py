"""Checks of what a caller tells of noise: numbers per channel, maps, curves, covariances."""

import numbers

import numpy as np

from nnk_image.base.checks import check_positive
from nnk_image.base.image import MOST_AXES, place_of

REACH = 48
"""Offsets up to this one are kept of the correlation that a spectrum has."""


def check_numbers(name, value, what, any_sign=False):
    """One number or one per channel, as a tuple of floats."""
    values = value.tolist() if isinstance(value, np.ndarray) else value
    values = list(values) if isinstance(values, list | tuple) else [values]
    if not values:
        raise ValueError(f"{name} has no value: give one number, or one per channel ({what})")
    if any_sign:
        for v in values:
            if isinstance(v, bool) or not isinstance(v, numbers.Real) or not np.isfinite(v):
                raise ValueError(f"{name}={v!r} must be a finite number ({what})")
        return tuple(float(v) for v in values)
    return tuple(check_positive(name, v, what, zero_allowed=True) for v in values)


def check_per_channel(name, values, image, nested=False):
    if len(values) not in (1, image.channels) or nested:
        raise ValueError(
            f"{name} has {len(values)} values, the image {image.channels} channels: give one "
            "number, or one per channel"
        )


def check_levels(levels):
    array = _real_array("levels", levels)
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


def check_curve(curve):
    array = _real_array("curve", curve)
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


def _real_array(name, values):
    array = np.asarray(values)
    if array.dtype.kind not in "buif" or array.size == 0:
        raise TypeError(f"{name} must be an array of real numbers, not {array.dtype} {array.shape}")
    return array.astype(np.float64)


def check_covariance(autocovariance, psd):
    """The autocovariance that was given, or that of a spectrum, with offset 0 in the middle."""
    if autocovariance is not None and psd is not None:
        raise ValueError("give autocovariance or psd, not both: each follows from the other")
    if psd is not None:
        return _covariance_of_spectrum(_real_array("psd", psd))
    if autocovariance is None:
        return None
    array = _real_array("autocovariance", autocovariance)
    offsets = array.shape[-2:] if array.ndim == 4 else array.shape
    if array.ndim not in (2, 3, 4) or not all(n % 2 for n in offsets):
        raise ValueError(
            f"autocovariance has shape {array.shape}: give the covariance for offsets from "
            "(-a, -b) to (a, b), an array of odd height and width, or (C, C, height, width); for "
            "volumes also (depth, height, width)"
        )
    if array.ndim == 4 and array.shape[0] != array.shape[1]:
        raise ValueError(f"autocovariance of shape {array.shape} is not of each channel with each")
    variances = variances_of(array)
    if not np.isfinite(array).all() or variances.min() <= 0:
        raise ValueError("autocovariance must be finite, and its middle, the variance, above 0")
    turned = np.swapaxes(array, 0, 1)[..., ::-1, ::-1] if array.ndim == 4 else np.flip(array)
    if not np.allclose(array, turned, atol=1e-6 * variances.max()):
        raise ValueError("autocovariance must be the same for an offset and its opposite")
    return array


def _covariance_of_spectrum(psd):
    if psd.ndim != 2:
        raise ValueError(f"psd has shape {psd.shape}: give one power spectral density, (H, W)")
    if not np.isfinite(psd).all() or psd.min() < 0 or psd.max() == 0:
        raise ValueError(
            f"psd must be finite and nowhere negative, its smallest value is {psd.min():g}: it is "
            "the mean of abs(fft2(noise)) ** 2 / (H * W)"
        )
    covariance = np.fft.fftshift(np.fft.ifft2(psd).real)
    y, x = (n // 2 for n in psd.shape)
    a, b = (min(REACH, (n - 1) // 2) for n in psd.shape)
    covariance = covariance[y - a : y + a + 1, x - b : x + b + 1]
    return (covariance + covariance[::-1, ::-1]) / 2


def variances_of(covariance):
    """(C,) variances of the channels, (1,) where there is one for all."""
    if covariance.ndim == 4:
        y, x = (n // 2 for n in covariance.shape[-2:])
        return np.diagonal(covariance[..., y, x])
    return covariance[tuple(n // 2 for n in covariance.shape)].reshape(1)


def root_mean_square(levels):
    """Of an ndarray of standard deviations of any size: their squares may overflow, or vanish."""
    exponent = np.frexp(levels.max())[1]
    return float(np.ldexp(np.sqrt(np.mean(np.ldexp(levels, -exponent) ** 2)), exponent))


def correlation_of(covariance):
    sigma = np.sqrt(variances_of(covariance))
    if covariance.ndim < 4:
        return covariance / sigma[0] ** 2
    return covariance / (sigma[:, None] * sigma)[..., None, None]
