"""Halving images and doubling them again."""

import numpy as np
import pytest

from nnk_image.base.pyramid import double, half_shape, halve

RNG = np.random.default_rng(30)


@pytest.mark.parametrize("shape", [(2, 2), (2, 8), (10, 6), (34, 20), (6, 4, 8)])
def test_halving_undoes_doubling(shape):
    half = RNG.normal(0, 1, (2, *(n // 2 for n in shape)))
    full = double(half, shape)
    assert full.shape == (2, *shape)
    np.testing.assert_allclose(halve(full), half, atol=1e-14)


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (5, 1), (7, 9), (8, 9)])
def test_any_shape_is_halved_and_doubled(shape):
    ramp = np.add.outer(np.arange(shape[0]), np.arange(shape[1]))[None].astype(np.float32)
    half = halve(ramp)
    assert half.shape == (1, *half_shape(shape))
    full = double(half, shape)
    assert full.dtype == half.dtype == np.float32
    np.testing.assert_allclose(full, ramp, atol=1)


def test_a_ramp_is_restored_except_at_the_borders():
    ramp = np.add.outer(2.0 * np.arange(12), np.arange(10))[None]
    back = double(halve(ramp), (12, 10))
    np.testing.assert_allclose(back[:, 2:-2, 2:-2], ramp[:, 2:-2, 2:-2])


@pytest.mark.parametrize("shape", [(200, 201), (60, 50, 64)])
def test_halving_keeps_the_standard_deviation_of_white_noise(shape):
    assert abs(halve(RNG.normal(0, 1, (1, *shape))).std() - 1) < 0.02
