"""Correlated and uneven noise in the patch filter, against plain numpy versions of it."""

import numpy as np
import pytest
from patches import aggregate, all_groups, patches_at
from pictures import assert_same_everywhere

import nnk_image
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising.patch_filter import PatchGroups
from nnk_image.denoising.presets import Preset
from nnk_image.noise.standard import (
    WHITE,
    StandardNoise,
    patch_covariance,
    regularized,
    shared_noise,
)

SMALL = Preset(4, 6, (3,), (3,), 12, 5, 2, 3, 2)
KERNEL = np.outer([1, 2, 1], [1, 3, 1]).astype(float)


def correlation_of(kernel):
    """Correlation of white noise filtered with a kernel, by offset."""
    size = [2 * n - 1 for n in kernel.shape]
    spectrum = abs(np.fft.fft2(kernel, size)) ** 2
    correlation = np.fft.fftshift(np.fft.ifft2(spectrum).real)
    return correlation / correlation.max()


CORRELATION = regularized(correlation_of(KERNEL))


@pytest.fixture
def image():
    clean = nnk_image.standard_image("camera")[90:121, 100:138].astype(float) / 10
    return clean + np.random.default_rng(0).normal(0, 1, clean.shape)


def noise_of(image, variances=False):
    rng = np.random.default_rng(1)
    values = rng.uniform(0.5, 1.5, image.shape) if variances else None
    return StandardNoise(CORRELATION[None], values)


def groups_of(image, noise, patch, size):
    groups = PatchGroups(image.shape, patch, SMALL, size, noise)
    with RowExecutor() as executor:
        groups.match(image, executor, noise)
    return groups


def covariance_between(members, width, side):
    """tr(V^-1 V_ij) of all pairs of members, pixel by pixel."""
    places = np.array([divmod(int(m), width) for m in members])
    inside = np.array([divmod(i, side) for i in range(side**2)])
    reach = CORRELATION.shape[0] // 2, CORRELATION.shape[1] // 2

    def rho(offset):
        inside = np.all(np.abs(offset) <= reach, axis=-1)
        safe = np.where(inside[..., None], offset, 0)
        return np.where(inside, CORRELATION[safe[..., 0] + reach[0], safe[..., 1] + reach[1]], 0)

    own = rho(inside[None] - inside[:, None])
    inverse = np.linalg.inv(own)
    shared = np.empty((len(members),) * 2)
    for i, a in enumerate(places):
        for j, b in enumerate(places):
            shared[i, j] = np.trace(inverse @ rho((b + inside)[None] - (a + inside)[:, None]))
    return own, shared


def group_level(noise, members, side):
    if noise.variances is None:
        return 1.0
    return patches_at(noise.variances, members, (side,) * 2).mean()


def constrained(pilot, own, shared, a, b):
    """I - b N (M - M 1 1' M / 1' M 1) with M = (X V^-1 X' + a N)^-1."""
    inverse = np.linalg.inv(pilot @ np.linalg.solve(own, pilot.T) + a * shared)
    total = inverse.sum(axis=1, keepdims=True)
    return np.eye(len(pilot)) - b * shared @ (inverse - total @ total.T / total.sum())


@pytest.mark.parametrize("uneven", [False, True])
def test_first_estimate(image, uneven):
    noise = noise_of(image, uneven)
    groups = groups_of(image, noise, 4, 6)

    def estimate(members):
        noisy = patches_at(image, members, (4, 4))
        own, shared = covariance_between(members, image.shape[1], 4)
        level = group_level(noise, members, 4)
        theta = constrained(noisy - noisy.mean(axis=0), own, level * shared, 0.25, 1.25)
        return theta @ noisy, 1 / (theta**2).sum(axis=1) / level

    with RowExecutor() as executor:
        result, _ = groups.filter(0, image, image, image, 0.0, executor, first=True)
    np.testing.assert_allclose(result, aggregate(groups, estimate), atol=1e-7)


@pytest.mark.parametrize("uneven", [False, True])
def test_wiener_pass(image, uneven):
    noise = noise_of(image, uneven)
    groups = groups_of(image, noise, 3, 12)
    smooth = (image + np.roll(image, 1, 0) + np.roll(image, 1, 1)) / 3
    work = 0.7 * image + 0.3 * smooth
    tau = 0.3

    def estimate(members):
        y, z, x = (patches_at(part, members, (3, 3)) for part in (image, work, smooth))
        own, shared = covariance_between(members, image.shape[1], 3)
        level = group_level(noise, members, 3)
        t = max(1 - (y - z).std() / np.sqrt(level), tau)
        centred = x - x.mean(axis=0)
        theta = constrained(centred, own, t**2 * level * shared, 1, 1)
        return theta @ z, 1 / (theta**2).sum(axis=1) / level

    with RowExecutor() as executor:
        pilot, _ = groups.filter(0, image, work, smooth, tau, executor)
    np.testing.assert_allclose(pilot, aggregate(groups, estimate), atol=1e-7)


