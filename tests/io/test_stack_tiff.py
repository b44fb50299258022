"""TIFF stacks keep their values, axes, spacing and metadata when they are read and written.

Written files are checked by tifffile and Pillow, independently of this library.
"""

import re
import struct
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import tifffile
from image_files import noise, refusal
from PIL import Image
from stack_files import DTYPES, again, ome_file

from nnk_image.io import ImageFileError, read, write

RNG = np.random.default_rng(20261124)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_plain_pages_are_read_as_a_volume(tmp_path, order, dtype, compression):
    pixels = noise((5, 7, 9), dtype)
    options = {"byteorder": order, "compression": compression, "photometric": "minisblack"}
    tifffile.imwrite(tmp_path / "p.tif", pixels, metadata=None, **options)
    array, stack, target = again(tmp_path, tmp_path / "p.tif")
    assert (stack.axes, stack.axes_assumed, stack.spacing) == ("ZYX", True, (None,) * 3)
    np.testing.assert_array_equal(array, pixels)
    assert stack.dtype == dtype
    with tifffile.TiffFile(target) as file:
        assert len(file.pages) == 5
        np.testing.assert_array_equal(file.asarray(), pixels)
        assert (file.pages[0].compression != 1) == (compression is not None)


IMAGEJ = {
    "YX": (8, 9),
    "YXS": (8, 9, 3),
    "ZYX": (5, 8, 9),
    "TYX": (5, 8, 9),
    "CYX": (2, 8, 9),
    "TZYX": (2, 5, 8, 9),
    "ZCYX": (5, 2, 8, 9),
    "TZCYX": (2, 3, 2, 8, 9),
    "ZYXS": (5, 8, 9, 3),
}


@pytest.mark.parametrize(("axes", "shape"), IMAGEJ.items(), ids=IMAGEJ)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_imagej_hyperstacks_keep_everything(tmp_path, axes, shape, dtype):
    pixels = noise(shape, "uint8" if "S" in axes else dtype)
    about = {
        **{"axes": axes, "spacing": 2.5, "unit": "um", "finterval": 1.5, "min": 3.0, "max": 77.0},
        **{"Labels": [f"plane {n}" for n in range(4)], "Info": "of the microscope"},
        "Ranges": (0.0, 90.0),
    }
    options = {"imagej": True, "resolution": (4.0, 5.0), "metadata": about, "byteorder": ">"}
    tifffile.imwrite(tmp_path / "ij.tif", pixels, **options)
    _array, stack, target = again(tmp_path, tmp_path / "ij.tif")
    assert (stack.axes, stack.axes_assumed, stack.unit) == (axes, False, "um")
    known = {"T": 1.5, "Z": 2.5, "Y": 0.2, "X": 0.25}
    assert stack.spacing == tuple(known.get(axis) for axis in axes)
    with tifffile.TiffFile(tmp_path / "ij.tif") as old, tifffile.TiffFile(target) as new:
        assert new.is_imagej
        assert new.series[0].axes == old.series[0].axes == axes
        np.testing.assert_array_equal(new.asarray(), pixels)
        assert new.imagej_metadata == old.imagej_metadata
        for tag in ("XResolution", "YResolution", "ResolutionUnit", "PhotometricInterpretation"):
            assert new.pages[0].tags[tag].value == old.pages[0].tags[tag].value
    with Image.open(target) as picture:  # other programs see an image in every page
        assert picture.n_frames == np.prod(shape[: axes.index("Y")])
        picture.seek(picture.n_frames - 1)
        last = pixels.reshape(-1, *shape[axes.index("Y") :])[-1]
        np.testing.assert_array_equal(np.asarray(picture), last)


@pytest.mark.parametrize("axis", "ZCT")
def test_ome_files_that_claim_too_many_planes_are_refused(tmp_path, axis):
    """Such a file of a few hundred bytes once took gigabytes of memory."""
    path, pixels = tmp_path / "a.ome.tif", noise((2, 5, 7))
    ome_file(path, pixels, f"{axis}YX")
    with tifffile.TiffFile(path) as file:
        text = file.ome_metadata
    old, new = f'Size{axis}="2"', f'Size{axis}="{10**15}"'
    assert text.count(old) == 1
    options = {"description": text.replace(old, new).encode(), "metadata": None}
    tifffile.imwrite(path, pixels, photometric="minisblack", **options)
    assert "planes of it are missing" in refusal(read, path)


