"""A damaged TIFF file gives a one-line error, and no log messages of tifffile."""

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
    """Return the file with some bytes changed, and possibly truncated."""
    rng = random.Random(seed)
    content = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        content[rng.randrange(8, len(content))] = rng.randrange(256)
    return content[: rng.randrange(len(content) // 2, len(content) + 1)]


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_damaged_files_give_a_one_line_error(content, tmp_path, capsys, monkeypatch):
    """Only the messages of Python are checked; libtiff may write to the file descriptor itself."""
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
