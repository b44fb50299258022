"""Denoising in tiles with ``nnk-image denoise``."""

import json
import re

import numpy as np
import pytest
import tifffile
from command import run

from nnk_image import denoise, standard_image
from nnk_image.denoising.parts import TiledDenoising

zarr = pytest.importorskip("zarr")

RNG = np.random.default_rng(0)
IMAGE = np.clip(standard_image("camera") + RNG.normal(0, 20, (256, 256)), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("colors", [False, True])
def test_tiff_is_denoised_to_zarr_and_reported(capsys, tmp_path, colors):
    image = np.stack([IMAGE] * 3, -1) if colors else IMAGE
    tifffile.imwrite(tmp_path / "in.tif", image, tile=(64, 64), compression="zlib")
    report = tmp_path / "report.json"
    status, out, err = run(
        capsys,
        *("denoise", tmp_path / "in.tif", tmp_path / "out.zarr", "--json", report),
        *("--sigma", 20, "--method", "sgw", "--max-memory", "24MB"),
    )
    assert (status, err) == (0, "")
    size = "256x256x3 YXS" if colors else "256x256 YX"
    assert f"in.tif: {size} uint8, NoiseModel(sigma=20" in out
    axis = -1 if colors else None
    expected = denoise(image.astype(np.float32), 20, method="sgw", channel_axis=axis)
    found = zarr.open(tmp_path / "out.zarr", mode="r")[:]
    np.testing.assert_array_equal(found, np.clip(expected.round(), 0, 255))
    assert json.loads(report.read_text())["images"][0]["sigma"] == 20


def test_axes_must_be_given_if_the_file_does_not_name_them(capsys, tmp_path):
    np.save(tmp_path / "in.npy", np.stack([IMAGE] * 3, -1))
    call = "denoise", tmp_path / "in.npy", tmp_path / "out.zarr", "--sigma", 20, "--method", "sgw"
    status, _, err = run(capsys, *call)
    assert status == 1
    assert "in.npy: cannot be read in parts (does not say what its 3 axes are" in err
    assert "give --axes, one letter for each, such as YXS" in err
    assert run(capsys, *call, "--axes", "YXS")[0] == 0


def test_a_stack_of_one_slice_is_denoised_as_an_image(capsys, tmp_path):
    np.save(tmp_path / "in.npy", IMAGE[None])
    call = "denoise", tmp_path / "in.npy", tmp_path / "out.zarr", "--sigma", 20, "--method", "sgw"
    status, out, _ = run(capsys, *call)
    assert status == 0
    assert "256x256 YX uint8" in out
    assert zarr.open(tmp_path / "out.zarr", mode="r").shape == IMAGE.shape


def test_unnamed_pages_are_slices_of_a_volume(capsys, tmp_path):
    volume = np.stack([IMAGE[:40, :48]] * 3)
    tifffile.imwrite(tmp_path / "in.tif", volume, photometric="minisblack", metadata=None)
    call = "denoise", tmp_path / "in.tif", tmp_path / "out.zarr", "--sigma", 20
    status, text, _ = run(capsys, *call)
    assert status == 0
    assert "3x40x48 ZYX uint8" in text
    expected = denoise(volume.astype(np.float32), 20, spacing=1)
    found = zarr.open(tmp_path / "out.zarr", mode="r")[:]
    np.testing.assert_array_equal(found, np.clip(expected.round(), 0, 255))
    status, _, err = run(capsys, *call, "--axes", "CYX")
    assert status == 1
    assert "save each channel as a file of its own" in err


@pytest.mark.parametrize("given", [(), ("--spacing", "2,1,1")])
def test_spacing_is_that_of_the_file_unless_given(capsys, tmp_path, given):
    volume = np.stack([IMAGE[:40, :48]] * 3)
    options = {"resolution": (2, 2), "metadata": {"axes": "ZYX", "spacing": 2.5, "unit": "um"}}
    tifffile.imwrite(tmp_path / "in.tif", volume, imagej=True, **options)
    names = tmp_path / "in.tif", tmp_path / "out.zarr"
    assert run(capsys, "denoise", *names, "--sigma", 20, *given)[0] == 0
    expected = denoise(volume.astype(np.float32), 20, spacing=(2 if given else 5, 1, 1))
    found = zarr.open(tmp_path / "out.zarr", mode="r")[:]
    np.testing.assert_array_equal(found, np.clip(expected.round(), 0, 255))


def test_the_report_does_not_replace_the_input(capsys, tmp_path):
    path = tmp_path / "in.npy"
    np.save(path, IMAGE)
    status, _, err = run(
        capsys, *("denoise", path, tmp_path / "out.zarr", "--json", path, "--overwrite")
    )
    assert status == 1
    assert "--json would replace an input" in err


def test_too_little_memory_reports_how_much_is_needed(capsys, tmp_path):
    image = np.tile(IMAGE, (8, 8))
    np.save(tmp_path / "in.npy", image)
    call = "denoise", tmp_path / "in.npy", tmp_path / "out.zarr", "--sigma", 20, "--max-memory"
    status, _, err = run(capsys, *call, "1MiB", "--jobs", 2)
    assert status == 1
    assert err.startswith("nnk-image: --max-memory=1MiB is too small: tiles need ")
    two, one = map(int, re.findall(r"(\d+) MiB with", err))
    assert two == 2 * one
    assert "too small" in run(capsys, *call, f"{one - 1}MiB", "--jobs", 1)[2]
    assert "too small" in run(capsys, *call, f"{two - 2}MiB", "--jobs", 2)[2]
    assert TiledDenoising(image.astype(np.float32), 20, "fast", None, None, 1.0, one << 20).tiles


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.npy", "b.npy", "out.zarr"], "need a single IN"),
        (["a.npy", "out.zarr", "--compare", "both.png"], "no --slices, --channels, --compare"),
        (["a.npy", "out.zarr", "--channels", "bands"], "no --slices, --channels, --compare"),
        (["a.npy", "out.zarr", "--max-memory", "0"], "--max-memory='0' must be a positive number"),
        (["a.npy", "out.png", "--max-memory", "1GiB"], "an OUT that ends in .zarr"),
        (["a.npy", "out.zarr", "--max-pixels", "9"], "--no-clobber or --max-pixels"),
        (["a.png", "out.zarr"], "can be read in parts"),
        (["a.npy", "out.zarr", "--max-memory", "many"], "--max-memory='many'"),
        (["a.npy", "out.zarr", "--axes", "CYX"], "an array of shape (256, 256)"),
        (["a.npy", "out.zarr", "--axes", "CX"], "Y and X among them"),
        (["c.npy", "out.zarr", "--axes", "CYX"], "save each channel as a file of its own"),
        (["a.npy", "out.zarr", "--max-memory", "1kB"], "is too small: tiles need "),
    ],
)
def test_invalid_calls_are_explained(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", IMAGE)
    np.save("c.npy", np.stack([IMAGE] * 2))
    (tmp_path / "a.png").touch()
    status, _, err = run(capsys, "denoise", *arguments, "--sigma", 3)
    assert status != 0
    assert message in err
