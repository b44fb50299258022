"""Checks of the noise that a caller specifies: numbers per channel, maps and curves."""

from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import check_number
from nnk_image.base.image import MOST_AXES, place_of


def per_channel(name: str, value: Any, what: str, least: float = 0.0) -> tuple[float, ...]:
    """Check one number of at least `least`, or one per channel, and return a tuple of floats."""
    values = value.tolist() if isinstance(value, np.ndarray) else value
    values = list(values) if isinstance(values, list | tuple) else [values]
    if not values:
        raise ValueError(f"{name} has no value: give one number, or one per channel ({what})")
    return tuple(check_number(name, v, what, least) + 0.0 for v in values)  # -0.0 becomes 0.0


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
