"""Images are read bit for bit and upright, or refused with advice."""

import gzip
import os
import struct
import sys
import zlib

import numpy as np
import pytest
import tifffile
from image_files import noise, refusal
from on_posix import not_as_root
from PIL import Image, ImageOps

from nnk_image.io import read, write
from nnk_image.io.files import check_writable
from nnk_image.io.metadata import samples_of

ORIENTATION = 0x0112


def save(path, picture, **options):
    picture.save(path, **options)
    return path


def samples_in(path):
    """Return gray or RGB values and transparency, of shape (H, W, 1 to 4)."""
    return np.atleast_3d(samples_of(*read(path)))


# PNG files written according to the specification, independently of the library


def png_bytes(samples, color_type, *, depth=16, extra=b""):
    """Return a PNG file without filters."""
    height, width, _ = samples.shape
    rows = samples.astype(f">u{depth // 8}").view(np.uint8).reshape(height, -1)
    raw = np.pad(rows, ((0, 0), (1, 0))).tobytes()
    header = struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, 0)
    chunks = png_chunk(b"IHDR", header) + extra + png_chunk(b"IDAT", zlib.compress(raw))
    return b"\x89PNG\r\n\x1a\n" + chunks + png_chunk(b"IEND", b"")


def png_chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


@pytest.mark.parametrize(("color_type", "channels"), [(0, 1), (4, 2), (2, 3), (6, 4)])
def test_sixteen_bit_png_keeps_all_bits(tmp_path, color_type, channels):
    samples = noise((11, 6, channels), np.uint16)
    path = tmp_path / "deep.png"
    path.write_bytes(png_bytes(samples, color_type))
    np.testing.assert_array_equal(samples_in(path), samples, strict=True)


@pytest.mark.parametrize(("color_type", "channels"), [(0, 1), (2, 3)])
@pytest.mark.parametrize("depth", [8, 16])
def test_transparent_color_becomes_alpha(tmp_path, color_type, channels, depth):
    samples = noise((4, 5, channels), np.uint8 if depth == 8 else np.uint16)
    key = samples[2, 3].astype(">u2").tobytes()
    path = tmp_path / "key.png"
    path.write_bytes(png_bytes(samples, color_type, depth=depth, extra=png_chunk(b"tRNS", key)))
    pixels, about = read(path)
    hidden = (samples == samples[2, 3]).all(axis=2)
    np.testing.assert_array_equal(about.alpha == 0, hidden)
    assert set(np.unique(about.alpha)) == {0, 2**depth - 1}
    np.testing.assert_array_equal(pixels, samples[..., 0] if channels == 1 else samples)


# TIFF


@pytest.mark.parametrize(
    ("layout", "dtype"),
    [
        *((layout, "uint16") for layout in ("gray", "contig", "separate", "lzw", "lzw gray")),
        *(("contig", t) for t in ("int8", "int16", "uint32", "float16", "float32", "float64")),
        ("lzw gray", "float32"),
    ],
)
def test_tiff_keeps_all_bits_in_native_order(tmp_path, layout, dtype):
    pixels, options = noise((5, 7, 3), dtype), {"photometric": "rgb"}
    if "gray" in layout:
        pixels, options = pixels[..., 0], {"photometric": "minisblack"}
    if "lzw" in layout:
        options |= {"compression": "lzw", "metadata": None}
    stored = pixels
    if layout == "separate":
        stored, options["planarconfig"] = np.moveaxis(pixels, 2, 0), "separate"
    for order in "<>":
        tifffile.imwrite(tmp_path / "t.tif", stored, byteorder=order, **options)
        back, about = read(tmp_path / "t.tif")
        assert back.dtype.isnative
        np.testing.assert_array_equal(back, pixels, strict=True)
        assert (about.axes, about.dtype) == ("YXS"[: pixels.ndim], dtype)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_white_is_zero_tiff_is_inverted(tmp_path, dtype):
    pixels = noise((4, 6), dtype)
    tifffile.imwrite(tmp_path / "t.tif", pixels, photometric="miniswhite")
    back = read(tmp_path / "t.tif")[0]
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, np.iinfo(dtype).max - pixels)