def test_members_are_nearest_after_what_noise_adds(image):
    noise = noise_of(image, variances=True)
    groups = groups_of(image, noise, 3, 5)
    height, width = image.shape
    a, b = CORRELATION.shape[0] // 2, CORRELATION.shape[1] // 2
    for reference, members in list(all_groups(groups))[::7]:
        y, x = divmod(int(reference), width)
        candidates = {}
        for v in range(max(0, y - 5), min(height - 3, y + 5) + 1):
            for u in range(max(0, x - 5), min(width - 3, x + 5) + 1):
                dy, dx = v - y, u - x
                near = abs(dy) <= a and abs(dx) <= b
                rho = CORRELATION[dy + a, dx + b] if near else 0.0
                own, other = (
                    part[[y, v][i] : [y, v][i] + 3, [x, u][i] : [x, u][i] + 3]
                    for i, part in enumerate([image, image])
                )
                levels = [noise.variances[p : p + 3, q : q + 3].mean() for p, q in ((y, x), (v, u))]
                expected = 2 * 9 * (1 - rho) * np.mean(levels)
                candidates[v * width + u] = ((own - other) ** 2).sum() - expected
        del candidates[y * width + x]
        nearest = sorted(candidates, key=candidates.get)[:4]
        assert set(members.tolist()) == {y * width + x, *nearest}


def test_shared_noise_is_the_trace_for_all_offsets():
    side, radius = 3, 4
    covariance = patch_covariance(CORRELATION, (side,) * 2)
    table = shared_noise(CORRELATION, np.linalg.inv(covariance), (side,) * 2, (radius,) * 2)
    assert table.shape == (4 * radius + 1,) * 2
    width = 60
    for dy, dx in [(0, 0), (0, 1), (1, -1), (-3, 2), (2 * radius, -2 * radius)]:
        members = [20 * width + 20, (20 + dy) * width + 20 + dx]
        expected = covariance_between(members, width, side)[1][0, 1]
        assert table[2 * radius + dy, 2 * radius + dx] == pytest.approx(expected, abs=1e-10)


def test_what_no_noise_can_have_is_mended():
    impossible = np.array([[0.0, 0, 0], [0.9, 1, 0.9], [0, 0, 0]])
    mended = regularized(impossible)
    size = np.zeros((64, 64))
    size[31:34, 31:34] = mended
    assert np.fft.fft2(np.fft.ifftshift(size)).real.min() > -0.5
    assert mended[1, 1] == 1
    possible = correlation_of(KERNEL)
    np.testing.assert_allclose(regularized(possible), possible, atol=0.02)


def test_half_of_the_frequencies():
    """The covariance of the half-size noise, against noise that was cut and sampled."""
    from scipy.fft import dctn, idctn

    rng = np.random.default_rng(5)
    noise = np.stack([correlated(rng, (128, 128)) for _ in range(60)])
    small = idctn(dctn(noise, axes=(1, 2), norm="ortho")[:, :64, :64], axes=(1, 2), norm="ortho")
    halved = StandardNoise(correlation_of(KERNEL)[None]).halved((64, 64))
    assert halved.levels[0] == pytest.approx(small.std(), rel=0.02)
    middle = halved.correlations.shape[1] // 2
    for dy, dx in [(0, 1), (1, 0), (1, 1), (0, 2)]:
        pairs = small[:, dy:, dx:] * small[:, : 64 - dy, : 64 - dx]
        found = halved.correlations[0, middle + dy, middle + dx]
        assert found == pytest.approx(pairs.mean() / small.var(), abs=0.04)


def correlated(rng, shape):
    """Noise of variance 1 with the correlation of the kernel."""
    white = rng.normal(size=shape)
    spectrum = np.fft.fft2(KERNEL / np.sqrt((KERNEL**2).sum()), shape)
    return np.fft.ifft2(np.fft.fft2(white) * spectrum).real


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_threads_and_variants(image, dtype):
    noise, values = noise_of(image, variances=True), image.astype(dtype)
    groups = PatchGroups(image.shape, 5, SMALL, 12, noise)

    def run(n_jobs):
        with RowExecutor(n_jobs) as executor:
            groups.match(values, executor, noise)
            return [
                groups.filter(0, *[values] * 3, 0.0, executor, **options)[0]
                for options in ({"first": True}, {}, {"right": True})
            ]

    assert_same_everywhere(run)


def test_white_noise_has_no_tables():
    assert WHITE.is_white
    assert WHITE.tables(0, (5, 5), (10, 10), np.float32) is None
    assert WHITE.distances(0, (5, 5), (10, 10), np.float32) == (None, None)