def test_imagej_default_spacing_and_escaped_micron_sign_are_read(tmp_path):
    text = "ImageJ=1.53c\nimages=4\nslices=4\nunit=\\u00B5m\nloop=false\n"
    options = {"description": text, "metadata": None, "resolution": (2.0, 2.0)}
    options["photometric"] = "minisblack"
    tifffile.imwrite(tmp_path / "ij.tif", noise((4, 6, 7)), **options)
    _array, stack, target = again(tmp_path, tmp_path / "ij.tif")
    assert (stack.axes, stack.spacing, stack.unit) == ("ZYX", (1.0, 0.5, 0.5), "um")
    with tifffile.TiffFile(target) as file:
        assert file.pages[0].description.rstrip() == text.rstrip()


@pytest.mark.parametrize("unit", [None, "voxel", "um"])
@pytest.mark.parametrize(
    ("name", "dtype", "is_ome"),
    [
        ("new.tif", "uint8", False),
        ("new.tif", "float32", False),
        ("new.tif", "int32", True),
        ("new.ome.tif", "float32", True),
    ],
)
def test_new_stacks_are_imagej_or_ome_and_keep_their_metadata(tmp_path, name, dtype, is_ome, unit):
    pixels = noise((2, 5, 20, 24), dtype)
    about = {"axes": "tzyx", "spacing": (1.5, 2, 0.5, 0.25), "unit": unit, "icc_profile": b"abc"}
    write(tmp_path / name, pixels, about)
    array, metadata = read(tmp_path / name)
    np.testing.assert_array_equal(array, pixels, strict=True)
    assert (metadata.axes, metadata.spacing) == ("TZYX", (1.5, 2, 0.5, 0.25))
    assert (metadata.unit, metadata.icc_profile) == (unit, b"abc")
    with tifffile.TiffFile(tmp_path / name) as file:
        assert (file.is_imagej, file.is_ome) == (not is_ome, is_ome)
        assert file.series[0].axes == "TZYX"
        np.testing.assert_array_equal(file.asarray(), pixels)


@pytest.mark.parametrize(
    ("shape", "about"),
    [((20, 30, 3), {"axes": "YXS"}), ((20, 30), {"alpha": noise((20, 30)) > 99})],
)
@pytest.mark.parametrize("name", ["b.tif", "b.ome.tif"])
def test_one_bit_colors_are_refused(tmp_path, shape, about, name):
    """tifffile packs such samples incorrectly."""
    with pytest.raises(ImageFileError, match="colors or transparency of type bool"):
        write(tmp_path / name, noise(shape) > 99, about)


@pytest.mark.parametrize(("axes", "shape"), [*IMAGEJ.items(), ("CTZYX", (2, 2, 3, 8, 9))])
@pytest.mark.parametrize("dtype", ["int16", "float64"])
def test_ome_files_keep_everything(tmp_path, axes, shape, dtype):
    pixels = noise(shape, "uint8" if "S" in axes else dtype)
    names = ["DAPI", "GFP"] if "C" in axes else ["DAPI"]
    about = {"Description": "of the µscope", "Channel": {"Name": names}}
    ome_file(tmp_path / "o.tif", pixels, axes, **about)
    _array, stack, target = again(tmp_path, tmp_path / "o.tif")
    known = {"T": 3.0, "Z": 0.9, "Y": 0.25, "X": 0.25}
    assert stack.axes == axes
    assert stack.unit == "um"
    expected = [known.get(axis, np.nan) for axis in axes]
    np.testing.assert_allclose([s or np.nan for s in stack.spacing], expected, rtol=1e-12)
    with tifffile.TiffFile(tmp_path / "o.tif") as old, tifffile.TiffFile(target) as new:
        assert new.is_ome
        np.testing.assert_array_equal(new.asarray(), pixels)
        # Everything but the list of pages is the same.
        old, new = (elements(f.ome_metadata) for f in (old, new))
        assert old == new
    assert all(text in str(new) for text in ("of the µscope", *names))


