"""Metadata of images is kept when they are written, or a warning names what is lost."""

import numpy as np
import pytest
import tifffile
from image_files import noise
from PIL import Image, ImageOps, features
from PIL.ExifTags import GPS, IFD, Base

from nnk_image.io import read, write

XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rating>5</rating></x:xmpmeta>'
EXTENSIONS = [".jpg", ".png", ".webp"] + [".avif"] * features.check("avif")


def exif(orientation=None):
    """Return EXIF data of a camera, with make, artist, sensitivity, position and maker note."""
    tags = Image.Exif()
    tags[Base.Make], tags[Base.Artist] = "Kamera", "N. N."
    tags.get_ifd(IFD.Exif).update({Base.ISOSpeedRatings: 3200, Base.MakerNote: b"\x01\x02note"})
    tags.get_ifd(IFD.Exif)[Base.ExifImageWidth] = 12
    tags.get_ifd(IFD.GPSInfo)[GPS.GPSLatitude] = (48.0, 8.0, 30.0)
    if orientation is not None:
        tags[Base.Orientation] = orientation
    return tags


def facts(path):
    """Return the entries of `exif` that Pillow finds in a file, which must be upright."""
    with Image.open(path) as picture:
        tags = picture.getexif()
    assert tags.get(Base.Orientation, 1) == 1
    found = {**tags, **tags.get_ifd(IFD.Exif), **tags.get_ifd(IFD.GPSInfo)}
    return {tag: found.get(tag) for tag in FACTS}


FACTS = {
    Base.Make: "Kamera",
    Base.Artist: "N. N.",
    Base.ISOSpeedRatings: 3200,
    Base.MakerNote: b"\x01\x02note",
    GPS.GPSLatitude: (48, 8, 30),
}


def saved_photo(tmp_path, orientation=None):
    path = tmp_path / "photo.jpg"
    Image.fromarray(noise((8, 12, 3))).save(path, exif=exif(orientation), xmp=XMP)
    return path


@pytest.mark.parametrize("orientation", [None, 1, 6])
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_exif_position_and_xmp_are_kept(tmp_path, extension, orientation):
    pixels, about = read(saved_photo(tmp_path, orientation))
    assert pixels.shape == ((12, 8, 3) if orientation == 6 else (8, 12, 3))
    path = tmp_path / f"out{extension}"
    for _ in range(2):  # written anew, then overwritten
        write(path, pixels, about)
        assert facts(path) == FACTS
        with Image.open(path) as picture:
            found = picture.info["xmp"]
            assert (found.encode() if isinstance(found, str) else found) == XMP
            assert picture.size == pixels.shape[1::-1]
        pixels, about = read(path)


@pytest.mark.parametrize("extension", [*EXTENSIONS, ".tif"])
@pytest.mark.parametrize("text", [b'<a tiff:Orientation="6"/>', b"<tiff:Orientation>6</...>"])
@pytest.mark.parametrize("stored", [None, 6])
@pytest.mark.filterwarnings("ignore:.*EXIF data will be lost")
def test_orientation_in_xmp_does_not_rotate_the_image_again(tmp_path, stored, text, extension):
    options = {} if stored is None else {"exif": exif(stored)}
    Image.fromarray(noise((8, 12, 3))).save(tmp_path / "a.jpg", xmp=text, **options)
    pixels, about = read(tmp_path / "a.jpg")
    assert pixels.shape == (12, 8, 3)
    assert about.xmp == text.replace(b"6", b"1")
    path = tmp_path / f"b{extension}"
    for _ in range(2):
        write(path, pixels, about)
        with Image.open(path) as picture:
            assert ImageOps.exif_transpose(picture).size == (8, 12)
        pixels, about = read(path)
        assert pixels.shape == (12, 8, 3)


def test_images_with_damaged_exif_are_read(tmp_path):
    Image.fromarray(noise((8, 12))).save(tmp_path / "a.jpg", exif=b"Exif\0\0MM\0\x2anonsense")
    write(tmp_path / "b.jpg", *read(tmp_path / "a.jpg"))
    assert read(tmp_path / "b.jpg")[0].shape == (8, 12)


def test_exif_of_upright_images_is_kept_byte_for_byte(tmp_path):
    data = exif().tobytes() + b"what no program knows"
    Image.fromarray(noise((8, 12))).save(tmp_path / "a.jpg", exif=data)
    pixels, about = read(tmp_path / "a.jpg")
    for given in (about, {"exif": data.removeprefix(b"Exif\0\0")}):
        write(tmp_path / "b.jpg", pixels, given)
        with Image.open(tmp_path / "b.jpg") as picture:
            assert picture.info["exif"] == data


