"""Image files must come in and go out bit for bit, and never be half written."""

import contextlib
import errno
import hashlib
import os
import re
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageOps

from nnk_image import reading
from nnk_image.reading import (
    ImageFile,
    ImageFileError,
    atomic_output,
    check_writable,
    image_paths,
    read_image,
    standard_image,
    standard_images,
    write_bytes_atomically,
    write_image,
)

RNG = np.random.default_rng(20240229)
ORIENTATION = 0x0112
SHAPES = [(5, 7), (5, 7, 3), (1, 1), (1, 9, 3), (9, 1), (3, 4), (4, 3)]
DEPTHS = {".png": (np.uint8, np.uint16), ".tif": (np.uint8, np.uint16, np.float32)}
DEPTHS[".pnm"] = DEPTHS[".png"]


def noise(shape, dtype=np.uint8):
    """Random samples over the whole range of `dtype`."""
    top = 1 if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max
    return np.rint(RNG.random(shape) * top).astype(dtype) if top > 1 else RNG.random(shape, dtype)


def refusal(call, *arguments, **options):
    """The one-line message with which `call` refuses."""
    with pytest.raises(ImageFileError) as caught:
        call(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


# PNG by the book, independent of the library: the specification in a few lines.


def png_bytes(samples, colour_type, *, depth=16, extra=b""):
    """A PNG whose rows use the filters none, sub, up, average and paeth in turn."""
    height, width, channels = samples.shape
    step = channels * depth // 8
    rows = samples.astype(f">u{depth // 8}").view(np.uint8).reshape(height, -1).astype(int)
    above, raw = np.zeros_like(rows[0]), b""
    for index, row in enumerate(rows):
        kind = index % 5
        raw += bytes([kind]) + bytes((row - png_prediction(row, above, step, kind)) % 256 & 255)
        above = row
    header = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, 0)
    chunks = png_chunk(b"IHDR", header) + extra + png_chunk(b"IDAT", zlib.compress(raw))
    return b"\x89PNG\r\n\x1a\n" + chunks + png_chunk(b"IEND", b"")


