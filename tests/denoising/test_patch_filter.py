"""Patch groups and Wiener passes against a plain numpy version of the equations."""

import numpy as np
import pytest

import nnk_image
from nnk_image import _core
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising import wiener
from nnk_image.denoising.presets import PRESETS, Preset
from nnk_image.denoising.standard_noise import WHITE
from nnk_image.denoising.statistics import WholeImage

WEAK_NOISE = WholeImage(None, None, contrast=0.1, spread=25.0)
SMALL = Preset(4, 6, (3,), (3,), 12, 5, 2, 3, 2)


@pytest.fixture
def image():
    clean = nnk_image.standard_image("camera")[90:121, 100:138].astype(float) / 10
    return clean + np.random.default_rng(0).normal(0, 1, clean.shape)


def groups_of(shape, patch=3, preset=SMALL, group=12, image=None, n_jobs=1):
    groups = wiener.PatchGroups(shape, patch, preset, group, WHITE)
    with RowExecutor(n_jobs) as executor:
        groups.match(image, executor, WHITE)
    return groups


def patch_at(image, position, side):
    y, x = divmod(int(position), image.shape[1])
    return image[y : y + side, x : x + side].ravel()


def all_groups(groups):
    """(reference position, member positions) of every group."""
    members, numbers = groups.core.groups()
    for i, y in enumerate(groups.rows):
        for j, x in enumerate(groups.columns):
            yield y * groups.shape[1] + x, members[i, j, : numbers[i, j]]


def test_members_are_the_nearest_patches(image):
    groups = groups_of(image.shape, image=image)
    height, width = image.shape
    side, radius = groups.patch, groups.radius
    for reference, members in all_groups(groups):
        y, x = divmod(int(reference), width)
        candidates = [
            (v * width + u)
            for v in range(max(0, y - radius), min(height - side, y + radius) + 1)
            for u in range(max(0, x - radius), min(width - side, x + radius) + 1)
        ]
        own = patch_at(image, reference, side)
        distance = {c: ((patch_at(image, c, side) - own) ** 2).sum() for c in candidates}
        nearest = sorted(candidates, key=distance.get)[: len(members)]
        assert len(members) == min(12, len(candidates))
        assert reference in members
        assert set(members.tolist()) == set(nearest)


def test_every_pixel_is_covered():
    for height, width in [(1, 1), (2, 9), (5, 5), (7, 30), (12, 12), (13, 11), (31, 33)]:
        for patch in (1, 2, 5, 6, 11):
            for step in (1, 3, 6):
                preset = Preset(patch, 4, (patch,), (patch,), 4, 3, step, 1, 1)
                groups = wiener.PatchGroups((height, width), patch, preset, 4, WHITE)
                covered = np.zeros((height, width), bool)
                for y in groups.rows:
                    for x in groups.columns:
                        covered[y : y + groups.patch, x : x + groups.patch] = True
                assert covered.all()


def first_estimate(y, groups):
    """Theta = I - (1 + a^2) c (M - M 1 1' M / 1' M 1), M = (Y Y' + a^2 c I)^-1."""
    side = groups.patch
    c, a2 = side**2, 0.25

    def theta(members):
        patches = np.array([patch_at(y, m, side) for m in members])
        inverse = np.linalg.inv(patches @ patches.T + a2 * c * np.eye(len(members)))
        total = inverse.sum(axis=1, keepdims=True)
        matrix = np.eye(len(members)) - (1 + a2) * c * (inverse - total @ total.T / total.sum())
        return matrix @ patches, 1 / (matrix**2).sum(axis=1)

    return aggregate(y.shape, groups, theta)


def aggregate(shape, groups, estimate):
    total, weights = np.zeros(shape), np.zeros(shape)
    side = groups.patch
    for _, members in all_groups(groups):
        patches, weight = estimate(members)
        for m, patch, w in zip(members, patches, weight, strict=True):
            y, x = divmod(int(m), shape[1])
            total[y : y + side, x : x + side] += w * patch.reshape(side, side)
            weights[y : y + side, x : x + side] += w
    return total / weights


def wiener_estimate(y, z, x, groups, tau, right, of_work):
    """One Wiener pass; the pilot, or with `of_work` the working image."""
    side = groups.patch
    n = side**2

    def estimate(members):
        k = len(members)
        noisy, work, pilot = (
            np.array([patch_at(image, m, side) for m in members]) for image in (y, z, x)
        )
        t = max(1 - (noisy - work).std(), tau)
        centred = pilot - pilot.mean(axis=0)
        gram = centred.T @ centred
        if right:
            matrix = np.linalg.solve(gram + k * t**2 * np.eye(n), gram)
            result = work.mean(axis=0) + (work - work.mean(axis=0)) @ matrix
            weight = np.full(k, 1 / ((matrix**2).sum() / n + 1 / k))
        else:
            inner = np.linalg.solve(gram + n * t**2 * np.eye(n), centred.T)
            theta = np.full((k, k), 1 / k) + centred @ inner
            result, weight = theta @ work, 1 / (theta**2).sum(axis=1)
        if of_work:
            result = (1 - tau / t) * result + tau / t * work
        return result, weight

    return aggregate(y.shape, groups, estimate)


def test_first_estimate(image):
    groups = groups_of(image.shape, patch=4, group=6, image=image)
    with RowExecutor() as executor:
        result, _ = groups.filter(0, image, image, image, 0.0, executor, first=True)
    np.testing.assert_allclose(result, first_estimate(image, groups), atol=1e-10)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("tau", [0.0, 0.3])
def test_wiener_pass(image, right, tau):
    groups = groups_of(image.shape, image=image)
    smooth = (image + np.roll(image, 1, 0) + np.roll(image, 1, 1)) / 3
    work = 0.7 * image + 0.3 * smooth
    with RowExecutor() as executor:
        pilot, new_work = groups.filter(0, image, work, smooth, tau, executor, right=right)
    expected = wiener_estimate(image, work, smooth, groups, tau, right, of_work=False)
    np.testing.assert_allclose(pilot, expected, atol=1e-9)
    expected = wiener_estimate(image, work, smooth, groups, tau, right, of_work=True)
    np.testing.assert_allclose(new_work, expected, atol=1e-9)


def test_the_filters_keep_constants(image):
    constant = np.full_like(image, 5.0)
    groups = groups_of(image.shape, image=image)
    with RowExecutor() as executor:
        for right in (False, True):
            pilot, _ = groups.filter(0, image, constant, image, 0.0, executor, right=right)
            np.testing.assert_allclose(pilot, 5.0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_threads_and_variants(image, dtype):
    noisy = np.stack([image, image[::-1]]).astype(dtype)
    results = []
    try:
        for variant in _core.simd_variants():
            _core.use_simd(variant)
            for n_jobs in (1, 2, 3):
                with RowExecutor(n_jobs) as executor:
                    results.append(wiener.wiener(noisy, PRESETS["balanced"], WEAK_NOISE, executor))
    finally:
        _core.use_simd()
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_float32_is_close_to_float64(image):
    with RowExecutor() as executor:
        wide = wiener.wiener(image[None], PRESETS["best"], WEAK_NOISE, executor)
        narrow = wiener.wiener(
            image[None].astype(np.float32), PRESETS["best"], WEAK_NOISE, executor
        )
    assert narrow.dtype == np.float32
    # A near tie in the matching may fall the other way: few pixels differ by more.
    assert np.quantile(abs(wide - narrow), 0.99) < 1e-2