def test_eight_bit_tiff_with_compression_that_pillow_lacks(tmp_path):
    pytest.importorskip("imagecodecs")
    pixels = noise((16, 16, 3))
    tifffile.imwrite(tmp_path / "t.tif", pixels, photometric="rgb", compression="webp")
    np.testing.assert_array_equal(read(tmp_path / "t.tif")[0], pixels)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_thumbnail_pages_in_tiff_are_ignored(tmp_path, dtype):
    pixels = noise((8, 8), dtype)
    with tifffile.TiffWriter(tmp_path / "t.tif") as writer:
        writer.write(pixels, metadata=None)
        writer.write(pixels[::2, ::2], subfiletype=1, metadata=None)
    np.testing.assert_array_equal(read(tmp_path / "t.tif")[0], pixels)


# PNM


def test_pnm_of_16_bits_is_read_in_gray_and_refused_in_color(tmp_path):
    path = tmp_path / "image.pnm"
    path.write_bytes(b"P5 2 1 65535\n\x12\x34\xff\xfe")
    np.testing.assert_array_equal(read(path)[0], np.array([[0x1234, 0xFFFE]], "u2"), strict=True)
    path.write_bytes(b"P6 1 1 65535\nabcdef")
    assert "convert it to PNG or TIFF" in refusal(read, path)


# Pixel formats and orientation

GRAY = Image.fromarray(noise((16, 16)))
BITS, PALETTE = GRAY.convert("1"), Image.fromarray(noise((6, 6, 3))).quantize(8)


@pytest.mark.parametrize(
    ("name", "picture", "options", "mode"),
    [
        *(("g.tif", GRAY, {"compression": c}, "L") for c in ("tiff_lzw", "jpeg", "packbits")),
        ("b.tif", BITS, {"compression": "group4"}, "L"),
        *((name, BITS, {}, "L") for name in ("b.tif", "b.png")),
        *((name, PALETTE, {}, "RGB") for name in ("p.tif", "p.png")),
        ("p.png", PALETTE, {"transparency": bytes([0, 128, *[255] * 6])}, "RGBA"),
    ],
)
def test_pixels_are_those_that_pillow_reads(tmp_path, name, picture, options, mode):
    path = save(tmp_path / name, picture, **options)
    with Image.open(path) as reference:
        expected = np.atleast_3d(reference.convert(mode))
    np.testing.assert_array_equal(samples_in(path), expected)
    assert read(path)[1].dpi is None


def test_cmyk_jpeg_becomes_rgb_without_its_profile(tmp_path):
    picture = Image.fromarray(noise((16, 16, 4)), "CMYK")
    path = save(tmp_path / "c.jpg", picture, icc_profile=b"cmyk" * 40)
    with Image.open(path) as reference:
        expected = np.asarray(reference.convert("RGB"))
    with pytest.warns(UserWarning, match="CMYK becomes RGB without its color profile"):
        pixels, about = read(path)
    np.testing.assert_array_equal(pixels, expected)
    assert about.icc_profile is None
    with pytest.raises(UserWarning, match="CMYK becomes"):  # which pytest makes an error
        read(path)
    read(save(tmp_path / "without.jpg", picture))  # no warning


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", ["o.jpg", "o.png", "o.tif", "deep.png", "deep.tif", "lzw.tif"])
def test_orientation_is_applied_once_to_pixels_and_resolution(tmp_path, name, orientation):
    path, pixels = tmp_path / name, noise((16, 24), np.uint8 if name[0] == "o" else np.uint16)
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    if name in ("deep.tif", "lzw.tif"):
        options = {"resolution": (100, 200), "resolutionunit": "INCH"}
        options["compression"] = "lzw" if name == "lzw.tif" else None
        tag = (ORIENTATION, "H", 1, orientation, True)
        tifffile.imwrite(path, pixels, extratags=[tag], **options)
    else:
        Image.fromarray(pixels).save(path, exif=exif, dpi=(100, 200))
    if name == "o.jpg":
        with Image.open(path) as picture:
            pixels = np.asarray(picture)
    by_pillow = Image.fromarray(pixels.astype(np.int32))
    by_pillow.getexif()[ORIENTATION] = orientation
    upright = np.asarray(ImageOps.exif_transpose(by_pillow))
    back, about = read(path)
    np.testing.assert_array_equal(back, upright)
    dpi = (200, 100) if orientation >= 5 else (100, 200)
    assert about.dpi == pytest.approx(dpi, abs=0.02)
    write(tmp_path / "again.png", back, about)
    np.testing.assert_array_equal(read(tmp_path / "again.png")[0], upright)


