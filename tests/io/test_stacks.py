"""Volumes and time series keep values, axes, spacing and metadata when read and written.

Written files are checked by numpy, nibabel and tifffile, independently of this library.
"""

import errno
import gzip
import os
import struct
from unittest.mock import MagicMock

import nibabel
import numpy as np
import pytest
import tifffile
from image_files import noise, refusal
from stack_files import DTYPES, again, ome_file

from nnk_image.base import memory
from nnk_image.io import ImageFileError, arrays, read, write
from nnk_image.io.metadata import to_samples

# .npy


@pytest.mark.parametrize("dtype", [*DTYPES, "bool", ">u2", ">f8", "int64", "uint64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_files_keep_all_values(tmp_path, dtype, order):
    pixels = np.asarray(noise((5, 6, 7)) > 99 if dtype == "bool" else noise((5, 6, 7), dtype))
    np.save(tmp_path / "a.npy", np.asarray(pixels, order=order))
    _array, stack, target = again(tmp_path, tmp_path / "a.npy")
    assert (stack.axes, stack.axes_assumed) == ("ZYX", True)
    np.testing.assert_array_equal(np.load(target), pixels)
    assert np.load(target).dtype == np.dtype(dtype).newbyteorder("=")


@pytest.mark.parametrize(
    ("shape", "example"),
    [
        ((5, 6, 3), "YXS"),
        ((3, 5, 6), "CYX"),
        ((2, 5, 6, 3), "ZYXS"),
        ((3, 2, 5, 6), "CZYX"),
        ((2, 2, 2, 9, 8), "TZCYX"),
    ],
)
def test_ambiguous_axes_must_be_given(tmp_path, shape, example):
    write(tmp_path / "a.npy", np.zeros(shape))  # which stores arrays without axes
    text = refusal(read, tmp_path / "a.npy")
    assert "does not say what its" in text
    assert f"such as {example}: " in text
    assert read(tmp_path / "a.npy", axes=example.lower())[1].axes == example


@pytest.mark.parametrize("axes", ["ZY", "ZZX", "ZYXC", "Z1X", "", "ABC"])
def test_invalid_axes_are_refused(tmp_path, axes):
    np.save(tmp_path / "a.npy", np.zeros((5, 6, 7)))
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((5, 6, 7)))
    nibabel.save(nibabel.Nifti1Image(np.zeros((5, 6, 7)), np.eye(4)), tmp_path / "a.nii")
    for name in ("a.npy", "a.tif", "a.nii"):
        assert "one letter for each" in refusal(read, tmp_path / name, axes=axes)
        with pytest.raises(TypeError, match="axes must be letters"):
            read(tmp_path / name, axes=3)


# NIfTI


AFFINE = np.array([[-0.9, 0, 0.1, 5], [0, 0.9, 0, 6], [0.1, 0, 2.2, 7], [0, 0, 0, 1]])


def nifti(values, *, slope=(1, 0), order="<", kind=nibabel.Nifti1Image):
    """Return a NIfTI image with a detailed header; `values` are the stored samples."""
    header = kind.header_class(endianness=order)
    header.set_data_dtype(values.dtype.newbyteorder(order))
    image = kind(values, AFFINE, header)
    image.header.set_xyzt_units("mm", "sec")
    image.header["descrip"], image.header["cal_max"] = b"by the test", 123
    image.header.set_qform(AFFINE, "scanner")
    comment = nibabel.nifti1.Nifti1Extension("comment", b"longer than sixteen bytes")
    image.header.extensions.append(comment)
    image.header.set_slope_inter(*slope)
    return image


@pytest.mark.parametrize("slope", [(1, 0), (0.25, -1000.0)])
@pytest.mark.parametrize(
    ("name", "dtype", "shape"),
    [
        *(("v.nii", t, (9, 8, 7)) for t in ("uint8", "int16", "uint16", "int32", "f4", "f8")),
        *(("v.nii.gz", "int16", shape) for shape in ((9, 8, 5, 3), (9, 8))),
    ],
)
def test_nifti_files_are_rewritten_with_their_header(tmp_path, name, dtype, slope, shape):
    values = noise(shape, dtype)
    nibabel.save(nifti(values, slope=slope), tmp_path / name)
    array, stack, target = again(tmp_path, tmp_path / name)
    assert (stack.axes, stack.unit) == ("TZYX"[-len(shape) :], "mm")
    expected = nibabel.load(tmp_path / name).header.get_zooms()[::-1]
    np.testing.assert_allclose(stack.spacing, expected, rtol=1e-6)
    np.testing.assert_allclose(array.T, values * float(slope[0]) + slope[1], rtol=1e-6, atol=1e-3)
    if slope != (1, 0):  # stored as floats, without a scale
        image, old = nibabel.load(target), nibabel.load(tmp_path / name).header
        old.set_data_dtype(array.dtype)
        assert image.header == old
        np.testing.assert_array_equal(np.asanyarray(image.dataobj).T, array, strict=True)
        return
    unpack = gzip.decompress if name.endswith("gz") else bytes
    assert unpack((tmp_path / name).read_bytes()) == unpack(target.read_bytes())


@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
def test_big_endian_nifti_of_versions_1_and_2(tmp_path, kind):
    values = noise((4, 5, 6), "int16")
    nibabel.save(nifti(values, order=">", kind=kind), tmp_path / "v.nii")
    array, _stack, target = again(tmp_path, tmp_path / "v.nii")
    np.testing.assert_array_equal(array.T, values)
    assert target.read_bytes() == (tmp_path / "v.nii").read_bytes()


@pytest.mark.parametrize("given", ["bool", "uint8", "int8", "int32"])
@pytest.mark.parametrize("slope", [(1, 0), (0.0123, -4.0)])
def test_integers_are_written_as_they_are_with_the_header_of_the_scan(tmp_path, given, slope):
    """Such as a mask or numbers of regions."""
    nibabel.save(nifti(noise((4, 5, 6)), slope=slope), tmp_path / "v.nii")
    scan, about = read(tmp_path / "v.nii")
    regions = (np.arange(scan.size).reshape(scan.shape) * 999).astype(given)
    write(tmp_path / "o.nii", regions, about)
    back, metadata = read(tmp_path / "o.nii")
    np.testing.assert_array_equal(back, regions)
    assert back.dtype == ("uint8" if given == "bool" else given)
    assert metadata.spacing == about.spacing
    assert metadata.original[1]["descrip"] == about.original[1]["descrip"]


# Conversion between formats


def test_nifti_volumes_convert_to_imagej_and_back(tmp_path):
    nibabel.save(nifti(noise((9, 8, 5, 2), "int16"), slope=(0.5, 3.0)), tmp_path / "v.nii.gz")
    array, about = read(tmp_path / "v.nii.gz")
    write(tmp_path / "v.tif", array, about)
    middle, metadata = read(tmp_path / "v.tif")
    assert (metadata.axes, metadata.unit, metadata.dtype) == ("TZYX", "mm", np.float32)
    np.testing.assert_allclose(metadata.spacing, about.spacing, rtol=1e-6)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "v.tif"), array)
    write(tmp_path / "v.nii", middle, metadata)
    image = nibabel.load(tmp_path / "v.nii")
    np.testing.assert_array_equal(image.get_fdata().T, array)
    np.testing.assert_allclose(image.header.get_zooms()[::-1], about.spacing, rtol=1e-6)
    assert image.header.get_xyzt_units() == ("mm", "sec")