def png_prediction(row, above, step, kind):
    left = np.concatenate([np.zeros(step, int), row[:-step]])
    corner = np.concatenate([np.zeros(step, int), above[:-step]])
    guess = left + above - corner
    distances = np.abs(np.stack([left, above, corner]) - guess)
    paeth = np.choose(distances.argmin(axis=0), [left, above, corner])
    return [0 * row, left, above, (left + above) // 2, paeth][kind]


def png_chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


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


# Round trips


@pytest.mark.parametrize("alpha", [False, True], ids=["opaque", "alpha"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    ("extension", "dtype"), [(e, d) for e, dtypes in DEPTHS.items() for d in dtypes]
)
def test_round_trip_is_bit_exact(tmp_path, extension, dtype, shape, alpha):
    if alpha and extension == ".pnm":
        pytest.skip("PNM has no alpha")
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


@pytest.mark.parametrize(("colour_type", "channels"), [(0, 1), (4, 2), (2, 3), (6, 4)])
def test_sixteen_bit_png_of_any_filter_keeps_all_bits(tmp_path, colour_type, channels):
    samples = noise((11, 6, channels), np.uint16)
    path = tmp_path / "deep.png"
    path.write_bytes(png_bytes(samples, colour_type))
    back = read_image(path)
    np.testing.assert_array_equal(back.samples(), samples)
    assert back.pixels.dtype == np.uint16


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", ["u2", "f4", "f2"])
@pytest.mark.parametrize("layout", ["grey", "contig", "separate"])
def test_tiff_of_either_byte_order_comes_native(tmp_path, order, dtype, layout):
    pixels = noise(
        (5, 7) if layout == "grey" else (5, 7, 3),
        np.dtype(dtype).type if dtype == "u2" else np.float32,
    ).astype(dtype)
    stored = np.moveaxis(pixels, 2, 0) if layout == "separate" else pixels
    options = {} if layout == "grey" else {"photometric": "rgb", "planarconfig": layout}
    tifffile.imwrite(tmp_path / "t.tif", stored, byteorder=order, **options)
    back = read_image(tmp_path / "t.tif").pixels
    assert back.dtype.isnative
    assert back.dtype == (np.uint16 if dtype == "u2" else np.float32)
    np.testing.assert_array_equal(back, pixels)


def lzw(data):
    """TIFF's LZW in its dullest form: 9-bit literals, the table cleared before it grows."""
    codes = []
    for start in range(0, len(data), 200):
        codes += [256, *data[start : start + 200]]
    bits = "".join(f"{code:09b}" for code in [*codes, 257])
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def lzw_tiff(pixels, order):
    """A one-strip, 16-bit LZW TIFF by the book: tifffile cannot unpack it unaided."""
    height, width, channels = pixels.shape
    strip = lzw(pixels.astype(f"{order}u2").tobytes())
    entries = [(256, 4, width), (257, 4, height), (258, 3, 16), (259, 3, 5),
               (262, 3, 2 if channels == 3 else 1), (273, 4, 8), (277, 3, channels),
               (278, 4, height), (279, 4, len(strip))]  # fmt: skip
    strip += b"\0" * (len(strip) % 2)
    depths_at = 8 + len(strip)
    ifd_at = depths_at + 2 * channels
    ifd = struct.pack(f"{order}H", len(entries))
    for tag, kind, value in entries:
        if tag == 258 and channels > 1:
            ifd += struct.pack(f"{order}HHII", tag, 3, channels, depths_at)
        elif kind == 3:
            ifd += struct.pack(f"{order}HHIHH", tag, kind, 1, value, 0)
        else:
            ifd += struct.pack(f"{order}HHII", tag, kind, 1, value)
    header = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", ifd_at)
    return header + strip + struct.pack(f"{order}{channels}H", *[16] * channels) + ifd + b"\0" * 4


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("channels", [1, 3])
def test_sixteen_bit_lzw_tiff_keeps_all_bits(tmp_path, order, channels):
    samples = noise((5, 7, channels), np.uint16)
    (tmp_path / "lzw.tif").write_bytes(lzw_tiff(samples, order))
    np.testing.assert_array_equal(read_image(tmp_path / "lzw.tif").samples(), samples)


@pytest.mark.parametrize("compression", ["tiff_lzw", "jpeg", "packbits", "group4"])
def test_compressed_eight_bit_tiff_matches_pillow(tmp_path, compression):
    picture = Image.fromarray(noise((16, 16)))
    picture = picture.convert("1") if compression == "group4" else picture
    picture.save(tmp_path / "t.tif", compression=compression)
    with Image.open(tmp_path / "t.tif") as reference:
        expected = np.asarray(reference.convert("L"))
    np.testing.assert_array_equal(read_image(tmp_path / "t.tif").pixels, expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_white_is_zero_tiff_is_inverted(tmp_path, dtype):
    pixels = noise((4, 6), dtype)
    tifffile.imwrite(tmp_path / "t.tif", pixels, photometric="miniswhite")
    np.testing.assert_array_equal(
        read_image(tmp_path / "t.tif").pixels, np.iinfo(dtype).max - pixels
    )


def test_thumbnail_page_in_tiff_is_no_second_frame(tmp_path):
    pixels = noise((8, 8), np.uint16)
    with tifffile.TiffWriter(tmp_path / "t.tif") as writer:
        writer.write(pixels, metadata=None)
        writer.write(pixels[::2, ::2], subfiletype=1, metadata=None)
    np.testing.assert_array_equal(read_image(tmp_path / "t.tif").pixels, pixels)


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


# PNM


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"P1\n# ink\n3 2\n101\n0 1 0\n", [[0, 255, 0], [255, 0, 255]]),
        (b"P4 3 2\n\xa0\x40", [[0, 255, 0], [255, 0, 255]]),
        (b"P2\n2 2 # size\n255\n0 1\n# more\n254 255", [[0, 1], [254, 255]]),
        (b"P2 2 1 15 0 15", [[0, 255]]),
        (b"P5 2 1 1023\n\x00\x00\x03\xff", [[0, 65535]]),
        (b"P5 2 1 65535\n\x12\x34\xff\xfe", [[0x1234, 0xFFFE]]),
        (b"P3 1 1 255 1 2 3", [[[1, 2, 3]]]),
        (b"P6 1 1 255\n\x0a\x20\x23", [[[10, 32, 35]]]),
    ],
)
def test_pnm_by_hand(tmp_path, data, expected):
    path = tmp_path / "image.pnm"
    path.write_bytes(data)
    np.testing.assert_array_equal(read_image(path).pixels, expected)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"P5 2 2 255\nabc", "truncated: 3 of 4"),
        (b"P2 2 2 255\n1 2 3", "truncated: 3 of 4"),
        (b"P5 2", "header"),
        (b"P5 2 2 0\nabcd", "maxval 0"),
        (b"P5 2 2 70000\nabcd", "maxval 70000"),
        (b"P5 2 1 100\n\x01\x65", "outside 0..100"),
        (b"P5 0 2 255\n", "0x2"),
        (b"P5 1 1 255\naP5 1 1 255\nb", "2 frames"),
        (b"P2 2 1 255\n1 x", "damaged"),
    ],
)
def test_damaged_pnm_is_refused(tmp_path, data, complaint):
    path = tmp_path / "image.pgm"
    path.write_bytes(data)
    assert complaint in refusal(read_image, path)


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


