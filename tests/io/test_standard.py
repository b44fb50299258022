"""The standard images are the documented files."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from image_files import refusal
from PIL import Image

from nnk_image import standard_image, standard_images
from nnk_image.io import standard


def test_standard_images_equal_their_files():
    images = standard_images()
    assert standard_image("camera").shape == (256, 256)
    assert standard_image("camera_512").shape == (512, 512)
    for name in images:
        pixels = standard_image(name)
        assert pixels.dtype == np.uint8
        with Image.open(images[name]) as picture:
            np.testing.assert_array_equal(pixels, np.asarray(picture))


def test_unknown_standard_image_gets_a_suggestion():
    with pytest.raises(ValueError, match="did you mean 'camera'") as raised:
        standard_image("camra")
    assert all(name in str(raised.value) for name in standard_images())


def test_missing_standard_images_give_advice_to_reinstall(tmp_path, monkeypatch):
    monkeypatch.setattr(standard, "__file__", str(tmp_path / "package" / "reading.py"))
    assert "reinstall" in refusal(standard_images)


def test_images_have_the_checksums_of_the_sources_table():
    folder = Path(__file__).resolve().parents[2] / "images"
    if not (folder / "SOURCES.md").is_file():
        pytest.skip("needs a checkout of the repository")
    table = (folder / "SOURCES.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| (\S+\.png) .*`([0-9a-f]{64})` \|$", table, re.MULTILINE))
    sums = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.glob("*.png")}
    assert listed == sums
