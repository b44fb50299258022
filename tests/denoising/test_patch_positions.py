"""Tests of patch positions, which are stored relative to the reference patch."""

import numpy as np
import pytest

from nnk_image import _core, denoise
from nnk_image.denoising import patch_filter

PATCH, RADIUS, GROUP = 4, 3, 9


def patches_on(image, rows, columns):
    """Return the patch groups that the C core finds on a grid."""
    grid = np.array(rows, np.int64), np.array(columns, np.int32)
    patches = _core.Patches(image.shape, (PATCH,) * 2, (RADIUS,) * 2, GROUP, *grid)
    _core.match(patches, image.reshape(-1), 0, len(rows))
    return patches


def first_estimate(image, patches, top, height):
    """Return the sums of the first estimate on `height` rows from row `top` on."""
    sums = np.zeros((2, height * image.shape[1]), np.float32)
    options = False, 0.25, 1.25, np.inf, None, None
    box = (top, 0), (height, image.shape[1])
    images = [image.reshape(1, -1)] * 2
    _core.patch_pass(patches, *options, *images, sums[:1], sums[1], *box, 0, 1)
    return sums


def test_positions_beyond_32_bits(tmp_path):
    """Patches are matched in the last rows of a sparse file with more than 2^31 pixels."""
    width = 1 << 15
    height = (1 << 16) + 40
    path = tmp_path / "large.bin"
    try:
        image = np.memmap(path, np.float32, "w+", shape=(height, width))
    except OSError:
        pytest.skip("this file system has no room for the sparse file")
    last = np.random.default_rng(2).integers(0, 50, (2 * RADIUS + PATCH, width)).astype(np.float32)
    image[-len(last) :] = last
    rows, columns = [len(last) - PATCH], [0, 900, width - PATCH]
    alone = patches_on(last, rows, columns)
    expected, numbers = alone.groups()
    skipped = height - len(last)
    rows = [skipped + rows[0]]
    patches = patches_on(image, rows, columns)
    members, found = patches.groups()
    assert members.dtype == np.int64
    assert members.min() > 2**31
    np.testing.assert_array_equal(found, numbers)
    np.testing.assert_array_equal(members, expected + skipped * width)
    sums = first_estimate(image, patches, skipped, len(last))
    others = first_estimate(last, alone, 0, len(last))
    assert others[1].any()
    np.testing.assert_array_equal(sums, others)


def test_images_with_too_many_positions_are_refused(monkeypatch):
    monkeypatch.setattr(patch_filter, "MOST_POSITIONS", 2 * 18 * 41 - 1)
    image = np.random.default_rng(0).normal(100, 20, (60, 40))
    with pytest.raises(
        ValueError, match=r"shape \(60, 40\) has too many pixels along its last axes .* parts"
    ):
        denoise(image, 20)
    assert denoise(image[:, :39], 20).shape == (60, 39)