def elements(text):
    """Return tag, attributes and text of all elements except the lists of pages."""
    every = ElementTree.fromstring(text).iter()
    return [(e.tag, e.attrib, e.text) for e in every if not e.tag.endswith("TiffData")]


def test_listed_ome_pages_are_sorted_by_the_axes(tmp_path):
    """Pages that a file lists in another order are read in the order of the axes."""
    pixels = noise((2, 3, 6, 7), np.uint16)
    ome_file(tmp_path / "plain.tif", pixels, "TZYX")
    with tifffile.TiffFile(tmp_path / "plain.tif") as file:
        text = file.ome_metadata
    places = [(t, z) for z in range(3) for t in range(2)]  # in the file, time varies fastest
    items = "".join(
        f'<TiffData FirstT="{t}" FirstZ="{z}" IFD="{n}" PlaneCount="1">'
        f'<UUID FileName="one.tif">urn:uuid:{0:032x}</UUID></TiffData>'
        for n, (t, z) in enumerate(places)
    )
    text, count = re.subn("<TiffData.*?/>", items, text)
    assert count == 1
    stored = np.stack([pixels[place] for place in places])
    options = {"description": text.encode(), "metadata": None}
    tifffile.imwrite(tmp_path / "one.tif", stored, **options)
    array, _stack, target = again(tmp_path, tmp_path / "one.tif")
    np.testing.assert_array_equal(array, pixels)
    np.testing.assert_array_equal(tifffile.imread(target), pixels)
    text = text.replace('"one.tif"', '"two.tif"', 1)
    options["description"] = text.encode()
    tifffile.imwrite(tmp_path / "one.tif", stored, **options)
    assert "one of the files of an OME-TIFF" in refusal(read, tmp_path / "one.tif")


TABLE = RNG.integers(0, 65536, (3, 256), np.uint16)
BY_HAND = {"description": "made by hand", "software": "microscope 3", "photometric": "minisblack"}


@pytest.mark.parametrize(
    ("axes", "shape", "options"),
    [
        ("ZYXS", (4, 6, 7, 3), {"photometric": "rgb", "planarconfig": "contig"}),
        ("ZSYX", (4, 3, 6, 7), {"photometric": "rgb", "planarconfig": "separate"}),
        ("CYX", (4, 6, 7), {"imagej": True, "colormap": TABLE}),
        ("ZYX", (4, 6, 7), {**BY_HAND, "metadata": None}),
        ("ZYX", (4, 6, 7), {"bigtiff": True, "photometric": "minisblack"}),
        ("CYX", (4, 6, 7), {"photometric": "minisblack", "metadata": {"axes": "CYX"}}),
        ("TZYX", (2, 5, 6, 7), {"metadata": {"axes": "TZYX", "truncate": True}}),
        ("ZCYX", (4, 2, 6, 7), {"tile": (16, 16), "metadata": {"axes": "ZCYX"}}),
    ],
    ids=[
        *("colors of pixels", "planes of colors", "lookup table", "description", "bigtiff"),
        *("axes of tifffile", "truncated", "tiled"),
    ],
)
def test_a_copy_keeps_colors_texts_and_the_kind_of_file(tmp_path, axes, shape, options):
    pixels = noise(shape, np.uint8 if "colormap" in options else np.uint16)
    tifffile.imwrite(tmp_path / "c.tif", pixels, **options)
    _array, stack, target = again(tmp_path, tmp_path / "c.tif")
    assert stack.axes == axes
    with tifffile.TiffFile(target) as file:
        np.testing.assert_array_equal(file.asarray(), pixels)
        assert file.is_bigtiff == ("bigtiff" in options)
        if "colormap" in options:
            np.testing.assert_array_equal(file.pages[0].colormap, TABLE)
        if "software" in options:
            texts = [file.pages[0].tags[n].value for n in (270, 305)]
            assert texts == ["made by hand", "microscope 3"]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_lzw_pages_that_tifffile_alone_cannot_decode(tmp_path, dtype):
    pixels = noise((4, 20, 30), dtype)
    first, *rest = map(Image.fromarray, pixels)
    options = {"save_all": True, "append_images": rest, "compression": "tiff_lzw"}
    first.save(tmp_path / "l.tif", **options)
    array, _stack, _ = again(tmp_path, tmp_path / "l.tif")
    np.testing.assert_array_equal(array, pixels)