# Kinds of pixels, orientation, metadata


def save(path, picture, **options):
    picture.save(path, **options)
    return path


def test_palette_becomes_rgb(tmp_path):
    picture = Image.fromarray(noise((6, 6, 3))).quantize(8)
    path = save(tmp_path / "p.png", picture)
    back = read_image(path)
    np.testing.assert_array_equal(back.pixels, np.asarray(picture.convert("RGB")))
    assert back.alpha is None


def test_palette_with_transparency_becomes_rgb_and_alpha(tmp_path):
    picture = Image.fromarray(noise((6, 6, 3))).quantize(8)
    path = save(tmp_path / "p.png", picture, transparency=bytes([0, 128, *[255] * 6]))
    with Image.open(path) as reference:
        expected = np.asarray(reference.convert("RGBA"))
    np.testing.assert_array_equal(read_image(path).samples(), expected)


def test_palette_tiff_becomes_rgb(tmp_path):
    picture = Image.fromarray(noise((6, 6, 3))).quantize(8)
    path = save(tmp_path / "p.tif", picture)
    np.testing.assert_array_equal(read_image(path).pixels, np.asarray(picture.convert("RGB")))


@pytest.mark.parametrize("extension", [".png", ".tif"])
def test_one_bit_becomes_grey(tmp_path, extension):
    bits = noise((5, 11)) > 127
    path = save(tmp_path / f"b{extension}", Image.fromarray(bits))
    np.testing.assert_array_equal(read_image(path).pixels, bits * np.uint8(255))


def test_cmyk_jpeg_becomes_rgb_without_its_profile(tmp_path):
    picture = Image.fromarray(noise((16, 16, 4)), "CMYK")
    path = save(tmp_path / "c.jpg", picture, icc_profile=b"cmyk" * 40)
    with Image.open(path) as reference:
        expected = np.asarray(reference.convert("RGB"))
    back = read_image(path)
    np.testing.assert_array_equal(back.pixels, expected)
    assert back.icc_profile is None


@pytest.mark.parametrize(("colour_type", "channels"), [(0, 1), (2, 3)])
@pytest.mark.parametrize("depth", [8, 16])
def test_colour_key_becomes_alpha(tmp_path, colour_type, channels, depth):
    samples = noise((4, 5, channels), np.uint8 if depth == 8 else np.uint16)
    key = samples[2, 3].astype(">u2").tobytes()
    path = tmp_path / "key.png"
    path.write_bytes(png_bytes(samples, colour_type, depth=depth, extra=png_chunk(b"tRNS", key)))
    back = read_image(path)
    hidden = (samples == samples[2, 3]).all(axis=2)
    np.testing.assert_array_equal(back.alpha == 0, hidden)
    assert set(np.unique(back.alpha)) == {0, 2**depth - 1}
    np.testing.assert_array_equal(back.pixels, samples[..., 0] if channels == 1 else samples)


def test_colour_key_of_four_bit_grey(tmp_path):
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 1, 4, 0, 0, 0, 0))
    key = png_chunk(b"tRNS", b"\x00\x05")
    pixels = png_chunk(b"IDAT", zlib.compress(b"\x00\x57"))
    path = tmp_path / "key.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + key + pixels + png_chunk(b"IEND", b""))
    back = read_image(path)
    np.testing.assert_array_equal(back.pixels, [[5 * 17, 7 * 17]])
    np.testing.assert_array_equal(back.alpha, [[0, 255]])


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("extension", [".jpg", ".png", ".tif"])
def test_exif_orientation_is_applied_once(tmp_path, orientation, extension):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    path = save(tmp_path / f"o{extension}", Image.fromarray(noise((16, 24))), exif=exif)
    with Image.open(path) as picture:
        upright = np.asarray(ImageOps.exif_transpose(picture))
    first = read_image(path)
    np.testing.assert_array_equal(first.pixels, upright)
    write_image(tmp_path / "again.png", first.pixels, like=first)
    np.testing.assert_array_equal(read_image(tmp_path / "again.png").pixels, upright)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_of_sixteen_bit_files(tmp_path, orientation):
    pixels = noise((3, 5), np.uint16)
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    upright = np.asarray(ImageOps.exif_transpose(_with_exif(pixels.astype(np.int32), exif)))
    tag = (ORIENTATION, "H", 1, orientation, True)
    tifffile.imwrite(tmp_path / "o.tif", pixels, extratags=[tag])
    save(tmp_path / "o.png", Image.fromarray(pixels), exif=exif)
    for name in ("o.tif", "o.png"):
        np.testing.assert_array_equal(read_image(tmp_path / name).pixels, upright)


