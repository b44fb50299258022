"""Arrays of numpy (.npy), and NIfTI volumes (.nii, .nii.gz), which need nibabel."""

import gzip
import logging
from dataclasses import replace
from typing import IO, Any

import numpy as np

from nnk_image.base.extras import requires_extra
from nnk_image.io import metadata as meta
from nnk_image.io.metadata import FormatError, Metadata, Pixels, Save

_AXES = "CTZYX"  # of a NIfTI file, whose first axis is x: the last one of the array
_LONGEST = 2**15 - 1  # longest axis that NIfTI-1 can hold
_SILENT = logging.NullHandler()


def read_npy(stream: IO[bytes], limit: int | None, axes: str | None) -> tuple[Pixels, Metadata]:
    """Read an array of real numbers."""
    try:
        stored = np.load(stream.name, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if "Python objects" in str(error):
            raise FormatError("holds Python objects; save integers or floats") from None
        raise
    if stored.dtype.kind not in "biuf":
        raise FormatError(f"holds {stored.dtype}, not real numbers; save integers or floats")
    meta.check_size(stored.shape, stored.dtype, limit)
    shape = stored.shape
    named = meta.assumed_axes(shape) if axes is None else meta.checked_axes(axes, shape)
    array = meta.native(stored)
    return array, Metadata("NPY", named, axes is None, dtype=array.dtype)


def npy_writer(array: Pixels, *_: Any) -> Save:
    """Return the `Save` of an array, of any shape and type."""
    return lambda stream: np.save(stream, array)


def _nibabel() -> Any:
    with requires_extra("NIfTI needs nibabel", "nifti"):
        import nibabel
    return nibabel


def read_nifti(stream: IO[bytes], limit: int | None, axes: str | None) -> tuple[Pixels, Metadata]:
    """Read a volume or a series of volumes; the axes are reversed, so that x is last."""
    packed = stream.read(2) == b"\x1f\x8b"
    stream.seek(0)
    content: Any = gzip.GzipFile(fileobj=stream) if packed else stream
    head = content.read(348)
    content.seek(0)
    magic = {head[4:7], head[344:347]}
    if magic & {b"ni1", b"ni2"}:
        raise FormatError("keeps its header and its values in two files; save it as one .nii")
    if not magic & {b"n+1", b"n+2"}:
        raise FormatError("is packed by gzip, but is no NIfTI file; unpack it")
    nibabel = _nibabel()
    kind = nibabel.Nifti2Image if b"n+2" in magic else nibabel.Nifti1Image
    with nibabel.imageglobals.LoggingOutputSuppressor():
        nibabel.imageglobals.logger.addHandler(_SILENT)  # without a handler, logging would print
        image = kind.from_stream(content)
    proxy, shape = image.dataobj, image.shape[::-1]
    dtype = image.get_data_dtype()
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise FormatError(f"holds {dtype}, not plain numbers; save integers or floats")
    if axes is not None:
        named = meta.checked_axes(axes, shape)
    elif 2 <= len(shape) <= len(_AXES):
        named = _AXES[-len(shape) :]
    else:
        raise FormatError(f"has {len(shape)} axes; 2 to 5 are known: x, y, z, time, channels")
    meta.check_size(shape, dtype, limit)
    scale, shift = proxy.slope, proxy.inter
    if (scale, shift) == (1, 0):
        values = np.asanyarray(proxy)
    else:  # float32 if it can hold each step of the stored integers
        exact = dtype.itemsize <= 2 and abs(shift) < 2**22 * abs(scale)
        values = np.asanyarray(proxy, dtype=np.float32 if exact else np.float64)
    array = meta.native(values.T)
    spacing, unit = _spacing(image.header, named)
    original = array.shape, image.header
    return array, Metadata("NIFTI", named, False, spacing, unit, array.dtype, original=original)


def _spacing(header: Any, axes: str) -> tuple[tuple[float | None, ...], str | None]:
    length, time = header.get_xyzt_units()
    pairs = zip(axes, header.get_zooms()[::-1], strict=True)
    # str() of the float32: 0.9, not 0.8999999
    zooms = {a: (float(str(n)), time if a == "T" else length) for a, n in pairs if a in "TZYX"}
    lengths, unit = meta.common_unit(zooms)
    return tuple(map(lengths.get, axes)), unit


def nifti_writer(array: Pixels, metadata: Metadata, kind: str, extension: str) -> Save:
    """Return the `Save` of a volume, with the header of the file it was read from, if any."""
    nibabel = _nibabel()
    array = array.astype(np.uint8) if array.dtype == bool else array
    try:
        array, header = _with_header(array, metadata)
        header.set_data_dtype(array.dtype)
    except nibabel.spatialimages.HeaderDataError as error:
        text = f"NIfTI cannot hold {array.dtype} of shape {array.shape} ({error})"
        raise FormatError(text) from None
    two = isinstance(header, nibabel.Nifti2Header)
    image = (nibabel.Nifti2Image if two else nibabel.Nifti1Image)(array.T, None, header)
    image.header.set_slope_inter(1, 0)  # values are stored as they are
    if extension != ".nii.gz":
        return image.to_stream

    def save(stream: IO[bytes]) -> None:
        with gzip.GzipFile("", "wb", compresslevel=4, fileobj=stream, mtime=0) as target:
            image.to_stream(target)

    return save


def float_metadata(metadata: Metadata) -> Metadata:
    """Return the metadata for a float32 map of an image, such as its noise levels."""
    original = None
    if metadata.format == "NIFTI" and metadata.original is not None:
        shape, header = metadata.original
        header = header.copy()
        header["cal_min"] = header["cal_max"] = 0  # no display range: that of the image differs
        original = shape, header
    return Metadata(
        metadata.format, metadata.axes, False, metadata.spacing, metadata.unit, original=original
    )


def _with_header(array: Pixels, metadata: Metadata) -> tuple[Pixels, Any]:
    """Return the array in the axis order of NIfTI, and the header of its file or a new one."""
    if metadata.format == "NIFTI" and metadata.original is not None:
        shape, header = metadata.original
        if shape == array.shape:
            return array, header.copy()
    if not {"C", "S"} <= {*metadata.axes}:
        metadata = replace(metadata, axes=metadata.axes.replace("S", "C"))
    array, metadata = meta.in_order(array, metadata, _AXES, "NIfTI")
    wanted = _AXES[_AXES.index(metadata.axes[0]) :]
    missing = [place for place, axis in enumerate(wanted) if axis not in metadata.axes]
    array = np.expand_dims(array, missing)
    return array, _new_header(array, metadata.spacing_of, metadata.unit)


def _new_header(array: Pixels, lengths: dict[str, float], unit: str | None) -> Any:
    nibabel, large = _nibabel(), max(array.shape) > _LONGEST
    header = (nibabel.Nifti2Header if large else nibabel.Nifti1Header)()
    header.set_data_shape(array.shape[::-1])
    scale = meta.MICROMETERS.get(unit)
    lengths = {
        axis: length * (scale / 1000 if scale and axis in "XYZ" else 1)
        for axis, length in lengths.items()
    }
    header.set_zooms([lengths.get(axis, 1.0) for axis in _AXES[::-1][: array.ndim]])
    time = "sec" if "T" in lengths else "unknown"
    header.set_xyzt_units("unknown" if scale is None else "mm", time)
    return header