@pytest.mark.parametrize(("axes", "shape"), [("ZYX", (5, 7, 1)), ("TZYX", (2, 5, 1, 1))])
def test_stacks_of_a_single_column_can_be_read_again(tmp_path, axes, shape):
    """As an ImageJ stack, tifffile would write one page of other axes."""
    volume = noise(shape)
    write(tmp_path / "a.tif", volume, {"axes": axes})
    pixels, metadata = read(tmp_path / "a.tif")
    assert metadata.axes == axes
    np.testing.assert_array_equal(pixels, volume)


@pytest.mark.parametrize("name", ["crop.tif", "crop.ome.tif"])
def test_axes_are_written_in_the_order_of_tiff(tmp_path, name):
    """Most OME-TIFFs hold the channels before the depth."""
    about = {"axes": "TCZYX", "PhysicalSizeZ": 2.0, "PhysicalSizeY": 0.5, "PhysicalSizeX": 0.5}
    tifffile.imwrite(tmp_path / "a.ome.tif", noise((2, 2, 3, 8, 9), "uint16"), metadata=about)
    array, about = read(tmp_path / "a.ome.tif")
    write(tmp_path / name, array[..., 1:, 2:], about)
    crop, metadata = read(tmp_path / name)
    np.testing.assert_array_equal(crop, array[..., 1:, 2:].swapaxes(1, 2))
    assert (metadata.axes, metadata.spacing) == ("TZCYX", (None, 2.0, None, 0.5, 0.5))


def test_ome_files_that_imagej_describes_too_are_read(tmp_path):
    """Micro-Manager writes such files."""
    path, pixels = tmp_path / "m.ome.tif", noise((3, 8, 9), "uint16")
    tifffile.imwrite(path, pixels, metadata={"axes": "ZYX"})
    with tifffile.TiffFile(path) as file:
        about = file.ome_metadata.encode()
    second = (65000, "s", 0, "ImageJ=1.11a\nimages=3\nslices=3\n", True)  # a description below
    options = {"byteorder": "<", "photometric": "minisblack", "metadata": None}
    tifffile.imwrite(path, pixels, description=about, extratags=[second], **options)
    codes = [struct.pack("<HH", code, 2) for code in (65000, 270)]
    path.write_bytes(path.read_bytes().replace(*codes))
    with tifffile.TiffFile(path) as file:
        assert file.is_ome
        assert file.is_imagej
    array, stack, target = again(tmp_path, path)
    np.testing.assert_array_equal(array, pixels)
    assert stack.axes == "ZYX"
    with tifffile.TiffFile(target) as file:
        assert file.is_ome


@pytest.mark.parametrize(
    ("pixels", "options", "message"),
    [
        (noise((4, 6, 7, 4)), {"photometric": "rgb", "extrasamples": ["unassalpha"]}, "transparen"),
        (np.zeros((4, 6, 7), "c8"), {"photometric": "minisblack"}, "samples of a rare kind"),
        (noise((4, 6, 7, 4)), {"photometric": "separated"}, "SEPARATED colors"),
        (noise((4, 6, 7)), {"photometric": "palette", "colormap": np.zeros((3, 256), "u2")},
         "PALETTE colors"),
    ],
    ids=["alpha", "complex", "CMYK", "palette"],
)  # fmt: skip
def test_unsupported_stacks_are_refused(tmp_path, pixels, options, message):
    tifffile.imwrite(tmp_path / "u.tif", pixels, **options)
    assert message in refusal(read, tmp_path / "u.tif")


def test_files_with_images_of_several_sizes_are_refused(tmp_path):
    with tifffile.TiffWriter(tmp_path / "u.tif") as writer:
        for shape in ((2, 6, 7), (3, 8, 9)):
            writer.write(noise(shape), metadata=None, photometric="minisblack")
    text = "holds 2 images (2x6x7 uint8, 3x8x9 uint8); save each"
    assert text in refusal(read, tmp_path / "u.tif")