def _with_exif(pixels, exif):
    picture = Image.fromarray(pixels)
    picture.getexif()[ORIENTATION] = exif[ORIENTATION]
    return picture


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("extension", [".png", ".tif", ".jpg"])
def test_profile_and_resolution_survive(tmp_path, extension, dtype):
    if extension == ".jpg" and dtype == np.uint16:
        pytest.skip("JPEG has 8 bits")
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


# Refusals on reading


def test_missing_folder_and_unreadable(tmp_path):
    assert "no such file" in refusal(read_image, tmp_path / "missing.png")
    assert "is a folder" in refusal(read_image, tmp_path)
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path = tmp_path / "secret.png"
    write_image(path, noise((2, 2)))
    path.chmod(0)
    assert "may not be read" in refusal(read_image, path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    assert "not an ordinary file" in refusal(read_image, tmp_path / "pipe.png")
    assert "not an ordinary file" in refusal(check_writable, tmp_path / "pipe.png")


@pytest.mark.parametrize(
    ("data", "name"),
    [(b"", "empty"), (b"hello, world", "no image"), (b"RIFF\0\0\0\0WEBPVP8 ", "WebP"),
     (b"\0\0\0\x18ftypheic", "HEIF"), (b"P7\nWIDTH 1", "PAM"), (b"%PDF-1.7", "PDF")],
)  # fmt: skip
def test_unknown_formats_are_named(tmp_path, data, name):
    path = tmp_path / "x.png"
    path.write_bytes(data)
    assert name in refusal(read_image, path)


@pytest.mark.parametrize("extension", [".png", ".jpg", ".tif", ".ppm"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("kept", [0.9, 0.5, 0.1])
def test_truncated_files_are_refused(tmp_path, extension, dtype, kept):
    if extension == ".jpg" and dtype == np.uint16:
        pytest.skip("JPEG has 8 bits")
    path = tmp_path / f"t{extension}"
    write_image(path, noise((64, 64, 3), dtype))
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])
    assert "truncated" in refusal(read_image, path)


@pytest.mark.parametrize("extension", [".png", ".jpg", ".tif", ".ppm"])
def test_damaged_bytes_never_escape_as_other_errors(tmp_path, extension):
    path = tmp_path / f"d{extension}"
    write_image(path, noise((16, 16, 3)))
    intact = np.frombuffer(path.read_bytes(), np.uint8)
    for _ in range(150):
        damaged = intact.copy()
        damaged[RNG.integers(4, len(damaged), 3)] = RNG.integers(0, 256, 3)
        path.write_bytes(damaged.tobytes())
        with contextlib.suppress(ImageFileError):
            read_image(path, max_pixels=10_000)


def bomb(width=60_000, height=60_000):
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(bytes(1000)))
    return b"\x89PNG\r\n\x1a\n" + chunks + png_chunk(b"IEND", b"")


@pytest.mark.parametrize("data", [bomb(), b"P5 60000 60000 255\n", b"P5 10000 10000 255\n"])
def test_bombs_are_refused_before_decoding(tmp_path, data):
    path = tmp_path / "bomb.png"
    path.write_bytes(data)
    assert "more than the limit" in refusal(read_image, path)


def test_max_pixels_works_both_ways(tmp_path, monkeypatch):
    pixels = noise((10, 10))
    for name in ("x.png", "x.jpg", "x.tif", "x.pgm"):
        path = tmp_path / name
        write_image(path, pixels)
        assert "10x10 = 100 pixels" in refusal(read_image, path, max_pixels=99)
        with monkeypatch.context() as patch:
            patch.setattr(Image, "MAX_IMAGE_PIXELS", 20)
            assert "limit of 20" in refusal(read_image, path)
            assert read_image(path, max_pixels=100).pixels.shape == (10, 10)
            assert Image.MAX_IMAGE_PIXELS == 20


def frames(count=3):
    return [Image.fromarray(noise((8, 8))) for _ in range(count)]


