"""Image files are written bit for bit, and completely or not at all."""

import errno
import os
from contextlib import suppress
from unittest.mock import Mock

import numpy as np
import pytest
import tifffile
from image_files import noise, refusal
from on_posix import not_as_root, only_on_posix
from PIL import Image, features

from nnk_image.io import ImageFileError, read, write
from nnk_image.io.files import check_writable

SHAPES = [(5, 7, 3), (1, 1), (9, 1), (4, 3)]
FORMATS = {".png": "PNG", ".tif": "TIFF", ".webp": "WEBP", ".bmp": "BMP", ".pnm": "PPM"}
LOSSLESS = [
    *((".png", dtype, alpha) for dtype in ("uint8", "uint16", ">u2") for alpha in (0, 1)),
    *((".tif", dtype, alpha) for dtype in ("uint8", "uint16", "float32") for alpha in (0, 1)),
    *((".webp", "uint8", 0), (".webp", "uint8", 1)),
    *((".bmp", "uint8", 0), (".pnm", "uint8", 0), (".npy", "uint16", 0)),
]


# Round trips


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("extension", "dtype", "alpha"), LOSSLESS)
def test_round_trip_is_bit_exact(tmp_path, extension, dtype, shape, alpha):
    path = tmp_path / f"image{extension}"
    pixels = noise(shape, np.dtype(dtype).newbyteorder("="))
    opacity = noise(shape[:2], pixels.dtype) if alpha else None
    write(path, pixels.astype(dtype), {"alpha": opacity})
    back, about = read(path, axes="YXS"[: len(shape)] if extension == ".npy" else None)
    assert about.format == FORMATS.get(extension, "NPY")
    if extension == ".webp" and pixels.ndim == 2:  # stored as colors
        pixels = np.dstack([pixels] * 3)
    assert back.dtype.isnative
    assert back.flags.c_contiguous
    assert back.flags.writeable
    np.testing.assert_array_equal(back, pixels, strict=True)
    np.testing.assert_array_equal(about.alpha, opacity)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_written_files_are_read_identically_by_other_libraries(tmp_path, channels, dtype):
    samples = noise((6, 5, channels), dtype)
    pixels = samples[..., 0] if channels < 3 else samples[..., :3]
    about = {"alpha": samples[..., -1] if channels in (2, 4) else None}
    squeezed = samples[..., 0] if channels == 1 else samples
    write(tmp_path / "image.tif", pixels, about)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "image.tif"), squeezed)
    by_pillow = ["image.png", "image.tif"] if dtype == np.uint8 else []
    for name in [*by_pillow, *(["image.pgm"] if channels == 1 else [])]:
        write(tmp_path / name, pixels, about)
        with Image.open(tmp_path / name) as picture:
            np.testing.assert_array_equal(np.asarray(picture), squeezed)


@pytest.mark.parametrize("extension", [".jpg"] + [".avif"] * features.check("avif"))
def test_lossy_formats_are_nearly_exact(tmp_path, extension):
    ramp = np.add.outer(np.arange(40), 2 * np.arange(50)).astype(np.uint8)
    pixels = np.stack([ramp, 255 - ramp, ramp // 2], axis=2)
    write(tmp_path / f"image{extension}", pixels)
    back, _ = read(tmp_path / f"image{extension}")
    assert np.abs(back.astype(int) - pixels).max() <= 8


@pytest.mark.parametrize(
    ("extension", "dtype"),
    [(".png", np.uint8), (".png", np.uint16), (".tif", np.uint8), (".tif", np.uint16),
     (".jpg", np.uint8)],
)  # fmt: skip
def test_profile_and_resolution_are_kept(tmp_path, extension, dtype):
    profile, dpi = bytes(range(200)), (300.0, 150.0)
    path = tmp_path / f"m{extension}"
    write(path, noise((4, 4, 3), dtype), {"icc_profile": profile, "dpi": dpi})
    for _ in range(2):  # written anew, then overwritten
        pixels, about = read(path)
        assert about.icc_profile == profile
        assert about.dpi == pytest.approx(dpi, abs=0.02)
        with Image.open(path) as picture:
            assert picture.info["icc_profile"] == profile
            assert picture.info["dpi"] == pytest.approx(dpi, abs=0.02)
        write(path, pixels, about)


# What can be written


CLEAR = {"alpha": np.zeros((2, 2), np.uint8)}
FLOAT = {"dtype": np.dtype("f4")}


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "about", "complaint"),
    [
        ("x.xcf", (2, 2), "f8", None, "unknown extension '.xcf'"),
        ("x.gif", (2, 2), "f8", None, ".gif is only read"),
        ("x", (2, 2), "f8", None, "no extension"),
        ("nowhere/x.png", (2, 2), "f8", None, "does not exist"),
        ("folder.png", (2, 2), "f8", None, "is a folder"),
        ("x.png", (2, 2), "f8", FLOAT, "PNG cannot hold float32"),
        ("x.jpg", (2, 2), "u2", None, "JPEG cannot hold uint16"),
        ("x.png", (2, 2), "i8", None, "PNG cannot hold int64; convert it to uint8, or write .tif"),
        ("x.pgm", (2, 2, 3), "u1", None, "cannot hold color"),
        ("x.ppm", (2, 2, 3), "u2", None, "16 bits in color"),
        ("x.webp", (16384, 8), "u1", None, "WEBP cannot hold sides above 16383 pixels"),
        ("x.jpg", (2, 2), "u1", CLEAR, "JPEG cannot hold transparency"),
        ("x.ppm", (2, 2), "u1", CLEAR, "PGM/PPM cannot hold transparency"),
        # stacks
        ("x.png", (5, 6, 7), "u1", None, "PNG cannot hold 5x6x7 pixels with axes ZYX; write .tif"),
        ("x.tif", (5, 6, 7), "u1", {"axes": "PYX"}, "TIFF cannot hold axes PYX"),
        ("x.tif", (5, 6, 7), "u1", {"axes": "YXS"}, "cannot store 7 colors per pixel"),
        ("x.nii", (5, 6, 7), "u1", {"axes": "PYX"}, "NIfTI cannot hold axes PYX"),
        ("x.nii", (5, 6, 7), "f2", None, "NIfTI cannot hold float16"),
        *(("x.tif", (5, 6, 7), dtype, None, "convert it to") for dtype in ("f2", "i8", "u8", "g")),
    ],
)
def test_impossible_outputs_are_refused_early(tmp_path, name, shape, dtype, about, complaint):
    (tmp_path / "folder.png").mkdir()
    for call in (check_writable, write):
        assert complaint in refusal(call, tmp_path / name, np.zeros(shape, dtype), about)
    assert [p.name for p in tmp_path.iterdir()] == ["folder.png"]


