"""Random samples of image files, and the message with which one is refused."""

import numpy as np
import pytest

from nnk_image.io import ImageFileError

_RNG = np.random.default_rng(20240229)


def noise(shape, dtype=np.uint8):
    """Random samples over the whole range of `dtype`."""
    top = 1 if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max
    return np.rint(_RNG.random(shape) * top).astype(dtype) if top > 1 else _RNG.random(shape, dtype)


def refusal(call, *arguments, **options):
    """The one-line message with which `call` refuses."""
    with pytest.raises(ImageFileError) as caught:
        call(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message
