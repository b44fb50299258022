"""Denoising in tiles gives the bits of the whole image, is lazy, and resumes."""

import threading
from dataclasses import replace

import numpy as np
import pytest
import tifffile
from pictures import psnr

from nnk_image import (
    NoiseModel,
    SpectralGraphWavelets,
    denoise,
    denoise_tiles,
    estimate_noise,
    image_graph,
    standard_image,
    tiled,
)
from nnk_image.denoising import parts
from nnk_image.denoising.methods import METHODS
from nnk_image.graph.laplacian import KINDS
from nnk_image.io import arrays

cloudpickle = pytest.importorskip("cloudpickle")
da = pytest.importorskip("dask.array")
zarr = pytest.importorskip("zarr")

CAMERA = standard_image("camera_512")
SHARED = np.ones((60, 70))


def noisy(seed, sigma, channels=1, dtype=np.float32, most=420):
    """Return part of the camera picture with noise, in channels of different brightness."""
    rng = np.random.default_rng(seed)
    height, width = rng.integers(most // 2, most, 2)
    clean = np.tile(CAMERA, (2, 2))[:height, -width:, None] * np.linspace(0.8, 1, channels)
    image = clean + rng.normal(0, sigma, clean.shape)
    image = np.clip(image, 0, 255).round() if dtype == np.uint8 else image
    return (image[..., 0] if channels == 1 else image).astype(dtype)


@pytest.fixture
def side_of_tiles(monkeypatch):
    """Return a function that sets the side of the tiles, rounded to the unit of the method."""

    def choose(*wanted):
        def side(shape, reach, max_bytes, bytes_per_pixel):
            units = zip(wanted, reach.unit, shape, strict=True)
            sides = tuple(min(n, max(unit, s // unit * unit)) for s, unit, n in units)
            assert sides != tuple(shape)
            return sides

        for module in (tiled, parts):
            monkeypatch.setattr(module, "largest_side", side)
        monkeypatch.setattr(parts, "_MOST_WORK", np.inf)

    return choose


def in_tiles(image, sigma=20, **options):
    result = np.full(image.shape, np.nan, np.float64 if image.dtype != np.float32 else np.float32)
    denoise_tiles(image, result, sigma, n_jobs=2, **options)
    return result


def with_noise(clean, seed=9):
    return (clean + np.random.default_rng(seed).normal(0, 20, clean.shape)).astype(np.float32)


def assert_same_bits(image, sigma=20, **options):
    """Check that denoising in tiles gives the bits of denoising the whole image."""
    expected = denoise(image, sigma, **options)
    np.testing.assert_array_equal(in_tiles(image, sigma, **options), expected)


# --- same bits ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "channels", "dtype", "side"),
    [
        ("sgw", 1, float, 101),
        ("sgw", 1, np.uint8, 101),
        ("sgw", 3, np.float32, 50),
        ("fast", 1, np.float32, 130),
        ("fast", 1, np.uint8, 200),
    ],
)
def test_tiles_give_the_bits_of_the_whole_image(method, channels, dtype, side, side_of_tiles):
    image = noisy(side, 20, channels, dtype, 600)
    side_of_tiles(side, side + 30)
    assert_same_bits(image, method=method, channel_axis=None if channels == 1 else -1)


@pytest.mark.parametrize(("method", "channels"), [("fast", 3), ("best", 1)])
def test_methods_with_a_large_overlap_give_the_same_bits(method, channels, side_of_tiles):
    """The image is longer than the overlap that these methods need."""
    reach = METHODS[method].reach((6000, 40), channels)
    shape = (2 * reach.border[0] + 3 * reach.unit[0], 40)
    clean = np.resize(CAMERA[:250, :40], shape)[..., None] * np.linspace(0.8, 1, channels)
    side_of_tiles(1, 40)
    assert_same_bits(with_noise(clean), method=method, channel_axis=-1)


@pytest.mark.parametrize("shape", [(20_000, 1), (1, 20_000), (5, 9000), (1500, 16)])
def test_thin_images_give_the_same_bits(shape, side_of_tiles):
    side_of_tiles(*(n if n < 100 else 600 for n in shape))
    assert_same_bits(with_noise(np.full(shape, 100)))


@pytest.mark.parametrize(("shape", "spacing"), [((900, 60), (1, 3)), ((60, 900), (2.4, 1))])
def test_images_with_uneven_spacing_give_the_same_bits(shape, spacing, side_of_tiles):
    model = NoiseModel.from_autocovariance(400 * np.outer([1, 2, 1], [1, 2, 1]) / 4)
    image = with_noise(np.resize(CAMERA[:, : shape[1]], shape))
    side_of_tiles(*(n if n < 100 else 100 for n in shape))
    for sigma in (20, model):
        assert_same_bits(image, sigma, spacing=spacing)


def test_volumes_give_the_same_bits(side_of_tiles):
    volume = np.stack([np.tile(CAMERA[t : t + 8, :200], (1, 4)) for t in range(8)])
    side_of_tiles(8, 8, 100)
    assert_same_bits(with_noise(volume), method="fast", spacing=1)
    side_of_tiles(18, 9, 10)  # every tile keeps the same half of the groups
    assert_same_bits(with_noise(np.resize(CAMERA, (400, 9, 10))), spacing=(2, 1, 1))


@pytest.mark.parametrize("channels", [1, 3])
def test_correlated_noise_gives_the_same_bits(channels, side_of_tiles):
    """With three channels, the noise is also correlated between channels."""
    table = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 36
    among = 400 * np.array([[1, 0.5, 0.3], [0.5, 1, 0.5], [0.3, 0.5, 1]])[:channels, :channels]
    model = NoiseModel.from_autocovariance(among[:, :, None, None] * table)
    reach = METHODS["fast"].reach((6000, 70), channels)
    clean = np.resize(CAMERA[:250, :70], (2 * reach.border[0] + 3 * reach.unit[0], 70))
    side_of_tiles(1, 70)
    assert_same_bits(with_noise(np.stack([clean] * channels, -1)), model, channel_axis=-1)


def test_poisson_noise_gives_nearly_the_same_error(side_of_tiles):
    clean = CAMERA[100:220, :400] * (10 / 128)
    image = np.random.default_rng(6).poisson(clean).astype(np.float32)
    model = NoiseModel(0.0, gain=1.0)
    side_of_tiles(120, 200)
    found, whole = psnr(clean, in_tiles(image, model)), psnr(clean, denoise(image, model))
    assert abs(found - whole) < 0.01


def test_noise_is_estimated_from_crops_of_the_whole_image():
    clean = np.tile(CAMERA, (5, 5))
    image = (clean + np.random.default_rng(11).normal(0, 12, clean.shape)).astype(np.float32)
    model = denoise_tiles(image, np.empty_like(image), method="sgw", n_jobs=2)
    assert model.sigma[0] == pytest.approx(12, rel=0.03)


def test_the_given_noise_is_returned_and_treated_as_the_method_can():
    model, result = NoiseModel(20, curve=[(0, 255), (1, 2)]), np.empty_like(IMAGE)
    assert denoise_tiles(IMAGE, result, model, method="sgw", max_memory="11MB") == model
    np.testing.assert_array_equal(result, denoise(IMAGE, model, method="sgw"))


def test_sigma_in_other_units_is_warned_about_once():
    image = CAMERA[:40, :40] / 255
    with pytest.warns(UserWarning, match=r"sigma=25 is more .*: 25/255 if 1 is white") as caught:
        in_tiles(image, 25, method="sgw")
    assert [w.filename for w in caught] == [__file__]


@pytest.mark.parametrize("sigma", [None, 12])
def test_noise_that_values_for_missing_data_make_negligible_is_warned_about(sigma):
    image = CAMERA + np.random.default_rng(12).normal(0, 12, CAMERA.shape)
    image[:60] = -3.4e38
    result = np.empty_like(image)
    with pytest.warns(UserWarning, match="sigma=1.* counts as 0, .* replace them") as caught:
        model = denoise_tiles(image, result, sigma, method="sgw")
    assert [w.filename for w in caught] == [__file__]
    assert model.sigma[0] == pytest.approx(12, rel=0.05)
    np.testing.assert_array_equal(result, image)


# --- lazy arrays -------------------------------------------------------------------------

IMAGE = noisy(0, 20, most=310)


@pytest.mark.parametrize("chunks", [IMAGE.shape, 64, ((7, 1, IMAGE.shape[0] - 8), -1)])
def test_chunks_do_not_change_the_result(chunks):
    array = da.from_array(IMAGE, chunks=chunks)
    lazy = tiled.denoise(array, 20, method="sgw", max_memory="11MB")
    assert (lazy.chunks, lazy.dtype) == (array.chunks, np.float32)
    np.testing.assert_array_equal(lazy.compute(), denoise(IMAGE, 20, method="sgw"))


def test_nothing_is_read_before_compute():
    read = []

    def block(block_info=None):
        (top, bottom), (left, right) = block_info[None]["array-location"]
        read.append((top, left))
        return CAMERA[top:bottom, left:right].astype(np.float32)

    chunks = (100, 100, 50), (100, 100, 101)
    array = da.map_blocks(block, chunks=chunks, dtype=np.float32, meta=IMAGE[:0, :0])
    for sigma in (20, None):
        lazy = tiled.denoise(array, sigma, method="fast")
        assert not read
    lazy.compute(scheduler="sync")
    assert len(set(read)) == 9


@pytest.mark.parametrize("method", ["sgw", "fast"])
def test_task_graphs_do_not_hold_the_pixels(method):
    image = da.zeros((6000, 6000), chunks=3000, dtype=np.float32)
    lazy = [tiled.denoise(image, 20, method=method), tiled.filter(image, np.exp, 30)]
    for array in lazy:
        assert len(cloudpickle.dumps(array)) < 1e6  # the pixels are 144 MB


@pytest.mark.parametrize("shape", [(30,), (4, 15)])
def test_noise_of_a_stack_is_not_estimated_from_its_ends_alone(shape):
    stack = np.random.default_rng(5).normal(100, 9, (*shape, 48, 48)).astype(np.float32)
    stack[..., :6, :, :] = stack[..., -6:, :, :] = 0
    model = denoise_tiles(stack, np.empty_like(stack))
    np.testing.assert_allclose(model.sigma, 9, rtol=0.1)


def test_channels_with_estimated_noise_give_the_same_result():
    image = IMAGE[None, :150, :150] * np.array([0.9, 1, 0.8], np.float32)[:, None, None]
    lazy = tiled.denoise(da.from_array(image, chunks=70), channel_axis=0)
    expected = np.empty_like(image)
    denoise_tiles(image, expected, channel_axis=0)
    np.testing.assert_array_equal(lazy.compute(), expected)
    model = replace(estimate_noise(image, channel_axis=0), rows=0.0, columns=0.0)
    np.testing.assert_array_equal(expected, denoise(image, model, channel_axis=0))


@pytest.mark.parametrize("seed", range(12))
def test_bands_and_filters_equal_those_of_the_whole_image(seed, side_of_tiles):
    rng = np.random.default_rng(seed)
    axes = 3 if seed % 4 == 3 else 2
    shape = tuple(rng.integers(*((6, 30) if axes == 3 else (30, 190)), axes).tolist())
    dtype = (np.float32, np.uint8, np.float64)[seed % 3]
    channels = () if seed % 5 else (3,)
    image = rng.uniform(0, 255, (*shape, *channels)).astype(dtype)
    graph = {"window": int(rng.choice([3, 5] if axes == 3 else [3, 7, 11]))}
    graph |= {"sigma_f": float(rng.uniform(10, 90)), "channel_axis": -1 if channels else None}
    graph |= {"spacing": (2.0, 1.0, 1.0) if axes == 3 else None}
    kind = KINDS[seed % len(KINDS)]
    transform = {"order": 1 + seed % 9, "laplacian": kind, "n_scales": 2}
    transform |= {"tau": 3.0} if kind == "regularized" else {}
    whole = SpectralGraphWavelets(image_graph(image, **graph), **transform)
    side_of_tiles(*(int(rng.integers(1, n)) for n in shape))
    array = da.from_array(image, chunks=20)
    bands = tiled.analyze(array, **graph, **transform)
    assert bands.npartitions > 1
    np.testing.assert_array_equal(bands.compute(), whole.analyze(image))
    smooth = tiled.filter(array, lambda x: np.exp(-x), **graph, **transform)
    np.testing.assert_array_equal(smooth.compute(), whole.filter(image, lambda x: np.exp(-x)))


class OneWriter:
    """A target whose writes wait for a second writer, which must not come."""

    shape, dtype = (400, 300), np.dtype(np.float32)

    def __init__(self):
        self.barrier, self.writers = threading.Barrier(2), []

    def __setitem__(self, slices, values):
        try:
            self.barrier.wait(1)  # the first wait times out and breaks the barrier
        except threading.BrokenBarrierError:
            return
        self.writers.append(slices)


def refuse_to_share(sources, target):
    """Check that tiles, which would read what others have written, are refused."""
    for source in sources:
        with pytest.raises(ValueError, match="target and source share memory"):
            denoise_tiles(source, target, 20)


def test_a_map_of_the_file_that_is_read_is_refused(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, SHARED)
    target = np.lib.format.open_memmap(path, "r+")
    refuse_to_share((path, np.lib.format.open_memmap(path, "r")), target)
    np.zeros((2, 60, 70), np.float32).tofile(tmp_path / "raw")
    maps = (np.memmap(tmp_path / "raw", "f4", "r+", n * 4 * 4200, (60, 70)) for n in (0, 1))
    denoise_tiles(*maps, 20, method="sgw")


def test_other_handles_of_the_array_that_is_read_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    group = zarr.open_group("a.zarr")
    group["0"] = group["1"] = SHARED
    target = zarr.open_array(tmp_path / "a.zarr" / "0", mode="r+")
    refuse_to_share(("a.zarr", group["0"]), target)
    with pytest.raises(ValueError, match=r"a\.zarr: is the source, which is not replaced"):
        denoise_tiles("a.zarr", tmp_path / "a.zarr", 20)
    denoise_tiles(group["1"], target, 20, method="sgw")
    h5py = pytest.importorskip("h5py")
    with h5py.File("a.h5", "w") as file:
        file["a"] = SHARED
        refuse_to_share([file["a"]], file["a"])
        for _ in range(2):  # the second call finds that nothing has changed
            denoise_tiles(file["a"], "out.zarr", 20, method="sgw")


def test_tiles_are_written_one_at_a_time(side_of_tiles):
    """A chunk of the target may belong to two tiles, and zarr reads, changes and rewrites it."""
    side_of_tiles(64, 64)
    target = OneWriter()
    denoise_tiles(np.ones(target.shape, np.float32), target, 20, method="sgw", n_jobs=2)
    assert target.barrier.broken
    assert not target.writers


# --- files -------------------------------------------------------------------------------


class Stopped(Exception):
    pass


def stop(done, total):
    """Raise when two thirds are done."""
    if done > total * 2 / 3:
        raise Stopped


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_work_is_resumed(n_jobs, tmp_path, monkeypatch):
    image, target = noisy(7, 20, 3, np.uint8, 700), tmp_path / "out.zarr"
    tifffile.imwrite(tmp_path / "in.tif", image, tile=(64, 64), compression="zlib")
    call = tmp_path / "in.tif", target
    options = {"method": "sgw", "max_memory": 21_000_000 * n_jobs, "n_jobs": n_jobs}
    with pytest.raises(Stopped):
        denoise_tiles(*call, 20, progress=stop, **options)
    with pytest.raises(ValueError, match=r"out\.zarr: was begun with another source"):
        denoise_tiles(*call, 25, **options)
    written, write = [], arrays.write
    monkeypatch.setattr(arrays, "write", lambda *args: (written.append(args[1]), write(*args)))
    totals = []
    model = denoise_tiles(*call, 20, progress=lambda *report: totals.append(report), **options)
    assert model == NoiseModel(20)
    assert totals[-1][0] == totals[-1][1]
    assert written
    assert sum(np.prod([s.stop - s.start for s in part[:2]]) for part in written) < image.size / 4
    expected = denoise(image.astype(np.float32), 20, method="sgw", channel_axis=-1)
    found = zarr.open(target, mode="r")
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found[:], np.clip(expected.round(), 0, 255))
    written.clear()
    assert denoise_tiles(*call, 20, **options) == model  # nothing is left to do
    assert not written
    denoise_tiles(target, tmp_path / "again.zarr", 5, method="sgw", channel_axis=-1)


def test_a_changed_zarr_source_is_detected(tmp_path):
    source = zarr.create_array(tmp_path / "in.zarr", data=np.ones((80, 90), np.float32))
    call = tmp_path / "in.zarr", tmp_path / "out.zarr", 20
    denoise_tiles(*call, method="sgw")
    denoise_tiles(*call, method="sgw")  # the same source
    source[:] = 2
    with pytest.raises(ValueError, match="was begun with another source"):
        denoise_tiles(*call, method="sgw")


@pytest.mark.parametrize(
    ("channels", "options", "message"),
    [
        (1, {"photometric": "palette", "colormap": np.zeros((3, 256), "u2")}, "PALETTE colors"),
        (1, {"photometric": "miniswhite"}, "MINISWHITE colors"),
        (3, {"photometric": "cielab"}, "CIELAB colors"),
        (4, {"photometric": "separated"}, "SEPARATED colors"),
        (4, {"photometric": "rgb", "extrasamples": ["unassalpha"]}, "has transparency"),
        (1, {"extratags": [(274, "H", 1, 6, True)]}, r"is stored turned \(orientation 6\)"),
    ],
)
def test_tiff_samples_that_need_conversion_are_refused(tmp_path, channels, options, message):
    pixels = np.resize(CAMERA, (60, 70, channels))
    tifffile.imwrite(tmp_path / "in.tif", pixels[..., 0] if channels == 1 else pixels, **options)
    with pytest.raises(ValueError, match=f"in parts .*{message}.*read it whole with nnk_image"):
        denoise_tiles(tmp_path / "in.tif", tmp_path / "out.zarr", 20)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"max_memory": "much"}, "max_memory='much' must be a positive number of bytes"),
        ({"max_memory": 1000}, "too small"),
        ({"sigma": np.ones((60, 70))}, "per-pixel noise levels are not supported"),
        ({"sigma": NoiseModel(3.0, rows=2.0)}, "row and column noise"),
        ({"target": "out.png"}, r"only \.zarr can be written in parts"),
        ({"source": __file__}, r"only \.npy, \.zarr and TIFF can be read in parts"),
        ({"source": "missing.npy"}, r"missing\.npy: \w"),
        ({"source": np.where(np.eye(60, 70), np.nan, 1), "target": SHARED.copy()},
         r"in the tile that begins at \(0, 0\): .*\(nan\); replace them, or"),
        ({"target": np.empty((5, 5))}, r"target has shape \(5, 5\)"),
        ({"source": SHARED, "target": SHARED[::-1]}, "target and source share memory"),
        ({"target": da.zeros((60, 70))}, "not Array; nnk_image.tiled.denoise returns a dask array"),
        ({"source": np.ma.masked_equal(np.eye(60, 70), 1)}, "masked arrays are not supported"),
    ],
)  # fmt: skip
def test_invalid_input_is_explained(changed, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {"source": np.ones((60, 70)), "target": "out.zarr", "sigma": 3.0} | changed
    with pytest.raises((ValueError, TypeError, MemoryError), match=message):
        denoise_tiles(**options)
    assert not list(tmp_path.iterdir())


def test_other_zarr_arrays_are_not_overwritten(tmp_path):
    zarr.create_array(tmp_path / "other.zarr", shape=(60, 70), dtype="f8")
    with pytest.raises(ValueError, match=r"other\.zarr: exists, but cannot be resumed; remove it"):
        denoise_tiles(np.ones((60, 70)), tmp_path / "other.zarr", 3)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"laplacian": "regularized"}, ValueError, "needs tau"),
        ({"lmax": "lanczos"}, ValueError, "must be a number or None in tiles"),
        ({"max_memory": "1MB"}, MemoryError, "too small"),
    ],
)
def test_invalid_options_of_wavelets_are_explained(options, error, message):
    """Errors are raised before anything is computed."""
    image, options = da.zeros((500, 600)), {"sigma_f": 10} | options
    with pytest.raises(error, match=message):
        tiled.analyze(image, **options)
    with pytest.raises(error, match=message):
        tiled.filter(image, np.exp, **options)