def test_channels_become_the_fifth_axis_of_nifti(tmp_path):
    pixels = noise((2, 4, 3, 6, 7), np.uint16)
    about = {"axes": "TZCYX", "spacing": (2.0, 0.5, None, 0.1, 0.1), "unit": "um"}
    write(tmp_path / "v.nii", pixels, about)
    image = nibabel.load(tmp_path / "v.nii")
    np.testing.assert_array_equal(np.asanyarray(image.dataobj), pixels.transpose(4, 3, 1, 0, 2))
    np.testing.assert_allclose(image.header.get_zooms(), (1e-4, 1e-4, 5e-4, 2, 1), rtol=1e-6)


# Rounding, invalid input and damaged files


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "uint32", "int64", "uint64", "bool"])
@pytest.mark.parametrize("given", [np.float16, np.float32, np.float64, np.int64])
def test_values_are_rounded_and_clipped(dtype, given):
    values = np.array([-6e4, -1, 0, 1, 100, 254.6, 6e4])
    values = np.concatenate([values, values + 0.4]).astype(given)
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    expected = [min(max(round(float(v)), low), high) for v in values]
    assert to_samples(values, dtype).tolist() == expected
    if given is np.float64 and dtype != "bool":
        for huge in (1e30, np.inf):
            assert to_samples(np.array([huge]), dtype)[0] >= 0.999999 * high


