"""The layout of image rows in memory, compared with loops over all pixels."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnk_image.base.geometry import Lines, strides_of

SHAPES = st.lists(st.integers(1, 6), min_size=2, max_size=3).map(tuple)


@given(SHAPES)
def test_strides_number_pixels_in_row_major_order(shape):
    for number, pixel in enumerate(itertools.product(*map(range, shape))):
        assert np.dot(pixel, strides_of(shape)) == number


@given(height=st.integers(1, 300), width=st.integers(1, 300), radius=st.integers(1, 20))
def test_feature_planes_have_a_border_and_whole_words(height, width, radius):
    lines = Lines.of((height, width), (radius, radius))
    rows, stride = lines.feature_plane()
    assert rows == height + 2 * radius
    np.testing.assert_array_equal(lines.rows, np.arange(height))
    np.testing.assert_array_equal(lines.first_node, width * np.arange(height))
    within = stride - 2 * radius
    assert within in (16, 32) or within % 64 == 0
    assert width <= within < max(width + 16, min(2 * width, width + 64))


@given(st.lists(st.integers(1, 5), min_size=2, max_size=4).map(tuple), st.data())
def test_row_offsets_lead_to_the_shifted_pixel_or_outside_the_image(shape, data):
    radii = tuple(data.draw(st.integers(0, min(2, n))) for n in shape)
    lines = Lines.of(shape, radii)
    strides = np.array(lines.strides)
    first_node = np.full(lines.height + 2 * lines.border, -1)
    first_node[lines.border : lines.border + lines.height] = lines.first_node
    offsets = list(itertools.product(*(range(-r, r + 1) for r in radii)))
    for pixel in itertools.product(*map(range, shape)):
        for offset in offsets:
            shifted = np.add(pixel, offset)
            row = (np.array(pixel[:-1]) + offset[:-1]) @ strides
            node = first_node[lines.border + row]
            if ((shifted >= 0) & (shifted < shape)).all():
                assert node + shifted[-1] == shifted @ np.array(strides_of(shape))
            elif 0 <= shifted[-1] < shape[-1]:
                assert node == -1
