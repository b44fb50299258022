"""Large images in tiles: the result is that of the whole image."""

import math
import os
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest
from child import on_linux
from disk import mapped_files, no_space

from nnk_image import NoiseModel, denoise, denoise_tiles, standard_image
from nnk_image.base import memory
from nnk_image.base.color import to_opponent
from nnk_image.base.image import check_image
from nnk_image.base.parallel import RowExecutor
from nnk_image.base.tile_plan import Reach, TilePlan, plan_tiles
from nnk_image.denoising import tiles
from nnk_image.denoising.large import TiledDenoising
from nnk_image.denoising.statistics import WholeImage, mean_degree, sum_of_degrees
from nnk_image.io.arrays import TargetArray

CAMERA = standard_image("camera_512")


def noisy(seed, sigma, channels=1, dtype=np.float32, most=420):
    """Part of the camera picture with noise, in colours of different brightness."""
    rng = np.random.default_rng(seed)
    height, width = rng.integers(most // 2, most, 2)
    clean = np.tile(CAMERA, (2, 2))[:height, -width:, None] * np.linspace(0.8, 1, channels)
    image = clean + rng.normal(0, sigma, clean.shape)
    image = np.clip(image, 0, 255).round() if dtype == np.uint8 else image
    return (image[..., 0] if channels == 1 else image).astype(dtype)


def in_tiles(image, side, method, sigma=20, channel_axis=None, n_jobs=2, **options):
    """The image denoised in tiles of about this side."""
    work = TiledDenoising(image, method, channel_axis, options.get("spacing"), sigma, 1.0, "100GiB")
    units = work.plan.reach.unit
    sides = [max(unit, s // unit * unit) for s, unit in zip(side, units, strict=True)]
    sides = [min(n, s) for n, s in zip(work.shape, sides, strict=True)]
    work.plan = TilePlan(work.shape, tuple(sides), work.plan.reach)
    assert len(work.plan) > 1
    result = np.full(image.shape, np.nan, work.dtype)
    work.run(TargetArray(result), n_jobs)
    return result


# --- the plan ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_cores_cover_the_image_once_and_borders_are_there(seed):
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(2, 5))
    shape = tuple(rng.integers(1, 40, axes).tolist())
    reach = Reach(
        tuple(rng.integers(0, 9, axes).tolist()), tuple(rng.integers(1, 6, axes).tolist())
    )
    plan = TilePlan(shape, tuple(int(rng.integers(1, n + 1)) for n in shape), reach)
    covered = np.zeros(shape, int)
    assert [tile.number for tile in plan] == list(range(len(plan)))
    for tile in plan:
        covered[tile.core] += 1
        padded = np.zeros(shape, bool)
        padded[tile.padded] = True
        assert padded.sum() <= plan.padded_pixels
        assert padded[tile.core].all()
        cut = np.arange(math.prod(shape)).reshape(shape)
        np.testing.assert_array_equal(cut[tile.padded][tile.inside], cut[tile.core])
        for part, n, core, border, unit in zip(
            tile.padded, shape, tile.core, reach.border, reach.unit, strict=True
        ):
            assert part.start <= max(0, core.start - border)
            assert part.stop >= min(n, core.stop + border)
            assert part.start % unit == 0
    assert (covered == 1).all()


def test_tiles_are_as_large_as_allowed_and_no_larger():
    reach = Reach((10, 10), (4, 8))
    assert len(plan_tiles((300, 400), reach, 120_000)) == 1
    for most in (2_000, 10_000, 100_000):
        plan = plan_tiles((3000, 4000), reach, most)
        assert most / 3 < plan.padded_pixels <= most
    assert plan_tiles((5_000_000, 3), reach, 10_000).side[1] == 3
    with pytest.raises(MemoryError, match="at most 300 pixels are too small"):
        plan_tiles((3000, 4000), reach, 300)


# --- numbers of the whole --------------------------------------------------------------------


def test_statistics_of_parts_add_up():
    image, noise = noisy(0, 20, 3, np.float64), NoiseModel([20.0, 25.0, 30.0])
    whole = check_image(image, -1)
    parts = [check_image(part, -1) for part in np.array_split(image, 7)]
    sums = reduce(add, (tiles.measure(part, noise) for part in parts))
    for found in (sums, tiles.measure(whole, noise)):
        assert (found.low, found.high) == (image.min(), image.max())
        np.testing.assert_allclose(found.means, image.mean(axis=(0, 1)), rtol=1e-12)
        covariance = np.cov(image.reshape(-1, 3).T, bias=True)
        np.testing.assert_allclose(found.products / found.number, covariance, rtol=1e-10)
    expected = []

    def look(part, numbers, executor):
        expected.append(numbers.completed(to_opponent(part.pixels)))
        return part.pixels

    given = WholeImage(noise, (whole.low, whole.high))
    with RowExecutor() as executor:
        tiles.denoise_checked(whole, given, "best", look, executor)
    told = tiles.whole_image(sums, parts[0], noise)
    assert told.contrast == pytest.approx(expected[0].contrast, rel=1e-9)
    assert told.spread == pytest.approx(expected[0].spread, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_mean_degree_does_not_depend_on_the_parts(dtype):
    degrees = np.random.default_rng(1).gamma(2, 2, 300_001).astype(dtype)
    degrees[::100] = 0
    exact = sum(Fraction(d) for d in degrees[:1000].tolist())
    total, number, largest = sum_of_degrees(degrees[:1000])
    assert (number, largest) == (990, degrees[:1000].max())
    assert abs(Fraction(total, 2**52) - exact) <= Fraction(1000, 2**52)
    found = {mean_degree([sum_of_degrees(degrees)])}
    found |= {mean_degree([*map(sum_of_degrees, np.array_split(degrees, n))]) for n in (2, 7, 99)}
    assert len(found) == 1
    assert found.pop() == pytest.approx(degrees[degrees > 0].mean(dtype=float), rel=1e-12)
    assert mean_degree([(0, 0, 0.0)]) == 0


# --- the same bits -----------------------------------------------------------------------------

CASES = [
    *(("sgw", 1, dtype, side) for dtype in (np.float32, float, np.uint8) for side in (50, 101)),
    *(("quick", channels, np.float32, 336) for channels in (1, 3)),
    ("quick", 1, np.uint8, 150),
    ("sgw", 3, np.float32, 64),
    ("fast", 1, np.float32, 130),
    ("fast", 1, np.uint8, 200),
    ("fast", 3, np.float32, 150),
    ("balanced", 1, np.float32, 200),
]


@pytest.mark.parametrize(("method", "channels", "dtype", "side"), CASES)
def test_bits_of_tiles_are_those_of_the_whole(method, channels, dtype, side):
    most = 900 if (method, channels) == ("quick", 3) else 420
    image = noisy(side, 20, channels, dtype, most)
    axis = None if channels == 1 else -1
    whole = denoise(image, 20, method=method, channel_axis=axis)
    found = in_tiles(image, (side, side + 30), method, channel_axis=axis)
    assert found.dtype == whole.dtype
    np.testing.assert_array_equal(found, whole)


@pytest.mark.parametrize("method", ["quick", "fast"])
def test_bits_of_thin_images(method):
    rng = np.random.default_rng(2)
    for shape in ((20_000, 1), (1, 20_000), (5, 9000), (1500, 16)):
        image = rng.normal(100, 20, shape).astype(np.float32)
        side = [n if n < 100 else 600 for n in shape]
        found = in_tiles(image, side, method)
        np.testing.assert_array_equal(found, denoise(image, 20, method=method))


def test_bits_of_a_volume():
    rng = np.random.default_rng(3)
    volume = np.stack([CAMERA[t : t + 40, t : t + 200] for t in range(40)])
    volume = (volume + rng.normal(0, 20, volume.shape)).astype(np.float32)
    whole = denoise(volume, 20, method="quick", spacing=1)
    found = in_tiles(volume, (40, 40, 100), "quick", spacing=(1, 1, 1))
    np.testing.assert_array_equal(found, whole)


def test_correlated_noise_that_is_told():
    binomial = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 36
    model = NoiseModel(autocovariance=400 * binomial)
    image = noisy(4, 20, most=300)
    found = in_tiles(image, (96, 96), "fast", model)
    np.testing.assert_array_equal(found, denoise(image, model))


# --- nearly the same -----------------------------------------------------------------------------


def loss(clean, image, other):
    """By how many dB `image` is worse than `other`."""
    return 10 * np.log10(np.mean((image - clean) ** 2) / np.mean((other - clean) ** 2))


@pytest.mark.slow
def test_best_loses_nothing():
    clean = np.tile(CAMERA, (3, 1))[:1200, 300:460].astype(np.float32)
    image = clean + np.random.default_rng(5).normal(0, 30, clean.shape).astype(np.float32)
    found = in_tiles(image, (400, 160), "best", 30)
    assert abs(loss(clean, found, denoise(image, 30, method="best"))) < 0.01


@pytest.mark.parametrize("counts", [10, 100])
def test_photons(counts):
    clean = CAMERA[100:220, :400] * (counts / 128)
    image = np.random.default_rng(6).poisson(clean).astype(np.float32)
    model = NoiseModel(0.0, gain=1.0)
    found = in_tiles(image, (120, 200), "fast", model)
    assert abs(loss(clean, found, denoise(image, model))) < 0.01


# --- files ---------------------------------------------------------------------------------------


class Stopped(Exception):
    pass


def stop(done, total):
    """A progress function that raises when two thirds are done."""
    if done > total * 2 / 3:
        raise Stopped


def interrupted(seed, folder):
    """An image, the file that was to hold it denoised, and the options of the call that stopped."""
    image, target = noisy(seed, 20, most=800), folder / "out.npy"
    options = {"method": "sgw", "max_memory": "5MB"}
    with pytest.raises(Stopped):
        denoise_tiles(image, target, 20, progress=stop, **options)
    return image, target, options


def read(path):
    if path.suffix == ".zarr":
        return pytest.importorskip("zarr").open(str(path), mode="r")[:]
    if path.suffix == ".tif":
        return pytest.importorskip("tifffile").imread(path)
    return np.load(path)


@pytest.mark.parametrize(("suffix", "channels"), [(".npy", 1), (".zarr", 3), (".tif", 1)])
def test_files(suffix, channels, tmp_path):
    if suffix == ".zarr":
        pytest.importorskip("zarr")
    image, axis = noisy(7, 20, channels, np.uint8, 700), None if channels == 1 else -1
    options = {"method": "sgw", "channel_axis": axis, "max_memory": 6_000_000 * channels}
    np.save(tmp_path / "in.npy", image)
    target = tmp_path / f"out{suffix}"
    with pytest.raises(Stopped):
        denoise_tiles(tmp_path / "in.npy", target, 20, progress=stop, **options)
    assert not target.exists()
    finished = (tmp_path / f".{target.name}.unfinished.tiles").read_text().splitlines()[1:]
    assert len(finished) > 0
    reports = []
    denoise_tiles(tmp_path / "in.npy", target, 20, progress=lambda *r: reports.append(r), **options)
    expected = denoise(image, 20, method="sgw", channel_axis=axis)
    np.testing.assert_array_equal(read(target), np.clip(expected.round(), 0, 255).astype(np.uint8))
    assert {p.name for p in tmp_path.iterdir()} == {"in.npy", target.name}
    # What was made can be read in parts again, and replaced.
    denoise_tiles(target, target, 0, **options)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no space is reserved here")
@pytest.mark.parametrize("suffix", [".npy", ".tif"])
def test_a_full_disk_is_told_before_the_work(suffix, tmp_path, monkeypatch):
    """A mapped array that finds it full while it is written ends the process."""
    monkeypatch.setattr(os, "posix_fallocate", no_space)
    refused = rf"out{suffix}: \d MiB could not be written \(No space left on device\); make room"
    with pytest.raises(ValueError, match=refused):
        denoise_tiles(noisy(7, 20), tmp_path / f"out{suffix}", 20, method="sgw")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_while_a_part_is_written(tmp_path, monkeypatch):
    image, call = noisy(7, 20), (tmp_path / "out.npy", 20)
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(ValueError, match=r"out\.npy: part 0 .*No space left.*finished are kept"):
        denoise_tiles(image, *call, method="sgw")
    monkeypatch.undo()
    denoise_tiles(image, *call, method="sgw")
    np.testing.assert_array_equal(np.load(call[0]), denoise(image, 20, method="sgw"))


@pytest.mark.parametrize("name", ["in.npy", "in.tif"])
@pytest.mark.parametrize("content", [b"", b"hello, world", b"PK\x05\x06" + bytes(18)])
def test_files_that_are_something_else(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name}: not a readable \{name[2:]} file"):
        denoise_tiles(tmp_path / name, tmp_path / "out.npy", 20)


def test_errors_of_a_call_are_not_put_down_to_its_file(tmp_path):
    np.save(tmp_path / "in.npy", noisy(7, 20))
    files = tmp_path / "in.npy", tmp_path / "out.npy"
    with pytest.raises(ValueError, match=r"^method 'mean' is unknown"):
        denoise_tiles(*files, 20, method="mean")
    with pytest.raises(OSError, match="No space left on device") as caught:
        denoise_tiles(*files, 20, method="sgw", progress=no_space)
    assert caught.value.filename is None


@on_linux
@pytest.mark.parametrize("suffix", [".npy", ".tif"])
def test_nothing_maps_a_file_that_is_replaced(suffix, tmp_path, monkeypatch):
    def replace(source, target):
        assert "/.out." in str(source)
        assert str(tmp_path) not in mapped_files()
        original(source, target)
        replaced.append(target)

    replaced, original = [], os.replace
    monkeypatch.setattr(os, "replace", replace)
    target = tmp_path / f"out{suffix}"
    np.save(tmp_path / "in.npy", noisy(7, 20))
    denoise_tiles(tmp_path / "in.npy", target, 20, method="sgw")
    denoise_tiles(target, target, 0, method="sgw")
    assert replaced == [target, target]


def test_only_what_is_not_finished_is_done_again(tmp_path, monkeypatch):
    numbers, original = [], TiledDenoising.denoise

    def counted(self, tile, *rest):
        numbers.append(tile.number)
        return original(self, tile, *rest)

    monkeypatch.setattr(TiledDenoising, "denoise", counted)
    image, target, options = interrupted(8, tmp_path)
    begun, numbers[:] = list(numbers), []
    denoise_tiles(image, target, 20, **options)
    assert len(begun) > 1
    assert numbers[0] == begun[-1]  # the one that was interrupted
    assert begun[:-1] + numbers == list(range(len(begun) - 1 + len(numbers)))
    np.testing.assert_array_equal(np.load(target), denoise(image, 20, method="sgw"))


def test_another_call_does_not_go_on_with_what_it_finds(tmp_path):
    image, target, options = interrupted(9, tmp_path)
    with pytest.raises(ValueError, match="an interrupted call with other arguments"):
        denoise_tiles(image, target, 25, **options)
    denoise_tiles(image, target, 25, resume=False, **options)
    np.testing.assert_array_equal(np.load(target), denoise(image, 25, method="sgw"))


def test_a_word_cut_off_by_a_crash_counts_for_nothing(tmp_path):
    image, target, options = interrupted(10, tmp_path)
    journal = tmp_path / ".out.npy.unfinished.tiles"
    with open(journal, "a") as lines:
        lines.write("1")  # the tile 12, or 1: nobody knows
    denoise_tiles(image, target, 20, **options)
    np.testing.assert_array_equal(np.load(target), denoise(image, 20, method="sgw"))


def test_noise_is_found_in_squares_from_all_over_the_image():
    clean = np.tile(CAMERA, (5, 5))
    image = (clean + np.random.default_rng(11).normal(0, 12, clean.shape)).astype(np.float32)
    work = TiledDenoising(image, "sgw", None, None, None, 1.0, "1GiB")
    assert tiles.sample(work.read, work.shape, None).shape == (2048, 2048, 1)
    assert work.find_noise().sigma[0] == pytest.approx(12, rel=0.03)
    small = image[:300, :200]
    work = TiledDenoising(small, "sgw", None, None, None, 1.0, "1GiB")
    np.testing.assert_array_equal(tiles.sample(work.read, work.shape, None)[..., 0], small)


def test_denoise_takes_tiles_where_the_whole_does_not_fit(monkeypatch):
    image, plans, original = noisy(14, 20, most=800), [], TiledDenoising.run
    whole = denoise(image, 20, method="sgw")

    def noted(self, *rest):
        plans.append(len(self.plan))
        return original(self, *rest)

    monkeypatch.setattr(TiledDenoising, "run", noted)
    monkeypatch.setattr(memory, "SMALL", 1 << 20)
    needed = 40 * image.size
    monkeypatch.setattr(memory, "available", lambda: needed - 1)
    np.testing.assert_array_equal(denoise(image, 20, method="sgw"), whole)
    assert plans[0] > 1
    monkeypatch.setattr(memory, "available", lambda: needed // 6)
    with pytest.raises(MemoryError, match=r"nnk_image\.denoise_tiles"):
        denoise(image, 20, method="sgw")
    monkeypatch.setattr(memory, "available", lambda: needed - 1)
    with pytest.raises(MemoryError, match="needs at least"):
        denoise(image, 20, method="sgw", mask=np.ones(image.shape, bool))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"method": "mean"}, "method 'mean' is unknown"),
        ({"max_memory": "much"}, "max_memory='much' must be a number of bytes"),
        ({"max_memory": 1000}, "allow more memory"),
        ({"sigma": np.ones((60, 70))}, "no map"),
        ({"sigma": NoiseModel(3.0).with_stripes(2.0, 0.0)}, "stripes go through all"),
        ({"target": "out.png"}, "only .npy, .zarr, .tif, .tiff can be written in parts"),
        ({"source": "in.png"}, "cannot be read in parts"),
        ({"source": "absent.npy"}, r"absent\.npy: \w"),
        ({"strength": 0}, "strength=0"),
        ({"source": np.ones((1, 60, 70)), "spacing": 1}, "leave out axes of one pixel"),
        ({"target": np.empty((5, 5))}, r"target has shape \(5, 5\)"),
    ],
)
def test_bad_input_is_explained(changed, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {"source": np.ones((60, 70)), "target": "out.npy", "sigma": 3.0} | changed
    with pytest.raises((ValueError, MemoryError), match=says):
        denoise_tiles(**options)
    assert not list(tmp_path.iterdir())


def test_bad_values_are_told_with_their_tile():
    image = noisy(12, 20)
    image[-3, -4] = np.nan
    with pytest.raises(ValueError, match=r"in the part that begins at \(\d+, \d+\): 1 of "):
        denoise_tiles(image, np.empty_like(image), 20, method="sgw", max_memory="5MB")