@pytest.mark.parametrize("call", [tiled.analyze, tiled.denoise])
def test_arrays_that_tiles_cannot_be_cut_from_are_refused(call):
    image = da.from_array(noisy(4, 20), chunks=64)
    for array, message in (
        (da.ma.masked_greater(image, 200), "masked arrays are not supported"),
        (image[image[:, 0] > 100], r"call image\.compute_chunk_sizes"),
        (da.zeros((0, 70)), r"the image has no pixel: shape \(0, 70\)"),
    ):
        with pytest.raises(ValueError, match=message):
            call(array, 10)
    with pytest.raises(TypeError, match=r"must be a dask array, not ndarray: use dask\.array"):
        call(IMAGE, 10)


def test_a_named_dask_array_of_one_channel_is_resumed(tmp_path):
    stack = CAMERA[:80, :160].reshape(2, 4, 40, 40)
    tifffile.imwrite(tmp_path / "c.tif", stack, metadata={"axes": "CZYX"}, ome=True)
    for _ in range(2):  # the second call finds the work done
        with tifffile.TiffFile(tmp_path / "c.tif") as file:
            channel = da.from_zarr(file.aszarr(), name="c")[1]
            denoise_tiles(channel, tmp_path / "c.zarr", 9, spacing=(4, 1, 1))
    expected = denoise(stack[1], 9, spacing=(4, 1, 1)).round().clip(0, 255)
    np.testing.assert_array_equal(zarr.open(tmp_path / "c.zarr")[:], expected)
