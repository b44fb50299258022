"""A damaged TIFF costs one line on standard error, and no logs of tifffile."""

import io
import random

import numpy as np
import pytest
import tifffile
from command import run
from PIL import Image

PIXELS = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)


def by_pillow(compression):
    file = io.BytesIO()
    image = Image.fromarray(PIXELS)
    image.convert("1" if compression == "group4" else "RGB").save(
        file, "TIFF", compression=compression
    )
    return file.getvalue()


def by_tifffile(dtype, **options):
    file = io.BytesIO()
    tifffile.imwrite(file, PIXELS.astype(dtype), photometric="rgb", **options)
    return file.getvalue()


FILES = {name: by_pillow(name) for name in ("tiff_lzw", "jpeg", "group4", "tiff_deflate")} | {
    "float32": by_tifffile("float32"),
    "zlib": by_tifffile("uint16", compression="zlib"),
}


def damaged(content, seed):
    """The file with some bytes changed, and perhaps cut short."""
    random_of = random.Random(seed)
    content = bytearray(content)
    for _ in range(random_of.randint(1, 4)):
        content[random_of.randrange(8, len(content))] = random_of.randrange(256)
    return content[: random_of.randrange(len(content) // 2, len(content) + 1)]


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_damage_is_told_in_one_line(content, tmp_path, capsys, monkeypatch):
    """Of what we say; libtiff may add a line of its own to the file descriptor."""
    monkeypatch.chdir(tmp_path)
    refused = 0
    for seed in range(40):
        (tmp_path / "photo.tif").write_bytes(damaged(content, seed))
        status, _, error = run(capsys, "denoise", "photo.tif", "out.tif", "--sigma", 9, "--jobs", 1)
        assert status in (0, 1)
        assert error.count("\n") == status, error
        assert status == 0 or error.startswith("nnk-image: photo.tif: "), error
        refused += status
    assert refused > 0
