"""``nnk-image denoise`` in tiles."""

import json
import subprocess
import time

import numpy as np
import pytest
import tifffile
from command import command, run

from nnk_image import denoise, standard_image

RNG = np.random.default_rng(0)
IMAGE = np.clip(standard_image("camera") + RNG.normal(0, 20, (256, 256)), 0, 255).astype(np.uint8)
EXPECTED = np.clip(denoise(IMAGE.astype(np.float32), 20, method="sgw").round(), 0, 255).astype(
    np.uint8
)
OPTIONS = "--sigma", 20, "--method", "sgw", "--max-memory", "4MB"


def test_tiff_to_zarr_and_report(capsys, tmp_path):
    zarr = pytest.importorskip("zarr")
    tifffile.imwrite(tmp_path / "in.tif", IMAGE, tile=(64, 64), compression="zlib")
    report = tmp_path / "report.json"
    status, out, err = run(
        capsys,
        *("denoise", tmp_path / "in.tif", tmp_path / "out.zarr", *OPTIONS, "--json", report),
    )
    assert (status, err) == (0, "")
    assert "in.tif: 256x256 uint8, NoiseModel(sigma=20" in out
    np.testing.assert_array_equal(zarr.open(str(tmp_path / "out.zarr"), mode="r")[:], EXPECTED)
    assert json.loads(report.read_text())["images"][0]["sigma"] == 20


def test_colours_need_axes_where_the_file_does_not_tell_them(capsys, tmp_path):
    colours = np.stack([IMAGE] * 3, -1)
    np.save(tmp_path / "in.npy", colours)
    call = "denoise", tmp_path / "in.npy", tmp_path / "out.tif", *OPTIONS[:-1], "13MB"
    status, _, err = run(capsys, *call)
    assert status == 1
    assert "say with --axes what its axes are" in err
    assert run(capsys, *call, "--axes", "YXS")[0] == 0
    assert run(capsys, *call[:2], tmp_path / "second.npy", *call[3:], "--axes", "YXS")[0] == 0
    expected = (
        denoise(colours.astype(np.float32), 20, method="sgw", channel_axis=-1).round().clip(0, 255)
    )
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "out.tif"), expected)
    np.testing.assert_array_equal(np.load(tmp_path / "second.npy"), expected)


def test_killed_and_called_again(tmp_path, capsys):
    image = np.tile(IMAGE, (4, 4))
    np.save(tmp_path / "in.npy", image)
    call = "denoise", tmp_path / "in.npy", tmp_path / "out.npy", *OPTIONS
    journal = tmp_path / ".out.npy.unfinished.tiles"
    with subprocess.Popen(command(*call), stdout=subprocess.PIPE) as child:
        while not (journal.exists() and journal.read_text().count("\n") > 2):
            assert child.poll() is None
            time.sleep(0.01)
        child.kill()
    assert not (tmp_path / "out.npy").exists()
    finished = journal.read_text().count("\n") - 1
    assert run(capsys, *call)[0] == 0
    assert finished > 1
    expected = denoise(image.astype(np.float32), 20, method="sgw").round().clip(0, 255)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["a.npy", "b.npy", "out.zarr"], "one file at a time"),
        (["a.npy", "out.png", "--max-memory", "1GiB"], "can be written in parts"),
        (["a.png", "out.npy", "--max-memory", "1GiB"], "cannot be read in parts"),
        (["a.npy", "out.npy", "--max-memory", "many"], "max_memory='many'"),
    ],
)
def test_what_cannot_be_done_is_told(capsys, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", IMAGE)
    status, _, err = run(capsys, "denoise", *arguments, "--sigma", 3)
    assert status != 0
    assert says in err
