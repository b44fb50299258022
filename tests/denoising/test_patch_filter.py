"""Tests of patch groups and Wiener passes against the equations in plain numpy."""

import math

import numpy as np
import pytest
from patches import aggregate, all_groups, box_at, candidates_of, patches_at
from pictures import assert_same_everywhere, psnr
from scipy.ndimage import correlate1d

import nnk_image
from nnk_image import denoise
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising import patch_filter
from nnk_image.denoising.efforts import Grouping
from nnk_image.noise.autocovariance import patch_covariance, regularized
from nnk_image.noise.unit import WHITE, UnitNoise

CORRELATION = regularized(
    np.outer([0.1, 0.5, 1, 0.5, 0.1], [0.05, 0.4, 1, 0.4, 0.05])  # differs along the axes
)
ANOTHER = regularized(np.outer([0.3, 1, 0.3], [0.1, 1, 0.1]))


@pytest.fixture(params=[(31, 38), (6, 17, 15), (3, 4, 9, 10)], ids=str)
def image(request):
    """Return an image, a volume or a sequence of volumes, with noise of variance 1."""
    shape = request.param
    clean = nnk_image.standard_image("camera")[90 : 90 + shape[-2], 100 : 100 + shape[-1]] / 10
    return clean + np.random.default_rng(0).normal(0, 1, shape)


def groups_of(image, patch=3, group=12, noise=WHITE):
    groups = patch_filter.PatchGroups(image.shape, Grouping(patch, group, 5, 2))
    with RowExecutor(1) as executor:
        groups.match(image, noise, executor)
    return groups


SHAPES = [(1, 1), (2, 9), (5, 5), (7, 30), (12, 12), (13, 11), (31, 33), (1, 1, 9), (2, 5, 9)]


@pytest.mark.parametrize("shape", [*SHAPES, (4, 12, 13), (3, 2, 9, 11)], ids=str)
def test_every_pixel_is_covered(shape):
    for patch in (1, 2, 5, 6, 11):
        for step in (1, 3, 6):
            groups = patch_filter.PatchGroups(shape, Grouping(patch, 4, 3, step))
            covered = np.zeros(shape, bool)
            for line in groups.lines:
                for column in groups.columns:
                    covered[box_at(line * shape[-1] + column, shape, groups.patch)] = True
            assert covered.all()


@pytest.mark.parametrize("method", ["fast", "best"])
def test_spacing_matters_in_images_too(method):
    clean = nnk_image.standard_image("brick").astype(float)[:, ::3]
    noisy = clean + np.random.default_rng(0).normal(0, 25, clean.shape)
    found = [psnr(clean, denoise(noisy, 25, method=method, spacing=s)) for s in (None, (1, 3))]
    assert found[1] > found[0] + 0.02


def test_one_column_is_denoised_like_one_row(method):
    clean = np.repeat([60.0, 150.0, 90.0], 200)
    noisy = clean + np.random.default_rng(3).normal(0, 20, 600)
    row = denoise(noisy[None], 20, method=method)
    np.testing.assert_array_equal(denoise(noisy[:, None], 20, method=method), row.T)
    assert np.mean((row[0] - clean) ** 2) < 0.2 * np.mean((noisy - clean) ** 2)


def expected_pass(groups, noise, y, z, x, first=False):
    """Run one pass on channels (C, *shape), and return the next pilot."""
    n, channels = math.prod(groups.patch), len(y)
    covariances = [np.eye(n)] * channels
    if noise.correlations is not None:
        covariances = [patch_covariance(c, groups.patch) for c in noise.correlations]
    across_members = len(groups.shape) > 2 and channels == 1 and noise.is_white and not first
    a, b = (0.25, 1.25) if first else (1, 1)
    if len(groups.shape) > 2 and not first:  # patches have many pixels, groups few members
        a = b = max(1, 1.5 * n / (channels * groups.group))

    def estimate(members):
        k, level = len(members), 1.0
        if noise.variances is not None:
            level = patches_at(noise.variances, members, groups.patch).mean()
        noisy, work, pilot = (
            np.array([patches_at(c, members, groups.patch) for c in part]) for part in (y, z, x)
        )
        removed = np.mean([(u - v).std() for u, v in zip(noisy, work, strict=True)])
        left = max(1 - removed / np.sqrt(level), 0.01)
        centered = pilot - pilot.mean(axis=1, keepdims=True)
        if across_members:
            (p,), ridge = centered, n * level * left**2
            theta = 1 / k + p @ np.linalg.solve(p.T @ p + ridge * np.eye(n), p.T)
            result, weight = theta @ work, 1 / (theta**2).sum(axis=1)
        else:
            gram, total = sum(p.T @ p for p in centered), k * level * left**2 * sum(covariances)
            if first and np.trace(total) > 1.5 * np.trace(gram):
                total *= 1.5 * np.trace(gram) / np.trace(total)
            across = np.eye(n) - b * np.linalg.solve(gram + a * total, total)
            mean = work.mean(axis=1, keepdims=True)
            result = mean + (work - mean) @ across
            weight = np.full(k, 1 / ((across**2).sum() / n + 1 / k))
        return result, weight / level

    return aggregate(groups, channels, estimate)


