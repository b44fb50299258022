"""Checks of single arguments: what is wrong, the value, and what would be right."""

import numbers

import numpy as np


def working_dtype(dtype):
    """float32 for float16 and float32 images, float64 for all others."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def ready_for_c(array, dtype=None):
    """The array as the C core reads it, contiguous and aligned; copied only if it is not so.

    Arrays made from bytes, from fields of records or from files may begin at any address, where C
    must not read numbers.
    """
    return np.require(array, dtype, ("C_CONTIGUOUS", "ALIGNED"))


def check_count(name, value, least=1, most=None):
    """An integer argument from `least` to `most` (None: without end), as int."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if value < least or (most is not None and value > most):
        allowed = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name}={value} must be {allowed}")
    return int(value)


def check_positive(name, value, what, zero_allowed=False):
    """A finite number above zero (or not below), as float."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number ({what}), not {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not np.isfinite(number) or number < 0 or (number == 0 and not zero_allowed):
        least = "a finite number >= 0" if zero_allowed else "a finite number > 0"
        raise ValueError(f"{name}={value!r} must be {least} ({what})")
    return number


def check_number(name, value, least=0.0):
    """A finite real option that is at least `least`."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not (np.isfinite(value) and value >= least):
        raise ValueError(f"{name}={value} must be finite and at least {least:g}")
    return float(value)


def check_choice(name, value, choices):
    """An option that is one of some strings."""
    if value not in choices:
        names = ", ".join(map(repr, choices))
        raise ValueError(f"{name}={value!r} is unknown; choose one of {names}")
    return value
