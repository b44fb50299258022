"""Random pixel values for image files, and the error message of a refused file."""

import numpy as np
import pytest

from nnk_image.io import ImageFileError

_RNG = np.random.default_rng(20240229)


def noise(shape, dtype=np.uint8):
    """Return random values over the whole range of `dtype`, or from 0 to 1 for floats."""
    top = 1 if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max
    return np.rint(_RNG.random(shape) * top).astype(dtype) if top > 1 else _RNG.random(shape, dtype)


def refusal(call, *arguments, **options):
    """Check that `call` raises an ImageFileError of one line, and return its message."""
    with pytest.raises(ImageFileError) as caught:
        call(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message
