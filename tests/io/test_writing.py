"""Image files must go out bit for bit, and never be half written."""

import os
import struct
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import tifffile
from disk import no_space
from image_files import noise, refusal
from on_posix import not_as_root, only_on_posix
from PIL import Image

from nnk_image.base import atomic
from nnk_image.io.images import (
    ImageFile,
    ImageFileError,
    atomic_output,
    check_writable,
    image_paths,
    read_image,
    write_bytes_atomically,
    write_image,
)

SHAPES = [(5, 7), (5, 7, 3), (1, 1), (1, 9, 3), (9, 1), (3, 4), (4, 3)]

LOSSLESS = [
    (".png", np.uint8),
    (".png", np.uint16),
    (".tif", np.uint8),
    (".tif", np.uint16),
    (".tif", np.float32),
]
LOSSLESS = [(*case, alpha) for case in LOSSLESS for alpha in (False, True)]
LOSSLESS += [(".pnm", np.uint8, False), (".pnm", np.uint16, False)]


# Round trips


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("extension", "dtype", "alpha"), LOSSLESS)
def test_round_trip_is_bit_exact(tmp_path, extension, dtype, shape, alpha):
    path = tmp_path / f"image{extension}"
    pixels = noise(shape, dtype)
    like = ImageFile(pixels, noise(shape[:2], dtype) if alpha else None)
    write_image(path, pixels, like=like)
    back = read_image(path)
    assert back.format == {".png": "PNG", ".tif": "TIFF", ".pnm": "PPM"}[extension]
    assert back.pixels.dtype == dtype
    assert back.pixels.dtype.isnative
    assert back.pixels.flags.c_contiguous
    assert back.pixels.flags.writeable
    np.testing.assert_array_equal(back.pixels, pixels)
    if alpha:
        assert back.alpha.dtype == dtype
        np.testing.assert_array_equal(back.alpha, like.alpha)
    else:
        assert back.alpha is None


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_written_files_read_the_same_elsewhere(tmp_path, channels, dtype):
    samples = noise((6, 5, channels), dtype)
    pixels = samples[..., 0] if channels < 3 else samples[..., :3]
    like = ImageFile(pixels, samples[..., -1] if channels in (2, 4) else None)
    for extension in (".png", ".tif"):
        write_image(tmp_path / f"image{extension}", pixels, like=like)
    squeezed = samples[..., 0] if channels == 1 else samples
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "image.tif"), squeezed)
    if dtype == np.uint8:
        for extension in (".png", ".tif"):
            with Image.open(tmp_path / f"image{extension}") as picture:
                np.testing.assert_array_equal(np.asarray(picture), squeezed)
    else:
        data = (tmp_path / "image.png").read_bytes()
        np.testing.assert_array_equal(png_samples(data, channels), samples)


def png_samples(data, channels):
    """Samples of a 16-bit PNG whose rows all use the filter up."""
    width, height, depth = struct.unpack(">IIB", data[16:25])
    assert depth == 16
    packed = b"".join(body for name, body in png_chunks(data) if name == b"IDAT")
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, -1)
    assert set(rows[:, 0]) == {2}
    plain = np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8)
    return plain.view(">u2").reshape(height, width, channels)


def png_chunks(data):
    offset = 8
    while offset < len(data):
        length, name = struct.unpack(">I4s", data[offset : offset + 8])
        body = data[offset + 8 : offset + 8 + length]
        assert struct.unpack(">I", data[offset + 8 + length :][:4])[0] == zlib.crc32(name + body)
        yield name, body
        offset += 12 + length


@pytest.mark.parametrize("shape", [(32, 48), (32, 48, 3)], ids=str)
@pytest.mark.parametrize("extension", [".jpg", ".jpeg", ".JPG"])
def test_jpeg_matches_pillow(tmp_path, shape, extension):
    path = tmp_path / f"image{extension}"
    pixels = np.broadcast_to(np.linspace(0, 255, 48)[:, None], (48, 3)).astype(np.uint8)
    pixels = np.broadcast_to(pixels[:, 0] if len(shape) == 2 else pixels, shape)
    write_image(path, pixels)
    back = read_image(path)
    assert back.format == "JPEG"
    with Image.open(path) as picture:
        np.testing.assert_array_equal(back.pixels, np.asarray(picture))
    assert np.abs(back.pixels.astype(int) - pixels).max() <= 4


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_ppm_holds_grey_as_three_equal_channels(tmp_path, dtype):
    pixels = noise((3, 5), dtype)
    write_image(tmp_path / "grey.ppm", pixels)
    back = read_image(tmp_path / "grey.ppm").pixels
    np.testing.assert_array_equal(back, np.stack([pixels] * 3, axis=2))


