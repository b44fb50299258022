"""'quick': its shared filter against plain numpy, its half-size images, what it gives away."""

import math
from functools import cache

import numpy as np
import pytest
from patches import aggregate, patches_at

from nnk_image import denoise, standard_image
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising import presets, quick
from nnk_image.denoising.patch_filter import PatchGroups
from nnk_image.denoising.presets import Grouping
from nnk_image.noise.standard import WHITE

RNG = np.random.default_rng(30)


# --- the shared pass ---------------------------------------------------------------------


def shared_pass(groups, noisy, pilot):
    """W = (C + c I)^-1 C, C the sum of P' P over the channels, c = channels x members."""
    n = math.prod(groups.patch)

    def one_of(y):
        def estimate(members):
            count = len(members)
            pilots = [patches_at(x, members, groups.patch) for x in pilot]
            gram = sum(np.cov(p.T, bias=True).reshape(n, -1) * count for p in pilots)
            response = np.linalg.solve(gram + len(noisy) * count * np.eye(n), gram)
            values = patches_at(y, members, groups.patch)
            mean = values.mean(axis=0)
            weight = 1 / ((response**2).sum() / n + 1 / count)
            return mean + (values - mean) @ response, np.full(count, weight)

        return aggregate(groups, estimate)

    return np.stack([one_of(y) for y in noisy])


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize(
    ("shape", "patch"), [*(((23, 31), side) for side in (1, 2, 3, 5, 6)), ((5, 13, 11), 3)]
)
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-4), (np.float64, 1e-12)])
def test_shared_pass_is_that_of_numpy(channels, shape, patch, dtype, error):
    noisy = RNG.normal(0, 3, (channels, *shape)).astype(dtype)
    pilot = (noisy + np.roll(noisy, 1, -1) + np.roll(noisy, 1, -2)) / 3
    groups = PatchGroups(shape, patch, Grouping(patch, 13, 6, patch), 13, WHITE)
    with RowExecutor(2) as executor:
        groups.match(noisy[0], executor, WHITE)
        ours = quick._shared_pass(groups, noisy, pilot, executor)
    expected = shared_pass(groups, noisy.astype(float), pilot.astype(float))
    np.testing.assert_allclose(ours, expected, rtol=0, atol=error)


def test_shared_pass_where_patches_are_alike():
    """Gram matrices of rank one, huge beside the noise: digits are lost, but not the result."""
    image = np.tile(np.float32([[0, 400], [400, 0]]), (1, 12, 14))
    groups = PatchGroups(image.shape[1:], 6, presets.quick("pass", 2), 48, WHITE)
    with RowExecutor() as executor:
        groups.match(image[0], executor, WHITE)
        ours = quick._shared_pass(groups, image, image, executor)
    np.testing.assert_allclose(ours, image, rtol=0, atol=0.5)


# --- half size ---------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 2), (2, 8), (10, 6), (34, 20), (6, 4, 8)])
def test_halving_undoes_doubling(shape):
    half = RNG.normal(0, 1, (2, *(n // 2 for n in shape)))
    full = quick._double(half, shape)
    assert full.shape == (2, *shape)
    np.testing.assert_allclose(quick._halve(full), half, atol=1e-14)


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (5, 1), (7, 9), (8, 9)])
def test_any_shape_is_halved_and_doubled(shape):
    ramp = np.add.outer(np.arange(shape[0]), np.arange(shape[1]))[None].astype(np.float32)
    half = quick._halve(ramp)
    assert half.shape == (1, -(-shape[0] // 2), -(-shape[1] // 2))
    full = quick._double(half, shape)
    assert full.dtype == np.float32
    np.testing.assert_allclose(full, ramp, atol=1)


@pytest.mark.parametrize("shape", [(200, 201), (60, 50, 64)])
def test_halving_keeps_the_strength_of_noise(shape):
    assert abs(quick._halve(RNG.normal(0, 1, (1, *shape))).std() - 1) < 0.02


# --- what it gives away ------------------------------------------------------------------


@cache
def noisy_crop(name, sigma):
    clean = standard_image(name)[100:228, 100:260].astype(float)
    return clean, clean + np.random.default_rng(31).normal(0, sigma, clean.shape)


def psnr(clean, image):
    return 10 * np.log10(255**2 / np.mean((image - clean) ** 2))


@pytest.mark.parametrize("sigma", [10, 25, 50])
@pytest.mark.parametrize("name", ["astronaut", "coffee", "chelsea", "camera_512"])
def test_little_worse_than_fast(name, sigma):
    clean, image = noisy_crop(name, sigma)
    axis = -1 if image.ndim == 3 else None
    ours, fast = (
        psnr(clean, denoise(image, sigma, method=m, channel_axis=axis)) for m in ("quick", "fast")
    )
    assert ours > fast - (0.8 if sigma == 50 else 0.5)


@pytest.mark.parametrize("sigma", [1.2, 5, 25])
def test_float32_is_enough(sigma, monkeypatch):
    """Just below the range of values beyond which 'quick' computes in float64, and far below."""
    _, image = noisy_crop("astronaut", sigma)
    ours = denoise(image, sigma, method="quick", channel_axis=-1)
    monkeypatch.setattr(quick, "FLOAT32_SPREAD", 0)
    expected = denoise(image, sigma, method="quick", channel_axis=-1)
    assert ours.dtype == expected.dtype == np.float64
    assert (ours != expected).any()
    assert np.median(abs(ours - expected)) < 1e-3 * sigma
    assert np.sqrt(np.mean((ours - expected) ** 2)) < 0.05 * sigma