def noise_of(kind, image):
    """Return noise of the given kind for two channels of the shape of `image`."""
    axes = image.ndim
    correlations = variances = None
    if "correlated" in kind:
        tables = [np.pad(ANOTHER, 1), CORRELATION]
        correlations = np.stack([t.reshape((1,) * (axes - 2) + t.shape) for t in tables])
    if "uneven" in kind:
        variances = np.random.default_rng(1).uniform(0.5, 1.5, image.shape)
    return UnitNoise(correlations, variances)


KINDS = ["white", "correlated", "uneven", "uneven and correlated"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("patch", "group"), [(4, 6), (1, 9), (2, 40)])
def test_first_estimate(image, kind, patch, group):
    """Every second group is filtered, with fewer and with more members than pixels per patch."""
    noise = noise_of(kind, image)
    groups, channels = groups_of(image, patch, group, noise), np.stack([image, image[::-1]])
    rest = np.roll(channels, 1)
    with RowExecutor() as executor:
        result = groups.first_estimate(channels, noise, executor)
        with_rest = groups.first_estimate(channels, noise, executor, rest=rest)
    groups.keep(every_second=True)
    expected = expected_pass(groups, noise, *[channels] * 3, first=True)
    for found, elsewhere in ((result, channels), (with_rest, rest)):
        wanted = np.where(np.isnan(expected), elsewhere, expected)
        np.testing.assert_allclose(found, wanted, atol=1e-8)