def test_pgm_is_read_by_pillow(tmp_path):
    pixels = noise((3, 5), np.uint16)
    write_image(tmp_path / "grey.pgm", pixels)
    with Image.open(tmp_path / "grey.pgm") as picture:
        np.testing.assert_array_equal(np.asarray(picture), pixels)


@pytest.mark.parametrize(
    ("extension", "dtype"),
    [(".png", np.uint8), (".png", np.uint16), (".tif", np.uint8), (".tif", np.uint16),
     (".jpg", np.uint8)],
)  # fmt: skip
def test_profile_and_resolution_survive(tmp_path, extension, dtype):
    like = ImageFile(noise((4, 4, 3), dtype), icc_profile=bytes(range(200)), dpi=(300.0, 150.0))
    path = tmp_path / f"m{extension}"
    write_image(path, like.pixels, like=like)
    back = read_image(path)
    assert back.icc_profile == like.icc_profile
    assert back.dpi == pytest.approx(like.dpi, abs=0.02)
    with Image.open(path) as picture:
        assert picture.info["icc_profile"] == like.icc_profile
        assert picture.info["dpi"] == pytest.approx(like.dpi, abs=0.02)


def test_profile_is_not_lent_to_other_channels(tmp_path):
    like = ImageFile(noise((4, 4, 3)), icc_profile=bytes(200))
    write_image(tmp_path / "g.png", noise((4, 4)), like=like)
    assert read_image(tmp_path / "g.png").icc_profile is None


# What may be written


def test_floats_are_rounded_and_clipped(tmp_path):
    values = np.array([[-3.0, 0.4, 0.6, 254.6, 255.4, 1e9, np.inf]])
    write_image(tmp_path / "f.png", values)
    np.testing.assert_array_equal(
        read_image(tmp_path / "f.png").pixels, [[0, 0, 1, 255, 255, 255, 255]]
    )
    like = ImageFile(np.zeros((1, 7), np.uint16))
    write_image(tmp_path / "f.png", values, like=like)
    back = read_image(tmp_path / "f.png").pixels
    assert back.dtype == np.uint16
    np.testing.assert_array_equal(back, [[0, 0, 1, 255, 255, 65535, 65535]])


def test_big_endian_pixels_are_written_with_all_bits(tmp_path):
    pixels = noise((4, 5), np.uint16)
    write_image(tmp_path / "b.png", pixels.astype(">u2"))
    np.testing.assert_array_equal(read_image(tmp_path / "b.png").pixels, pixels)


@pytest.mark.parametrize(
    "image",
    [np.zeros(4), np.zeros((0, 4)), np.zeros((4, 4, 2)), np.full((2, 2), np.nan),
     np.zeros((2, 2), complex)],
    ids=["1-D", "empty", "two channels", "nan", "complex"],
)  # fmt: skip
def test_arrays_that_are_no_images(tmp_path, image):
    with pytest.raises(ValueError, match="image"):
        write_image(tmp_path / "x.png", image)
    assert list(tmp_path.iterdir()) == []


def test_transparency_must_match_the_image(tmp_path):
    like = ImageFile(np.zeros((4, 4), np.uint16), alpha=np.zeros((4, 4), np.uint16))
    with pytest.raises(ValueError, match="shape"):
        write_image(tmp_path / "x.png", np.zeros((5, 4)), like=like)
    with pytest.raises(ValueError, match="uint8"):
        write_image(tmp_path / "x.png", np.zeros((4, 4), np.uint8), like=like)


@pytest.mark.parametrize(
    ("name", "like", "complaint"),
    [
        ("x.xcf", None, "unknown extension '.xcf'"),
        ("x.bmp", None, ".bmp is only read"),
        ("x", None, "no extension"),
        ("nowhere/x.png", None, "does not exist"),
        ("folder.png", None, "is a folder"),
        ("x.jpg", ImageFile(np.zeros((2, 2), np.uint16)), "JPEG cannot hold uint16"),
        ("x.png", ImageFile(np.zeros((2, 2), np.float32)), "PNG cannot hold float32"),
        ("x.pgm", ImageFile(np.zeros((2, 2, 3), np.uint8)), "cannot hold colour"),
        ("x.jpg", ImageFile(*np.zeros((2, 2, 2), np.uint8)), "JPEG cannot hold transparency"),
        ("x.ppm", ImageFile(*np.zeros((2, 2, 2), np.uint8)), "PGM/PPM cannot hold transparency"),
    ],
)
def test_impossible_outputs_are_refused_early(tmp_path, name, like, complaint):
    (tmp_path / "folder.png").mkdir()
    path = tmp_path / name
    assert complaint in refusal(check_writable, path, like)
    pixels = np.zeros((2, 2)) if like is None else like.pixels
    assert complaint in refusal(write_image, path, pixels, like=like)
    assert [p.name for p in tmp_path.iterdir()] == ["folder.png"]


