"""Checks of single arguments. Messages say what is wrong, the value, and what is right."""

import sys
import warnings
from collections.abc import Collection
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt


def working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 for float16 and float32 images, float64 for all others."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def plain_array(values: Any) -> npt.NDArray[Any]:
    """Return an array; masked entries of a masked array become NaN."""
    # np.ma.is_masked alone is also True for arrays of pandas that have missing values.
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        values = np.ma.filled(values.astype(working_dtype(values.dtype)), np.nan)
    return np.asarray(values)


def finite_mask(pixels: npt.NDArray[Any], channel_axis: int | None) -> npt.NDArray[np.bool_] | None:
    """Return which pixels are finite in all channels; None if all are."""
    finite = np.isfinite(pixels)
    if finite.all():
        return None
    return finite if channel_axis is None else np.all(finite, axis=channel_axis)


def ready_for_c(array: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """Return the array contiguous and aligned, as the C core reads it; copy only if it is not.

    Arrays made from bytes, fields of records or files may begin at any address.
    """
    return np.require(array, dtype, ("C_CONTIGUOUS", "ALIGNED"))


def check_count(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Return an integer argument from `least` to `most` (None: no limit)."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    number = int(value)
    if number < least or (most is not None and number > most):
        allowed = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name}={value} must be {allowed}")
    return number


def check_number(name: str, value: Any, what: str = "", least: float | None = None) -> float:
    """Return a finite number above 0, or of at least `least`; `what` explains it in messages."""
    what = f" ({what})" if what else ""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number{what}, not {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not np.isfinite(number) or (number <= 0 if least is None else number < least):
        limit = " > 0" if least is None else f" >= {least:g}" if least > -np.inf else ""
        raise ValueError(f"{name}={value} must be a finite number{limit}{what}")
    return number


def check_choice(name: str, value: Any, choices: Collection[str | None]) -> str:
    """Return an argument that is one of some strings."""
    if not isinstance(value, str | None) or value not in choices:
        names = {str(choice): repr(choice) for choice in choices}
        close = get_close_matches(str(value), names, n=1)
        hint = f"; did you mean {names[close[0]]}?" if close else ""
        raise ValueError(
            f"{name}={value!r} is unknown; choose one of {', '.join(names.values())}{hint}"
        )
    return str(value)


def check_signal(name: str, values: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return real numbers as an array of a shape, or with one more, last axis of channels."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} have masked entries; fill them first: values.filled(0)")
    array = np.asarray(values)
    if array.dtype.kind not in "buif":
        raise TypeError(f"{name} of dtype {array.dtype} are not real numbers")
    if array.shape[: len(shape)] != shape or array.ndim > len(shape) + 1 or array.size == 0:
        raise ValueError(
            f"{name} must have shape {shape} on this graph, or one axis more for channels, at "
            f"least one, not {array.shape}"
        )
    return array


def warn(text: str) -> None:
    """Warn at the line that called the library, perhaps through scikit-learn or a decorator."""
    frame, level = sys._getframe(1), 2
    inside = ("nnk_image", "sklearn", "contextlib")
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in inside:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)
