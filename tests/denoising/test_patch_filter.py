"""Patch groups and Wiener passes against a plain numpy version of the equations."""

import math

import numpy as np
import pytest
from patches import aggregate, all_groups, box_at, candidates_of, patches_at
from pictures import assert_same_everywhere

import nnk_image
from nnk_image import denoise
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising import patch_filter, patch_shapes
from nnk_image.denoising.presets import Grouping, Preset, preset
from nnk_image.denoising.statistics import Statistics
from nnk_image.noise.standard import WHITE

WEAK_NOISE = Statistics((0, 1), noise_to_signal=0.1, spread=25.0)
SMALL = Preset(4, 6, (3,), (3,), 12, 5, 2, 3, 2)


@pytest.fixture(params=[(31, 38), (6, 17, 15), (3, 4, 9, 10)], ids=str)
def image(request):
    """An image, a volume, or volumes in time, with noise of variance 1."""
    shape = request.param
    clean = nnk_image.standard_image("camera")[90 : 90 + shape[-2], 100 : 100 + shape[-1]] / 10
    return clean + np.random.default_rng(0).normal(0, 1, shape)


def groups_of(shape, patch=3, preset=SMALL, group=12, image=None, n_jobs=1):
    groups = patch_filter.PatchGroups(shape, patch, preset, group, WHITE)
    with RowExecutor(n_jobs) as executor:
        groups.match(image, executor, WHITE)
    return groups


def test_members_are_the_nearest_patches(image):
    groups = groups_of(image.shape, image=image)
    for reference, members in all_groups(groups):
        candidates = candidates_of(reference, groups)
        own = patches_at(image, [reference], groups.patch)
        distances = ((patches_at(image, candidates, groups.patch) - own) ** 2).sum(axis=1)
        nearest = candidates[np.argsort(distances)[: len(members)]]
        assert len(members) == min(12, len(candidates))
        assert reference in members
        assert set(members.tolist()) == set(nearest.tolist())


SHAPES = [(1, 1), (2, 9), (5, 5), (7, 30), (12, 12), (13, 11), (31, 33), (1, 1, 9), (2, 5, 9)]


@pytest.mark.parametrize("shape", [*SHAPES, (4, 12, 13), (3, 2, 9, 11)], ids=str)
def test_every_pixel_is_covered(shape):
    for patch in (1, 2, 5, 6, 11):
        for step in (1, 3, 6):
            preset = Preset(patch, 4, (patch,), (patch,), 4, 3, step, 1, 1)
            groups = patch_filter.PatchGroups(shape, patch, preset, 4, WHITE)
            covered = np.zeros(shape, bool)
            for line in groups.lines:
                for column in groups.columns:
                    covered[box_at(line * shape[-1] + column, shape, groups.patch)] = True
            assert covered.all()


@pytest.mark.parametrize(
    ("shape", "patch", "radius"),
    [
        ((50, 50, 50), (4, 4, 4), (4, 4, 4)),
        ((1, 50, 50), (1, 8, 8), (0, 13, 13)),
        ((2, 50, 50), (2, 6, 6), (1, 8, 8)),
        ((50, 3, 50), (5, 3, 5), (6, 2, 6)),
        ((3, 3, 3), (3, 3, 3), (2, 2, 2)),
        ((1, 4, 90), (1, 4, 16), (0, 3, 52)),
    ],
)
def test_patches_of_thin_volumes_make_up_along_their_other_axes(shape, patch, radius):
    sizes = patch_shapes.sizes(shape, 4, Grouping(4, 1, 4, 3))
    assert (sizes.patch, sizes.radius) == (patch, radius)


@pytest.mark.parametrize(
    ("shape", "patch", "radius"),
    [((1, 900), (1, 64), (0, 220)), ((900, 4), (16, 4), (31, 3)), ((5, 8), (5, 5), (8, 8))],
)
def test_patches_of_thin_images_make_up_along_the_other_axis(shape, patch, radius):
    sizes = patch_shapes.sizes(shape, 8, Grouping(8, 1, 10, 6))
    assert (sizes.patch, sizes.radius) == (patch, radius)


def test_a_column_is_denoised_like_the_row(method):
    clean = np.repeat([60.0, 150.0, 90.0], 200)
    noisy = clean + np.random.default_rng(3).normal(0, 20, 600)
    row = denoise(noisy[None], 20, method=method)
    np.testing.assert_array_equal(denoise(noisy[:, None], 20, method=method), row.T)
    assert np.mean((row[0] - clean) ** 2) < 0.2 * np.mean((noisy - clean) ** 2)


def first_estimate(y, groups):
    """Theta = I - (1 + a^2) c (M - M 1 1' M / 1' M 1), M = (Y Y' + a^2 c I)^-1."""
    c, a2 = math.prod(groups.patch), 0.25

    def theta(members):
        patches = patches_at(y, members, groups.patch)
        inverse = np.linalg.inv(patches @ patches.T + a2 * c * np.eye(len(members)))
        total = inverse.sum(axis=1, keepdims=True)
        matrix = np.eye(len(members)) - (1 + a2) * c * (inverse - total @ total.T / total.sum())
        return matrix @ patches, 1 / (matrix**2).sum(axis=1)

    return aggregate(groups, theta)


def wiener_estimate(y, z, x, groups, tau, right, of_work):
    """One Wiener pass; the pilot, or with `of_work` the working image."""
    n = math.prod(groups.patch)

    def estimate(members):
        k = len(members)
        noisy, work, pilot = (patches_at(image, members, groups.patch) for image in (y, z, x))
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

    return aggregate(groups, estimate)


@pytest.mark.parametrize(("patch", "group"), [(4, 6), (1, 9), (2, 40)])
def test_first_estimate(image, patch, group):
    """Also with more members than a patch has pixels."""
    groups = groups_of(image.shape, patch, group=group, image=image)
    with RowExecutor() as executor:
        result, _ = groups.filter(0, image, image, image, 0.0, executor, first=True)
    np.testing.assert_allclose(result, first_estimate(image, groups), atol=1e-10)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(("tau", "group"), [(0.0, 12), (0.3, 12), (0.3, 4)])
def test_wiener_pass(image, right, tau, group):
    """Groups of few members are filtered by another formula."""
    groups = groups_of(image.shape, group=group, image=image)
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
    assert_same_everywhere(lambda n_jobs: wiener(noisy, "balanced", n_jobs), (1, 2, 3))


def test_float32_is_close_to_float64(image):
    wide, narrow = (wiener(image[None].astype(dtype), "best") for dtype in ("f8", "f4"))
    assert narrow.dtype == np.float32
    # A near tie in the matching may fall the other way: few pixels differ by more.
    assert np.quantile(abs(wide - narrow), 0.99) < 1e-2


def wiener(noisy, name, n_jobs=1):
    with RowExecutor(n_jobs) as executor:
        return patch_filter.wiener(noisy, preset(name, 2), WHITE, WEAK_NOISE, executor)
