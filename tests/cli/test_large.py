"""Denoising in tiles with ``nnk-image denoise``."""

import json

import numpy as np
import pytest
import tifffile

from nnk_image import denoise, denoise_tiles, standard_image

zarr = pytest.importorskip("zarr")

RNG = np.random.default_rng(0)
IMAGE = np.clip(standard_image("camera") + RNG.normal(0, 20, (256, 256)), 0, 255).astype(np.uint8)
IMAGEJ = {
    **{"imagej": True, "resolution": (2, 2)},
    "metadata": {"axes": "ZYX", "spacing": 2.5, "unit": "um"},
}


@pytest.fixture
def in_tiles(run, tmp_path):
    """Return a function that denoises a file in tiles, and returns the text and the result."""

    def denoise_file(name, *options):
        out = tmp_path / f"{name}.zarr"
        text = run.prints("denoise", tmp_path / name, out, "--sigma", 20, *options)
        return text, zarr.open(out, mode="r")[:]

    return denoise_file


def expected(image, **options):
    """Return what the library makes of an image or volume, as `IMAGE.dtype`."""
    return np.clip(denoise(image.astype(np.float32), 20, **options).round(), 0, 255)


@pytest.mark.filterwarnings("ignore:tiles of .* overlap so much")
@pytest.mark.parametrize("colors", [False, True])
def test_tiff_is_denoised_to_zarr_and_reported(in_tiles, tmp_path, colors):
    image = np.stack([IMAGE] * 3, -1) if colors else IMAGE
    tifffile.imwrite(tmp_path / "in.tif", image, tile=(64, 64), compression="zlib")
    report = tmp_path / "report.json"
    options = ("--method", "sgw", "--max-memory", "32MB", "--json", report)
    text, found = in_tiles("in.tif", *options)
    size = "256x256x3 YXS" if colors else "256x256 YX"
    assert f"in.tif: {size} uint8, noise 20 of 255 (7.8 %) (given), " in text
    axis = -1 if colors else None
    np.testing.assert_array_equal(found, expected(image, method="sgw", channel_axis=axis))
    assert json.loads(report.read_text())["images"][0]["sigma"] == 20


def test_axes_may_be_given_and_axes_of_length_1_are_dropped(in_tiles, tmp_path):
    np.save(tmp_path / "colors.npy", np.stack([IMAGE] * 3, -1))
    assert in_tiles("colors.npy", "--method", "sgw", "--axes", "YXS")[1].shape == (256, 256, 3)
    np.save(tmp_path / "slice.npy", IMAGE[None])
    text, found = in_tiles("slice.npy", "--method", "sgw")
    assert "256x256 YX uint8" in text
    assert found.shape == IMAGE.shape


@pytest.mark.parametrize(
    ("options", "given", "spacing"),
    [
        ({"metadata": None, "photometric": "minisblack"}, (), (1, 1, 1)),
        (IMAGEJ, (), (5, 1, 1)),
        (IMAGEJ, ("--spacing", "2,1,1"), (2, 1, 1)),
    ],
    ids=["unnamed pages", "spacing of the file", "spacing given"],
)
def test_volumes_are_denoised_with_their_spacing(in_tiles, tmp_path, options, given, spacing):
    volume = np.stack([IMAGE[:40, :48]] * 3)
    tifffile.imwrite(tmp_path / "in.tif", volume, **options)
    text, found = in_tiles("in.tif", *given)
    assert f"3x40x48 ZYX uint8, spacing {', '.join(map(str, spacing))}, noise 20 " in text
    np.testing.assert_array_equal(found, expected(volume, spacing=spacing))
    if not given:  # the function takes it from the file too
        target = np.empty_like(volume)
        denoise_tiles(tmp_path / "in.tif", target, 20)
        np.testing.assert_array_equal(target, found)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a.npy b.npy out.zarr", "need a single IN"),
        ("a.npy out.zarr --slices", "no --slices, --channels, --map"),
        ("a.npy out.png --max-memory 1GiB", "an OUT that ends in .zarr"),
        ("a.npy out.zarr --max-memory 1kB", "max_memory is too small: a tile needs "),
        ("a.npy out.zarr --json a.npy --overwrite", "--json would replace an input"),
        ("channels.npy out.zarr --axes CYX", "save each channel as a file of its own"),
        ("colors.npy out.zarr", "cannot be read in parts (does not say what its 3 axes are"),
    ],
)
def test_invalid_calls_are_explained(run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", IMAGE)
    np.save("channels.npy", np.stack([IMAGE] * 2))
    np.save("colors.npy", np.stack([IMAGE] * 3, -1))
    assert message in run.refuses("denoise", *words.split(), "--sigma", 3)