@pytest.mark.parametrize("n_channels", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("group", [12, 3])
def test_wiener_pass(image, n_channels, kind, group):
    noise = noise_of(kind, image).of_channels(slice(n_channels))
    groups = groups_of(image, 3, group, noise)
    y = np.stack([image, 3 + image[::-1]])[:n_channels]
    x = (y + np.roll(y, 1, 1) + np.roll(y, 1, 2)) / 3
    z = 0.7 * y + 0.3 * x
    with RowExecutor() as executor:
        found = groups.filter(y, z, x, noise, executor)
    np.testing.assert_allclose(found, expected_pass(groups, noise, y, z, x), atol=1e-8)


def test_groups_may_be_left_out(image):
    """Only groups at the start of each line are kept; elsewhere the pilot remains."""
    groups, kept = groups_of(image), np.zeros(image.shape, bool)
    kept[..., :3] = True
    groups.keep(kept)
    for reference, members in all_groups(groups):
        corner = np.unravel_index(reference, image.shape)
        center = tuple(c + side // 2 for c, side in zip(corner, groups.patch, strict=True))
        assert (len(members) > 0) == kept[center]
    y, x = image[None], np.roll(image, 2)[None]
    with RowExecutor() as executor:
        result = groups.filter(y, y, x, WHITE, executor)
    expected = expected_pass(groups, WHITE, y, y, x)
    assert 0 < np.mean(np.isnan(expected)) < 1
    np.testing.assert_allclose(result, np.where(np.isnan(expected), x, expected), atol=1e-8)


def test_keeping_every_second_group_and_then_all_again(image):
    groups, left = groups_of(image), np.zeros(image.shape, bool)
    left[..., : image.shape[-1] // 2] = True
    every = {reference: len(members) for reference, members in all_groups(groups)}
    grid = *groups._grid, groups.columns
    for where in (None, left):
        groups.keep(where, every_second=True)
        for reference, members in all_groups(groups):
            corner = np.unravel_index(reference, image.shape)
            place = sum(np.searchsorted(*pair) for pair in zip(grid, corner, strict=True))
            center = tuple(c + side // 2 for c, side in zip(corner, groups.patch, strict=True))
            inside = where is None or where[center]
            assert (len(members) > 0) == (inside and place % 2 == 0)
    groups.keep()
    assert {reference: len(members) for reference, members in all_groups(groups)} == every


@pytest.mark.parametrize("kind", [None, *KINDS])
@pytest.mark.parametrize(
    "shape", [(31, 38), (4, 4), (5, 30), (23, 4), (6, 17, 15), (3, 4, 9, 10)], ids=str
)
def test_members_are_the_nearest_patches(shape, kind):
    """Of noisy images, after subtracting the distances that are expected of their noise."""
    image = np.random.default_rng(0).normal(0, 1, shape)
    noise = noise_of(kind or "white", image).of_channels(slice(1, None))
    groups = patch_filter.PatchGroups(shape, Grouping(3, 12, 5, 2))
    with RowExecutor(1) as executor:
        groups.match(image, noise, executor, noisy=kind is not None)
    for reference, members in all_groups(groups):
        candidates = candidates_of(reference, groups)
        own = patches_at(image, [reference], groups.patch)
        distances = ((patches_at(image, candidates, groups.patch) - own) ** 2).sum(axis=1)
        if kind is not None:
            distances -= expected_distances(noise, reference, candidates, groups)
        distances[candidates == reference] = -np.inf
        assert len(members) == min(12, len(candidates))
        assert set(members.tolist()) == set(candidates[np.argsort(distances)[:12]].tolist())


def expected_distances(noise, reference, candidates, groups):
    """Return the mean squared distances of patches of noise to a reference."""
    rho, levels = candidates == reference, np.ones(groups.shape)
    if noise.correlations is not None:
        (table,) = noise.correlations
        steps = np.stack(np.unravel_index(candidates, groups.shape), axis=1)
        steps = steps - np.unravel_index(reference, groups.shape) + np.array(table.shape) // 2
        inside = ((steps >= 0) & (steps < table.shape)).all(axis=1)
        rho = np.where(inside, table[tuple(np.where(inside[:, None], steps, 0).T)], 0)
    if noise.variances is not None:
        levels = noise.variances
    there = patches_at(levels, candidates, groups.patch).mean(axis=1)
    own = patches_at(levels, [reference], groups.patch).mean()
    return math.prod(groups.patch) * (1 - rho) * (own + there)


@pytest.mark.parametrize(("shape", "kernel"), [((30, 120), (1, 2, 1)), ((64, 64), (-1, 4, -1))])
def test_no_pixel_stays_noisy_in_color(shape, kernel):
    """No group may be left out where no half-size result fills the gaps between groups.

    There is none in small images, nor where halving does not raise the level of the noise.
    """
    kernel = np.array(kernel) / np.linalg.norm(kernel)
    noise = np.random.default_rng(5).normal(0, 10, (*shape, 3))
    for axis in (0, 1):
        noise = correlate1d(noise, kernel, axis, mode="wrap")
    along = np.correlate(kernel, kernel, "full")
    model = nnk_image.NoiseModel([10.0] * 3, correlation=np.outer(along, along))
    assert abs(denoise(100 + noise, model, channel_axis=-1) - 100).max() < 15


def test_strong_structure_is_kept():
    """Gram matrices of rank 1, much larger than the noise, cost digits but not accuracy."""
    image = np.tile(np.float32([[0, 400], [400, 0]]), (1, 12, 14))
    groups = patch_filter.PatchGroups(image.shape[1:], Grouping(6, 48, 10, 6))
    with RowExecutor() as executor:
        groups.match(image[0], WHITE, executor)
        ours = groups.filter(image, image, image, WHITE, executor)
    np.testing.assert_allclose(ours, image, rtol=0, atol=0.5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_for_threads_and_variants(image, kind, dtype):
    noise, channels = noise_of(kind, image), np.stack([image, image[::-1]]).astype(dtype)

    def run(n_jobs):
        groups = patch_filter.PatchGroups(image.shape, Grouping(3, 12, 5, 2))
        with RowExecutor(n_jobs) as executor:
            groups.match(channels[0], noise, executor, noisy=True)
            pilot = groups.first_estimate(channels, noise, executor)
            second = groups.filter(channels, channels, pilot, noise, executor)
            alone = (part[:1] for part in (channels, pilot, second))
            third = groups.filter(*alone, noise.of_channels(slice(1)), executor)
            return np.concatenate([pilot, second, third])

    assert_same_everywhere(run, (1, 2, 3))
