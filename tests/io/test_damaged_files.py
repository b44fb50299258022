"""Damaged files are read, or refused in one line that begins with the path."""

import numpy as np
import pytest
from image_files import noise

from nnk_image.io import ImageFileError, read, write

COLOR, VOLUME = (noise((8, 9, 3)), {}), (noise((5, 8, 9), np.uint16), {"axes": "ZYX"})
FILES = dict.fromkeys(("a.png", "a.jpg", "a.ppm", "a.tif"), COLOR)
FILES |= dict.fromkeys(("v.tif", "v.npy", "v.nii", "v.nii.gz"), VOLUME)


def damaged(whole, rng):
    """Return the bytes of a file cut off, with a part of it inserted, or with flipped bits."""
    end = len(whole) if rng.random() < 0.5 else min(400, len(whole))  # every other in the header
    place, kind = rng.integers(end), rng.integers(4)
    if kind == 0:
        return whole[:place]
    if kind == 1:
        return np.insert(whole, place, whole[-rng.integers(1, 100) :])
    bits = np.zeros_like(whole)
    bits[rng.integers(end, size=rng.integers(1, 4))] = 1 << rng.integers(8)
    return whole ^ bits


def refused(path):
    """Read a file, or return why it is refused."""
    try:
        array, about = read(path, max_pixels=1 << 16)
    except ImageFileError as error:
        return str(error)
    assert array.ndim == len(about.axes) == len(about.spacing)
    return ""


@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore")  # libraries warn about files that are read anyway
def test_damaged_files_are_read_or_refused_in_one_line(name, tmp_path, caplog):
    if ".nii" in name:
        pytest.importorskip("nibabel")
    path, rng = tmp_path / name, np.random.default_rng(list(name.encode()))
    write(path, *FILES[name])
    assert not refused(path)
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    for _ in range(100):
        path.write_bytes(damaged(whole, rng))
        reason = refused(path)
        assert not reason or reason.startswith(f"{path}: ")
        assert "\n" not in reason
    assert not [record for record in caplog.records if record.name == "tifffile"]


@pytest.mark.parametrize("length", [4, 8, 100])
def test_the_reason_has_words(tmp_path, length):
    write(tmp_path / "a.tif", *COLOR)
    (tmp_path / "b.tif").write_bytes((tmp_path / "a.tif").read_bytes()[:length])
    reason = refused(tmp_path / "b.tif")
    assert "is damaged or truncated (" in reason
    assert "(0)" not in reason  # the text of an IndexError
