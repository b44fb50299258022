"""The layout of image rows in memory, compared with loops over all pixels."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnk_image.base.geometry import Lines


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
