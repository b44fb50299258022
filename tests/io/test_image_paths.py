"""Arguments must name images, and the standard images be what they are said to be."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from image_files import refusal
from PIL import Image

from nnk_image.io import images as reading
from nnk_image.io.images import image_paths, standard_image, standard_images


def test_image_paths(tmp_path, monkeypatch):
    for name in ("b.png", "a.JPG", "c.txt", ".hidden.png", "odd[1].png"):
        (tmp_path / name).touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "d.tif").touch()
    monkeypatch.chdir(tmp_path)
    in_folder = [tmp_path / name for name in ("a.JPG", "b.png", "odd[1].png")]
    assert image_paths([tmp_path]) == in_folder
    assert image_paths(["b.png", "*.png", "odd[1].png"]) == [Path("b.png"), Path("odd[1].png")]
    assert image_paths(["c.txt"]) == [Path("c.txt")]
    assert image_paths(["**/*.tif"]) == [Path("sub/d.tif")]


def test_image_paths_that_name_nothing(tmp_path):
    assert "no image given" in refusal(image_paths, [])
    assert "no image in this folder" in refusal(image_paths, [tmp_path])
    assert "no file matches" in refusal(image_paths, [str(tmp_path / "*.png")])
    assert "no such file" in refusal(image_paths, [tmp_path / "x.png"])
    too_long = refusal(image_paths, [tmp_path / ("x" * 5000)])
    assert "name other files" in too_long or "no such file" in too_long  # the latter by Windows


def test_standard_images():
    images = standard_images()
    assert standard_image("camera").shape == (256, 256)
    assert standard_image("camera_512").shape == (512, 512)
    for name in images:
        pixels = standard_image(name)
        assert pixels.dtype == np.uint8
        with Image.open(images[name]) as picture:
            np.testing.assert_array_equal(pixels, np.asarray(picture))


def test_unknown_standard_image():
    message = refusal(standard_image, "camra")
    assert "did you mean 'camera'" in message
    assert all(name in message for name in standard_images())


def test_missing_standard_images(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "__file__", str(tmp_path / "package" / "reading.py"))
    assert "reinstall" in refusal(standard_images)


def test_standard_images_are_those_of_the_sources_table():
    folder = Path(__file__).resolve().parents[2] / "images"
    if not (folder / "SOURCES.md").is_file():
        pytest.skip("not in a checkout of the repository")
    table = (folder / "SOURCES.md").read_text(encoding="utf-8")
    noted = dict(re.findall(r"^\| (\S+\.png) .*`([0-9a-f]{64})` \|$", table, re.MULTILINE))
    sums = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.glob("*.png")}
    assert noted == sums