def test_16_bit_color_png_keeps_metadata(tmp_path):
    pytest.importorskip("imagecodecs")
    _, about = read(saved_photo(tmp_path))
    deep = noise((8, 12, 3), np.uint16)
    write(tmp_path / "deep.png", deep, {"exif": about.exif, "xmp": XMP, "icc_profile": b"abc"})
    assert facts(tmp_path / "deep.png") == FACTS
    back, again = read(tmp_path / "deep.png")
    np.testing.assert_array_equal(back, deep)
    assert (again.exif, again.xmp, again.icc_profile) == (about.exif, XMP, b"abc")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_tiff_keeps_xmp_and_passes_its_exif_to_jpeg(tmp_path, dtype):
    pixels = noise((8, 12, 3), dtype)
    path = tmp_path / "a.tif"
    tags = exif()
    entries = [(271, "s", 0, "Kamera", True), (315, "s", 0, "N. N.", True)]
    entries += [(700, "B", len(XMP), XMP, True)]
    if dtype == np.uint8:
        tags[700] = XMP
        Image.fromarray(pixels).save(path, exif=tags.tobytes())
    else:
        tifffile.imwrite(path, pixels, photometric="rgb", extratags=entries, metadata=None)
    _, about = read(path)
    assert about.xmp == XMP
    assert b"Kamera" in about.exif
    write(tmp_path / "b.jpg", (pixels / 257).astype(np.uint8), {"exif": about.exif})
    with Image.open(tmp_path / "b.jpg") as picture:
        assert picture.getexif()[271] == "Kamera"
    if dtype == np.uint8:
        assert facts(tmp_path / "b.jpg") == FACTS
    with pytest.warns(UserWarning, match=r"a\.tif: EXIF data will be lost: .* to TIFF"):
        write(path, pixels, about)
    again = read(path)
    np.testing.assert_array_equal(again[0], pixels)
    assert again[1].xmp == XMP


GRAY_PROFILE = bytes(16) + b"GRAY" + bytes(108)


@pytest.mark.parametrize(
    ("name", "lost", "given"),
    [
        ("a.bmp", "EXIF data and XMP data and the color profile", {}),
        ("a.tif", "EXIF data", {}),
        ("a.npy", "EXIF data and XMP data and the color profile and the transparency",
         {"alpha": noise((8, 12))}),
        ("a.jpg", "XMP data", {"xmp": bytes(70_000)}),  # too long
        ("a.webp", "the color profile", {"icc_profile": GRAY_PROFILE}),  # a format of colors
    ],
)  # fmt: skip
def test_lost_metadata_gives_a_warning(tmp_path, name, lost, given):
    about = read(saved_photo(tmp_path))[1]
    given = {"exif": about.exif, "xmp": about.xmp, "icc_profile": b"abc", **given}
    with pytest.warns(UserWarning, match=f"{name}: {lost} will be lost: .* write .png"):
        write(tmp_path / name, noise((8, 12)), given)
    assert read(tmp_path / name, axes="YX" if name == "a.npy" else None)[0].shape[:2] == (8, 12)


def test_heif_is_read_upright_with_its_exif(tmp_path):
    heif = pytest.importorskip("pillow_heif")
    pixels = np.repeat(np.arange(0, 240, 4, dtype=np.uint8)[:, None], 48, axis=1)
    heif.register_heif_opener()
    Image.fromarray(np.stack([pixels] * 3, 2)).save(tmp_path / "a.heic", exif=exif(6), quality=95)
    back, about = read(tmp_path / "a.heic")
    assert about.format == "HEIF"
    assert back.shape == (*pixels.shape, 3)  # HEIF stores the rotation outside of EXIF
    assert abs(back[..., 0].astype(int) - pixels).max() <= 10
    write(tmp_path / "b.jpg", back, about)
    assert facts(tmp_path / "b.jpg") == FACTS


# Floating-point values


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.webp"])
@pytest.mark.parametrize(
    ("low", "high", "message", "cure"),
    [
        (-0.02, 1.03, "black picture of uint8: multiply them by 255", {"factor": 255}),
        (-80, -3, "black picture of uint8", {"factor": -1}),  # such as decibels
        (100, 5000, "white picture of uint8: pass metadata", {"dtype": np.dtype(np.uint16)}),
    ],
)
def test_floats_do_not_become_a_black_or_white_picture(tmp_path, name, low, high, message, cure):
    image = np.linspace(low, high, 60, dtype=np.float32).reshape(6, 10)
    with pytest.raises(ValueError, match=message):
        write(tmp_path / name, image)
    assert not (tmp_path / name).exists()
    with pytest.warns(UserWarning, match=message):
        write(tmp_path / name, image, {"dtype": np.dtype(np.uint8)})
    if "factor" in cure:
        write(tmp_path / name, cure["factor"] * image)
    else:
        write(tmp_path / "b.png", image, cure)
    write(tmp_path / "a.tif", image)
    np.testing.assert_array_equal(read(tmp_path / "a.tif")[0], image)


def test_zeros_and_a_hot_pixel_may_be_written(tmp_path):
    noisy = np.random.default_rng(0).normal(230, 50, (64, 64))
    for image in (np.zeros((6, 10)), np.concatenate([noisy, [[5000] + 63 * [0]]])):
        write(tmp_path / "a.png", image)
        np.testing.assert_array_equal(read(tmp_path / "a.png")[0], image.clip(0, 255).round())