def test_floats_are_written_in_the_dtype_of_the_source(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 3, 5), np.uint16))
    _, about = read(tmp_path / "a.npy")
    write(tmp_path / "b.npy", np.full((2, 3, 5), 7.6), about)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), np.uint16(8), strict=False)
    write(tmp_path / "b.npy", np.full((2, 3, 5), 7.6))
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), 7.6)


@pytest.mark.parametrize(
    ("values", "about", "message"),
    [
        (np.full((2, 3, 4), np.nan), {"dtype": np.dtype(np.uint16)}, "NaN"),
        (np.zeros((2, 3, 4), complex), None, "integers or floats"),
        (np.zeros((2, 0, 4)), None, "integers or floats"),
        (np.zeros(4), None, "integers or floats"),
        (np.zeros((2, 3, 4)), {"axes": "YX"}, "one axis for each"),
        (np.zeros((2, 3, 4, 5, 6)), None, "axes"),
    ],
)
def test_invalid_arrays_are_refused_before_a_file_is_written(tmp_path, values, about, message):
    with pytest.raises(ValueError, match=message):
        write(tmp_path / "v.tif", values, about)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["v.tif", "v.ome.tif", "v.png"])
def test_a_fourth_color_is_the_transparency_of_a_picture(tmp_path, name):
    assert "4 colors per pixel" in refusal(write, tmp_path / "v.tif", noise((2, 5, 6, 4)))
    write(tmp_path / name, picture := noise((5, 6, 4)))
    pixels, about = read(tmp_path / name)
    np.testing.assert_array_equal(np.dstack([pixels, about.alpha]), picture)


def test_pickled_objects_are_not_loaded(tmp_path):
    np.save(tmp_path / "o.npy", np.array([[{}]]), allow_pickle=True)
    assert "holds Python objects" in refusal(read, tmp_path / "o.npy")


def test_too_large_files_are_refused_before_they_are_read(tmp_path, monkeypatch):
    header = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118)
    text = "{'descr': '<u2', 'fortran_order': False, 'shape': (100000, 100000, 1000), }"
    (tmp_path / "bomb.npy").write_bytes(header + text.ljust(117).encode() + b"\n")
    assert "truncated" in refusal(read, tmp_path / "bomb.npy")
    write(tmp_path / "v.tif", noise((5, 6, 7)))
    assert "5x6x7 = 210 pixels" in refusal(read, tmp_path / "v.tif", max_pixels=209)
    assert read(tmp_path / "v.tif", max_pixels=210)[0].size == 210
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: 100)
    assert "reading 5x6x7 pixels needs" in refusal(read, tmp_path / "v.tif")


def write_all_kinds(folder):
    """Write a small file of each kind, and return the paths."""
    pixels = noise((6, 24, 25), np.uint16)
    tifffile.imwrite(folder / "imagej.tif", pixels, imagej=True, metadata={"axes": "ZYX"})
    tifffile.imwrite(folder / "shaped.tif", pixels)
    tifffile.imwrite(folder / "plain.tif", pixels, metadata=None)
    tifffile.imwrite(folder / "packed.tif", pixels, metadata=None, compression="zlib")
    ome_file(folder / "ome.tif", pixels, "ZYX")
    np.save(folder / "n.npy", pixels)
    for name in ("v.nii", "v.nii.gz"):
        nibabel.save(nibabel.Nifti1Image(pixels, np.eye(4)), folder / name)
    for name in ("8.png", "8.tif", "8.ppm", "8.jpg", "16.png", "16.tif"):
        write(folder / name, noise((64, 64, 3), np.uint16 if "16" in name else np.uint8))
    return sorted(folder.iterdir())


@pytest.mark.parametrize("kept", [0.95, 0.5, 0.1])
def test_truncated_files_are_refused(tmp_path, kept):
    for path in write_all_kinds(tmp_path):
        data = path.read_bytes()
        whole = read(path)[0]
        path.write_bytes(data[: int(len(data) * kept)])
        try:
            rest = read(path)[0]
        except ImageFileError as error:
            assert "truncated" in str(error)  # noqa: PT017
        else:  # an OME file may lose only its description
            assert (path.name, kept) == ("ome.tif", 0.95)
            np.testing.assert_array_equal(rest, whole)