def test_tiles_far_larger_than_their_page_are_refused(tmp_path):
    """Such a file of a few hundred bytes once took two gigabytes of memory."""
    path, options = tmp_path / "tiles.tif", {"byteorder": "<", "compression": "zlib"}
    tifffile.imwrite(path, np.zeros((32, 32), np.uint32), tile=(16, 16), metadata=None, **options)
    with tifffile.TiffFile(path) as file:
        place = file.pages[0].tags["TileWidth"].valueoffset
    content = path.read_bytes()
    path.write_bytes(content[:place] + struct.pack("<I", 1 << 30) + content[place + 4 :])
    assert "claims tiles of 16x1073741824 pixels in a page of 32x32" in refusal(read, path)


@pytest.mark.parametrize(("unit", "seconds"), [("ms", 0.0025), ("min", 150.0), ("year", None)])
@pytest.mark.parametrize(
    ("kind", "names"),
    [("imagej", ("finterval", "tunit")), ("ome", ("TimeIncrement", "TimeIncrementUnit"))],
)
def test_frame_intervals_are_read_in_seconds(tmp_path, kind, names, unit, seconds):
    about = {"axes": "TYX", names[0]: 2.5, names[1]: unit}
    path = tmp_path / "film.tif"
    tifffile.imwrite(path, noise((3, 6, 7)), **{kind: True}, metadata=about)
    assert read(path)[1].spacing_of.get("T") == seconds


@pytest.mark.parametrize("name", ["a.ome.tif", "a.OME.TIFF"])
@pytest.mark.parametrize(
    ("shape", "about"),
    [
        ((9, 11), {}),
        ((9, 11, 3), {"dpi": (300.0, 300.0)}),
        ((9, 11), {"alpha": np.full((9, 11), 7, np.uint16)}),
        ((3, 9, 11), {"axes": "ZYX", "spacing": (2.0, 0.5, 0.5), "unit": "um"}),
        ((2, 2, 9, 11), {"axes": "ZCYX"}),
    ],
)
def test_names_ending_in_ome_give_an_ome_file(tmp_path, name, shape, about):
    pixels = noise(shape, "uint16")
    write(tmp_path / "plain.tif", pixels, about)  # its layout must not affect the new file
    for given in (about, read(tmp_path / "plain.tif")[1]):
        write(tmp_path / name, pixels, given)
        with tifffile.TiffFile(tmp_path / name) as file:
            assert file.is_ome
        array, metadata = read(tmp_path / name)
        np.testing.assert_array_equal(array, pixels)
        for key, value in about.items():
            np.testing.assert_array_equal(getattr(metadata, key), value)


def test_raw_camera_files_are_refused(tmp_path):
    thumbnail, path = noise((9, 11, 3)), tmp_path / "raw.tif"
    with tifffile.TiffWriter(path) as file:
        file.write(thumbnail, subfiletype=1, subifds=1, photometric="rgb")
        file.write(noise((90, 110), "uint16"), photometric="cfa")
    with pytest.raises(ImageFileError, match="a reduced copy of its image, as raw files"):
        read(path)
    tifffile.imwrite(path, thumbnail)
    for name in ("raw.NEF", "raw.cr2", "raw.dng", "raw.raf"):
        with pytest.raises(ImageFileError, match="is a raw file of a camera; convert it to PNG"):
            read(path.rename(tmp_path / name))
        path = tmp_path / name
        path.write_bytes(b"of no known format")


@pytest.mark.parametrize(("dtype", "name"), [("float32", "float"), ("int32", "int32")])
def test_ome_xml_names_the_dtype(tmp_path, dtype, name):
    """Other programs rely on this name."""
    ome_file(tmp_path / "a.ome.tif", noise((3, 6, 7), "uint16"), "ZYX", Description="a cell")
    array, about = read(tmp_path / "a.ome.tif")
    pixels = noise(array.shape, dtype)
    write(tmp_path / "b.ome.tif", pixels, replace(about, dtype=dtype))
    with tifffile.TiffFile(tmp_path / "b.ome.tif") as file:
        assert f'Type="{name}"' in file.ome_metadata
        assert "a cell" in file.ome_metadata
    back, metadata = read(tmp_path / "b.ome.tif")
    np.testing.assert_array_equal(back, pixels, strict=True)
    assert (metadata.axes, metadata.spacing) == (about.axes, about.spacing)
    with pytest.raises(ImageFileError, match="known neither to ImageJ nor to OME"):
        write(tmp_path / "b.ome.tif", pixels.astype(np.int64), about)