def test_possible_outputs_are_not_refused(tmp_path):
    check_writable(tmp_path / "x.png")
    check_writable(tmp_path / "x.TIFF", ImageFile(np.zeros((2, 2), np.float32)))
    assert list(tmp_path.iterdir()) == []


@not_as_root
def test_write_protection_is_respected(tmp_path):
    path = tmp_path / "x.png"
    write_image(path, noise((2, 2)))
    path.chmod(0o444)
    assert "write-protected" in refusal(check_writable, path)
    tmp_path.chmod(0o555)
    assert "not writable" in refusal(check_writable, tmp_path / "y.png")
    tmp_path.chmod(0o755)


# All or nothing


def test_input_may_be_the_output(tmp_path):
    path = tmp_path / "same.png"
    write_image(path, noise((4, 4), np.uint16))
    image = read_image(path)
    write_image(path, image.pixels.astype(float) / 2, like=image)
    np.testing.assert_array_equal(read_image(path).pixels, np.rint(image.pixels / 2))
    assert os.listdir(tmp_path) == ["same.png"]


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize(
    ("failure", "raised"), [(no_space, ImageFileError), (interrupt, KeyboardInterrupt)]
)
def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch, step, failure, raised):
    path = tmp_path / "x.png"
    write_image(path, noise((4, 4)))
    before = path.read_bytes()
    monkeypatch.setattr(os, step, failure)
    with pytest.raises(raised) as caught:
        write_image(path, noise((4, 4)))
    if raised is ImageFileError:
        assert "No space left" in str(caught.value)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.png"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_while_writing(tmp_path, monkeypatch):
    real_open = open
    monkeypatch.setattr("builtins.open", lambda path, mode, **_: real_open("/dev/full", "wb"))
    with pytest.raises(ImageFileError, match="No space left"):
        write_bytes_atomically(tmp_path / "x.png", bytes(100_000))
    assert os.listdir(tmp_path) == []


def test_failing_block_leaves_the_old_file(tmp_path):
    path = tmp_path / "report.csv"
    with atomic_output(path, text=True) as file:
        file.write("µ,1\r\n2\n")
    assert path.read_bytes() == "µ,1\r\n2\n".encode()
    missing = tmp_path / "another file"
    with pytest.raises(FileNotFoundError), atomic_output(path) as file:
        file.write(missing.read_bytes())
    assert path.read_bytes() == "µ,1\r\n2\n".encode()
    assert os.listdir(tmp_path) == ["report.csv"]


KILLED = """
import os, sys, types
package = types.ModuleType("package")
package.__path__ = [{package!r}]
sys.modules["package"] = package
from package.atomic import atomic_output
def die(*_): os._exit(9)
if {step!r} == "write":
    with atomic_output({path!r}) as file:
        file.write(b"half of the new content"); file.flush(); die()
setattr(os, {step!r}, die)
with atomic_output({path!r}) as file:
    file.write(b"new content")
"""


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_killed_writer_leaves_the_old_file(tmp_path, step):
    path = tmp_path / "x.png"
    path.write_bytes(b"old content")
    package = str(Path(atomic.__file__).parent)
    script = KILLED.format(package=package, path=str(path), step=step)
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == 9
    assert path.read_bytes() == b"old content"
    assert image_paths([tmp_path]) == [path]  # whatever is left over is no image


def test_symbolic_link_stays_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "target.png", tmp_path / "link.png"
    with suppress(OSError):  # Windows lets few users do this
        link.symlink_to(target)
    if not link.is_symlink():
        pytest.skip("no symbolic links here")
    for value in (1, 2):  # first a dangling link, then one to a file
        write_image(link, np.full((2, 2), value))
        assert link.is_symlink()
        assert not target.is_symlink()
        assert read_image(target).pixels[0, 0] == value


@only_on_posix
def test_permissions(tmp_path):
    path = tmp_path / "x.png"
    old = os.umask(0o027)
    try:
        write_image(path, noise((2, 2)))
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o604)
    write_image(path, noise((2, 2)))
    assert path.stat().st_mode & 0o777 == 0o604