def refusal_in_parts(path):
    """Return the error message of a file that cannot be read in parts."""
    pytest.importorskip("zarr")

    def read_it():
        with arrays.open_source(path) as source:
            source[tuple(slice(None) for _ in source.shape)]

    return refusal(read_it)


def test_a_zarr_group_without_an_image_is_refused(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    group.create_array("image", shape=(4, 5), dtype="u1")
    text = refusal_in_parts(tmp_path / "g.zarr")
    assert "group without an array '0'; " in text
    assert "['image']" in text
    (tmp_path / "empty.zarr").mkdir()
    assert "holds no zarr array" in refusal_in_parts(tmp_path / "empty.zarr")


def test_damaged_tiles_of_a_tiff_are_reported(tmp_path):
    path = tmp_path / "d.tif"
    tifffile.imwrite(path, noise((64, 64)), tile=(32, 32), compression="zlib")
    with tifffile.TiffFile(path) as file:
        place, size = file.pages[0].dataoffsets[2], file.pages[0].databytecounts[2]
    content = path.read_bytes()
    path.write_bytes(content[:place] + bytes(size) + content[place + size :])
    assert "d.tif: is damaged or truncated (" in refusal_in_parts(path)


@pytest.mark.parametrize("options", [{"contiguous": False}, {"imagej": True}, {"ome": True}])
def test_truncated_stacks_are_refused_in_parts(tmp_path, options):
    path = tmp_path / "t.tif"
    tifffile.imwrite(path, noise((5, 64, 64)), photometric="minisblack", **options)
    os.truncate(path, path.stat().st_size // 2)
    assert "cannot be read in parts (is damaged or truncated" in refusal_in_parts(path)


def test_of_several_images_the_first_is_read_in_parts_with_a_warning(tmp_path):
    pixels = noise((2, 5, 64, 64), np.uint16)
    with tifffile.TiffWriter(tmp_path / "two.ome.tif", ome=True) as file:
        for image in pixels:
            file.write(image, metadata={"axes": "ZYX"})
    with (
        pytest.warns(UserWarning, match=r"two\.ome\.tif: of its 2 images only the first is read"),
        arrays.open_source(tmp_path / "two.ome.tif") as source,
    ):
        np.testing.assert_array_equal(source[tuple(slice(None) for _ in "ZYX")], pixels[0])


def test_an_endless_list_of_pages_is_refused(tmp_path):
    path, options = tmp_path / "d.tif", {"byteorder": "<", "photometric": "minisblack"}
    tifffile.imwrite(path, noise((2, 16, 16)), metadata=None, **options)
    with tifffile.TiffFile(path) as file:
        first, last = (page.offset for page in file.pages)
        following = last + 2 + 12 * len(file.pages[1].tags)
    content = bytearray(path.read_bytes())
    content[following : following + 4] = struct.pack("<I", first)
    path.write_bytes(content)
    assert "its list of pages has no end" in refusal(read, path)
    assert "has no end" in refusal_in_parts(path)


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_axes_and_spacing_of_ome_zarr_are_read(tmp_path, version):
    """Its images often have five axes, some of them of length 1."""
    zarr = pytest.importorskip("zarr")
    pixels = noise((1, 1, 5, 6, 7), "uint16")
    spaces = [{"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"]
    scale = {"type": "scale", "scale": [1.0, 1.0, 2.0, 0.5, 0.25]}
    image = {
        "axes": [{"name": "t", "type": "time"}, {"name": "c", "type": "channel"}, *spaces],
        "datasets": [{"path": "0", "coordinateTransformations": [scale]}],
    }
    group = zarr.open_group(tmp_path / "o.zarr", mode="w").create_group("0")
    group.create_array("0", data=pixels)
    about = {"multiscales": [image]}
    group.attrs.update(about if version == "0.4" else {"ome": about})
    with arrays.open_source(tmp_path / "o.zarr") as source:
        assert (source.metadata.axes, source.metadata.unit) == ("ZYX", "um")
        assert source.metadata.spacing == (2.0, 0.5, 0.25)
        np.testing.assert_array_equal(source[1:3, :, 2:], pixels[0, 0, 1:3, :, 2:])
        assert source.shape == (5, 6, 7)


def test_a_full_disk_is_reported_with_advice():
    target = MagicMock(dtype=np.dtype("uint8"))
    target.__setitem__.side_effect = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(ImageFileError, match=r"result could not be written \(No space .*resumed"):
        arrays.write(target, np.s_[:2], np.zeros(2))
