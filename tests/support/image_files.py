"""Random pixel values for image files, and the error message of a refused file."""

import numpy as np
import pytest

from nnk_image.io import ImageFileError

_RNG = np.random.default_rng(20240229)


def noise(shape, dtype=np.uint8):
    """Return random values of `dtype`; for integers over the whole range, with both limits."""
    if np.dtype(dtype).kind == "f":
        return _RNG.normal(0, 100, shape).astype(dtype)
    ends = np.iinfo(dtype)
    values = _RNG.integers(ends.min, ends.max, shape, ends.dtype.newbyteorder("="), endpoint=True)
    values.flat[:2] = ends.min, ends.max
    return values.astype(dtype)


def refusal(call, *arguments, **options):
    """Check that `call` raises an ImageFileError of one line, and return its message."""
    with pytest.raises(ImageFileError) as caught:
        call(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message