# Files that are refused


@not_as_root
def test_unreadable_files_are_refused(tmp_path):
    (tmp_path / "secret.png").touch(mode=0)
    assert "Permission denied" in refusal(read, tmp_path / "secret.png")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    for call in (read, check_writable):
        assert "not an ordinary file" in refusal(call, tmp_path / "pipe.png")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"hello, world", "known image format"),
        (gzip.compress(b"hello", mtime=0), "is packed by gzip, but is no NIfTI"),
        (None, "No such file"),
    ],
)
def test_unknown_formats_are_refused(tmp_path, data, message):
    path = tmp_path / "x.png"
    if data is not None:
        path.write_bytes(data)
    assert message in refusal(read, path)
    assert "is a folder" in refusal(read, tmp_path)


def bomb():
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)
    chunks = png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(bytes(1000)))
    return b"\x89PNG\r\n\x1a\n" + chunks + png_chunk(b"IEND", b"")


@pytest.mark.parametrize("data", [bomb(), b"P5 60000 60000 255\n", b"P5 20000 10000 255\n"])
def test_decompression_bombs_are_refused_before_decoding(tmp_path, data):
    path = tmp_path / "bomb.png"
    path.write_bytes(data)
    assert "more than the limit" in refusal(read, path)


def test_max_pixels_lowers_and_raises_the_limit(tmp_path, monkeypatch):
    pixels = noise((10, 10))
    for name in ("x.png", "x.jpg", "x.tif", "x.pgm"):
        path = tmp_path / name
        write(path, pixels)
        assert "10x10 = 100 pixels" in refusal(read, path, max_pixels=99)
        with monkeypatch.context() as patch:
            patch.setattr(Image, "MAX_IMAGE_PIXELS", 20)
            assert "limit of 40" in refusal(read, path)
            assert read(path, max_pixels=100)[0].shape == (10, 10)
            assert Image.MAX_IMAGE_PIXELS == 20
            patch.setattr(Image, "MAX_IMAGE_PIXELS", 50)
            assert read(path)[0].shape == (10, 10)


@pytest.mark.parametrize(
    ("channels", "dtype", "photometric", "extra", "message"),
    [
        (2, "uint8", "minisblack", None, "not labeled"),
        (5, "uint8", "minisblack", None, "not labeled"),
        (4, "uint8", "rgb", "unspecified", "not labeled"),
        (4, "uint16", "rgb", "assocalpha", "not labeled"),  # premultiplied
        (5, "uint8", "separated", None, "not labeled"),  # CMYK and one
        (4, "uint16", "separated", None, "save it as"),
    ],
)
def test_tiffs_with_ambiguous_channels_are_refused(
    tmp_path, channels, dtype, photometric, extra, message
):
    options = {"photometric": photometric, "planarconfig": "contig"}
    options |= {"extrasamples": [extra]} if extra else {}
    tifffile.imwrite(tmp_path / "u.tif", noise((4, 4, channels), dtype), **options)
    assert message in refusal(read, tmp_path / "u.tif")


# Other formats


@pytest.mark.parametrize("kind", ["WEBP", "GIF", "PNG"])
def test_the_first_frame_is_read_with_a_warning(tmp_path, kind):
    frames = [Image.fromarray(np.full((4, 6, 3), value, np.uint8)) for value in (10, 200, 90)]
    path = tmp_path / "x.bin"  # the format is recognized from the content
    frames[0].save(path, kind, save_all=True, append_images=frames[1:], lossless=True)
    with pytest.warns(UserWarning, match=f"of the 3 frames of a {kind} file only the first"):
        pixels, _ = read(path)
    np.testing.assert_array_equal(pixels, 10)


def test_only_color_png_of_16_bits_needs_imagecodecs(tmp_path, monkeypatch):
    (tmp_path / "c.png").write_bytes(png_bytes(noise((4, 5, 3), np.uint16), 2))
    pixels = noise((4, 5), np.uint16)
    monkeypatch.setitem(sys.modules, "imagecodecs", None)
    assert "nnk_image[codecs]" in refusal(read, tmp_path / "c.png")
    write(tmp_path / "g.png", pixels)
    np.testing.assert_array_equal(read(tmp_path / "g.png")[0], pixels)