def test_animations_and_documents_are_refused(tmp_path):
    first, *rest = frames()
    save(tmp_path / "a.gif", first, save_all=True, append_images=rest)
    assert "GIF" in refusal(read_image, tmp_path / "a.gif")
    for name in ("a.png", "a.tif"):
        save(tmp_path / name, first, save_all=True, append_images=rest)
        assert "3 frames" in refusal(read_image, tmp_path / name)


@pytest.mark.parametrize("options", [{"imagej": True}, {}, {"metadata": None}], ids=str)
def test_stacks_are_refused(tmp_path, options):
    tifffile.imwrite(tmp_path / "s.tif", noise((4, 8, 9), np.uint16), **options)
    assert "4 frames" in refusal(read_image, tmp_path / "s.tif")


@pytest.mark.parametrize(
    ("samples", "options"),
    [
        (np.zeros((4, 4), np.uint32), {}),
        (np.zeros((4, 4), np.int16), {}),
        (np.zeros((4, 4, 5), np.uint16), {"photometric": "minisblack", "planarconfig": "contig"}),
        (np.zeros((4, 4, 4), np.uint16), {"photometric": "separated"}),
        (np.zeros((4, 4, 4), np.uint16), {"photometric": "rgb", "extrasamples": ["assocalpha"]}),
        (np.zeros((4, 4, 4), np.uint8), {"photometric": "rgb", "extrasamples": ["unspecified"]}),
    ],
    ids=["uint32", "int16", "five channels", "deep CMYK", "premultiplied", "fourth channel"],
)
def test_tiffs_of_unclear_meaning_are_refused(tmp_path, samples, options):
    tifffile.imwrite(tmp_path / "u.tif", samples, **options)
    assert "save it as" in refusal(read_image, tmp_path / "u.tif")


# Writing


@pytest.mark.parametrize(
    ("name", "like", "complaint"),
    [
        ("x.bmp", None, "unknown extension '.bmp'"),
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_write_protection_is_respected(tmp_path):
    path = tmp_path / "x.png"
    write_image(path, noise((2, 2)))
    path.chmod(0o444)
    assert "write-protected" in refusal(check_writable, path)
    tmp_path.chmod(0o555)
    assert "not writable" in refusal(check_writable, tmp_path / "y.png")
    tmp_path.chmod(0o755)


def test_input_may_be_the_output(tmp_path):
    path = tmp_path / "same.png"
    write_image(path, noise((4, 4), np.uint16))
    image = read_image(path)
    write_image(path, image.pixels.astype(float) / 2, like=image)
    np.testing.assert_array_equal(read_image(path).pixels, np.rint(image.pixels / 2))
    assert os.listdir(tmp_path) == ["same.png"]


def no_space(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


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
    assert path.read_text() == "µ,1\n2\n"
    assert os.listdir(tmp_path) == ["report.csv"]


KILLED = """
import os, signal, sys, types
package = types.ModuleType("package")
package.__path__ = [{package!r}]
sys.modules["package"] = package
from package._output import atomic_output
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
if {step!r} == "write":
    with atomic_output({path!r}) as file:
        file.write(b"half of the new content"); file.flush(); die()
setattr(os, {step!r}, die)
with atomic_output({path!r}) as file:
    file.write(b"new content")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_killed_writer_leaves_the_old_file(tmp_path, step):
    path = tmp_path / "x.png"
    path.write_bytes(b"old content")
    package = str(Path(reading.__file__).parent)
    script = KILLED.format(package=package, path=str(path), step=step)
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old content"
    assert image_paths([tmp_path]) == [path]  # whatever is left over is no image


def test_symbolic_link_stays_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "target.png", tmp_path / "link.png"
    link.symlink_to(target)
    for value in (1, 2):  # first a dangling link, then one to a file
        write_image(link, np.full((2, 2), value))
        assert link.is_symlink()
        assert not target.is_symlink()
        assert read_image(target).pixels[0, 0] == value


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
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


# Paths and standard images


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
    assert "name other files" in refusal(image_paths, [tmp_path / ("x" * 5000)])


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
    folder = Path(__file__).resolve().parent.parent / "images"
    if not (folder / "SOURCES.md").is_file():
        pytest.skip("not in a checkout of the repository")
    table = (folder / "SOURCES.md").read_text(encoding="utf-8")
    noted = dict(re.findall(r"^\| (\S+\.png) .*`([0-9a-f]{64})` \|$", table, re.MULTILINE))
    sums = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.glob("*.png")}
    assert noted == sums
