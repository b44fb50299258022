"""The pixel grid against loops over all its pixels, in two and in three axes."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnk_image.base.geometry import BLOCK_BYTES, PixelGrid

SHAPES = st.lists(st.integers(1, 6), min_size=2, max_size=3).map(tuple)


@given(SHAPES)
def test_pixels_are_numbered_row_by_row(shape):
    grid, pixels = PixelGrid(shape), list(itertools.product(*map(range, shape)))
    assert grid.size == len(pixels)
    assert grid.positions().tolist() == [list(pixel) for pixel in pixels]
    for number, pixel in enumerate(pixels):
        assert np.dot(pixel, grid.strides) == number


@given(SHAPES, st.data())
def test_displacements_are_from_the_first_to_the_second(shape, data):
    grid, pixels = PixelGrid(shape), list(itertools.product(*map(range, shape)))
    numbers = st.lists(st.integers(0, grid.size - 1), min_size=1, max_size=9)
    start = np.array(data.draw(numbers))
    end = np.array(data.draw(st.permutations(start.tolist())))
    expected = [
        [there - here for here, there in zip(pixels[i], pixels[j], strict=True)]
        for i, j in zip(start, end, strict=True)
    ]
    found = grid.displacements(start, end)
    assert found.tolist() == expected
    np.testing.assert_array_equal(found @ np.array(grid.strides), end - start)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(width=st.integers(1, 300), radius=st.integers(1, 20))
def test_padded_rows_are_whole_blocks_with_room_at_both_sides(dtype, width, radius):
    rows = PixelGrid((3, width)).padded_rows(radius, dtype)
    assert rows.lanes * np.dtype(dtype).itemsize == BLOCK_BYTES
    assert rows.pad % rows.lanes == rows.stride % rows.lanes == 0
    assert radius <= rows.pad < radius + rows.lanes
    assert width <= rows.blocks * rows.lanes < width + rows.lanes
    assert rows.stride == 2 * rows.pad + rows.blocks * rows.lanes


@given(height=st.integers(1, 300), width=st.integers(1, 300), radius=st.integers(1, 20))
def test_feature_planes_have_a_border_and_whole_words(height, width, radius):
    lines = PixelGrid((height, width)).lines((radius, radius))
    rows, stride = lines.feature_plane()
    assert rows == height + 2 * radius
    np.testing.assert_array_equal(lines.rows, np.arange(height))
    np.testing.assert_array_equal(lines.first_node, width * np.arange(height))
    within = stride - 2 * radius
    assert within in (16, 32) or within % 64 == 0
    assert width <= within < max(width + 16, min(2 * width, width + 64))


@given(st.lists(st.integers(1, 5), min_size=2, max_size=4).map(tuple), st.data())
def test_lines_lead_to_the_pixel_at_an_offset_or_out_of_the_image(shape, data):
    radii = tuple(data.draw(st.integers(0, min(2, n))) for n in shape)
    lines, grid = PixelGrid(shape).lines(radii), PixelGrid(shape)
    strides = np.array(lines.strides)
    first_node = np.full(lines.height + 2 * lines.border, -1)
    first_node[lines.border : lines.border + lines.height] = lines.first_node
    offsets = list(itertools.product(*(range(-r, r + 1) for r in radii)))
    for pixel in itertools.product(*map(range, shape)):
        for offset in offsets:
            there = np.add(pixel, offset)
            row = (np.array(pixel[:-1]) + offset[:-1]) @ strides
            node = first_node[lines.border + row]
            if ((there >= 0) & (there < shape)).all():
                assert node + there[-1] == there @ np.array(grid.strides)
            elif 0 <= there[-1] < shape[-1]:
                assert node == -1