@not_as_root
def test_write_protection_is_respected(tmp_path):
    path = tmp_path / "x.png"
    write(path, noise((2, 2)))
    path.chmod(0o444)
    for call in (check_writable, write):
        assert "write-protected" in refusal(call, path, noise((2, 2)))


# Interrupted and failing writes


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [(OSError(errno.ENOSPC, "No space left on device"), ImageFileError, "No space left"),
     (KeyboardInterrupt(), KeyboardInterrupt, None)],
)  # fmt: skip
def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch, step, error, raised, message):
    path = tmp_path / "x.png"
    write(path, noise((4, 4)))
    before = path.read_bytes()
    monkeypatch.setattr(os, step, Mock(side_effect=error))
    with pytest.raises(raised, match=message):
        write(path, noise((4, 4)))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.png"]


def test_symbolic_link_stays_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "target.png", tmp_path / "link.png"
    with suppress(OSError):  # Windows allows this to few users
        link.symlink_to(target)
    if not link.is_symlink():
        pytest.skip("needs symbolic links")
    for value in (1, 2):  # first a dangling link, then one to a file
        write(link, np.full((2, 2), value, np.uint8))
        assert link.is_symlink()
        assert not target.is_symlink()
        assert read(target)[0][0, 0] == value


@only_on_posix
def test_permissions_follow_the_umask_or_the_old_file(tmp_path):
    path = tmp_path / "x.png"
    old = os.umask(0o027)
    try:
        write(path, noise((2, 2)))
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o604)
    write(path, noise((2, 2)))
    assert path.stat().st_mode & 0o777 == 0o604


# Invalid arguments


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"spacing": (2, -1, 1)}, r"spacing \(2, -1, 1\) .* above 0"),
        ({"spacing": (2, np.nan, 1)}, "above 0"),
        ({"spacing": ("a", "b", "c")}, "one number above 0"),
        ({"spacing": 2.0}, "one number above 0, or None, for each letter of axes='ZYX'"),
        ({"axes": "", "spacing": 2.0}, "for each letter of axes=''"),
        ({"dpi": 300}, "two numbers from 1 to 65535"),
        ({"dpi": (1e9, 72)}, "two numbers from 1 to 65535"),  # a JPEG would keep 16 bits of it
    ],
)
@pytest.mark.parametrize("name", ["x.tif", "x.nii", "x.npy"])
def test_invalid_metadata_is_refused(tmp_path, name, about, message):
    with pytest.raises(ValueError, match=message):
        write(tmp_path / name, np.zeros((3, 4, 5), np.uint8), {"axes": "ZYX", **about})
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("metadata", ["YX", np.zeros((4, 5)), (300, 300)])
def test_metadata_of_another_type_is_refused(tmp_path, metadata):
    with pytest.raises(TypeError, match=f"metadata must be .* not {type(metadata).__name__}"):
        write(tmp_path / "x.png", noise((4, 5)), metadata)


def test_masked_values_become_nan_or_are_refused(tmp_path):
    image = np.ma.masked_greater(np.arange(20.0).reshape(4, 5), 15)
    write(tmp_path / "x.tif", image)
    np.testing.assert_array_equal(read(tmp_path / "x.tif")[0], image.filled(np.nan))
    with pytest.raises(ValueError, match="contains NaN"):
        write(tmp_path / "x.png", image.astype(np.uint8))


@pytest.mark.parametrize("name", ["x.jpg", "x.bmp", "x.ppm", "x.npy"])
def test_opaque_alpha_is_left_out_where_a_format_cannot_hold_it(tmp_path, name):
    pixels = np.full((4, 4, 3), 77, np.uint8)
    write(tmp_path / name, pixels, {"alpha": np.full((4, 4), 255, np.uint8), "axes": "YXS"})
    np.testing.assert_array_equal(
        read(tmp_path / name, axes="YXS" if name == "x.npy" else None)[0], pixels
    )


@pytest.mark.parametrize(
    ("shape", "dtype", "message"),
    [
        ((5, 4), np.uint16, "array is uint16 .* its transparency"),
        ((4, 4), np.uint8, "array is uint8 .* its transparency"),
        ((4, 4, 4), np.uint16, "leave out alpha"),
    ],
)
def test_transparency_must_match_the_image(tmp_path, shape, dtype, message):
    about = {"alpha": np.zeros((4, 4), np.uint16)}
    for call in (check_writable, write):
        with pytest.raises(ValueError, match=message):
            call(tmp_path / "x.png", np.zeros(shape, dtype), about)
    assert list(tmp_path.iterdir()) == []
