"""Hypothesis strategies for images, many of them with many equal values."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def images(draw, heights=(1, 9), widths=(1, 9), dtypes=(np.float64, np.float32, np.uint8)):
    """Draw gray (H, W) or color (H, W, C) images with values from 0 to about 255."""
    shape = draw(st.integers(*heights)), draw(st.integers(*widths))
    channels = draw(st.sampled_from([(), (), (2,), (3,), (4,), (5,)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    step = draw(st.sampled_from([1, 7, 51, 127]))  # few levels give many exact ties
    values = rng.integers(0, 256, shape + channels) // step * step
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    if dtype.kind == "f" and draw(st.booleans()):
        values = values + rng.normal(0, 5, values.shape)
    return values.astype(dtype)


@st.composite
def masked_images(draw, **limits):
    """Draw an image as in `images`, and None or an (H, W) mask with at least one valid pixel."""
    image = draw(images(**limits))
    share = draw(st.sampled_from([None, 0.2, 0.7, 0.95]))
    if share is None:
        return image, None
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    valid = rng.random(image.shape[:2]) < share
    valid.flat[rng.integers(valid.size)] = True
    return image, valid


windows = st.sampled_from([3, 5, 7, 9])
sigmas_d = st.sampled_from([0.4, 1.0, 2.0, 3.7, 20.0])
sigmas_f = st.sampled_from([0.9, 5.0, 10.0, 30.0, 400.0])


def options(image, **more):
    """Return the given keyword arguments, and the channel axis of `image`."""
    return {"channel_axis": -1 if image.ndim == 3 else None, **more}
