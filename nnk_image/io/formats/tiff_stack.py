"""TIFF of many pages: ImageJ hyperstacks, OME-TIFF, and pages that follow each other.

What a file tells beside its pixels stands in the description of its first page, whoever wrote it.
A result of the same shape gets that description again, so that nothing of it is lost.
"""

from __future__ import annotations

import math
import re
import sys
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import tifffile
from PIL.TiffImagePlugin import TiffImageFile
from tifffile import COMPRESSION, EXTRASAMPLE, PHOTOMETRIC, PLANARCONFIG, RESUNIT

from .common import FormatError, to_samples
from .stack import (
    Lengths,
    StackFile,
    check_axes,
    check_voxels,
    common_unit,
    guess_axes,
    in_order,
    micrometres,
    native,
    read_array,
)
from .tiff import SINGLE_DTYPES, check_tiles, frames_of, quiet_tifffile

BIG = 2**32 - 2**25
"""Bytes of pixels from which a file is a BigTIFF: offsets of 32 bits no longer reach."""

_LEVEL = 4  # of deflate, 1 to 9, as for single pages

_ENDIAN = "<" if sys.byteorder == "little" else ">"
_SPACE = "ZYX"
_UNKNOWN = "QI"  # tifffile's letters for axes of which the file says nothing
_ALPHA = (EXTRASAMPLE.ASSOCALPHA, EXTRASAMPLE.UNASSALPHA)
_IMAGEJ_DTYPES = ("uint8", "uint16", "int16", "float32")
_IMAGEJ_TAG = 50839  # labels, ranges, colours, regions of interest

# Texts that are written again as they came: number of the tag, option of tifffile.
_TEXTS = {305: "software", 306: "datetime"}
_MORE_TEXTS = (315, 33432)  # artist, copyright
_OME_PLACES = re.compile(r"<((?:\w+:)?)TiffData\b[^>]*?(?:/>|>.*?</\1TiffData\s*>)", re.DOTALL)
_OME_FILE = re.compile(r"\bFileName\s*=\s*[\"']([^\"']*)")


@dataclass(frozen=True)
class Kept:
    """What of a TIFF file is written again.

    Attributes
    ----------
    page : tuple of int
        Shape of one page.
    options : dict
        For `tifffile.TiffWriter.write`.
    big : bool
        Whether it is a BigTIFF.
    """

    page: tuple[int, ...]
    options: dict
    big: bool = False


def is_stack(stream) -> bool:
    """Return whether a TIFF is more than a picture: of several pages, or of unusual numbers."""
    with quiet_tifffile(), tifffile.TiffFile(stream) as file:
        return frames_of(file) > 1 or file.pages[0].dtype not in (None, *SINGLE_DTYPES)


def decode(stream, max_pixels: int | None, axes: str | None) -> StackFile:
    """Read all pages of a TIFF as one array."""
    with quiet_tifffile(), tifffile.TiffFile(stream) as file:
        series = _only_series(file)
        page = series.keyframe
        _check_page(page)
        dtype = np.dtype(series.dtype)
        check_voxels(series.shape, dtype, max_pixels)
        named, assumed = _axes(series, axes)
        lengths, unit = _lengths(file, page)
        pixels = _pixels(stream, series)
        spacing = tuple(lengths.get(axis) for axis in named)
        kept = _kept(file, page, series)
        return StackFile(pixels, named, spacing, unit, "TIFF", pixels.dtype, assumed, kept)


def _only_series(file: tifffile.TiffFile):
    """Return the pages as tifffile puts them together, if they are one array, and whole."""
    count = frames_of(file)  # raises where pages are cut off
    if file.is_ome and len(set(_OME_FILE.findall(file.ome_metadata or ""))) > 1:
        raise FormatError("is one of the files of an OME-TIFF; save them as one file")
    if len(file.series) > 1:
        shapes = ", ".join("x".join(map(str, series.shape)) for series in file.series[:3])
        raise FormatError(
            f"holds {count} frames of several shapes ({shapes}); save each kind as its own file"
        )
    return file.series[0]


def _check_page(page) -> None:
    """Refuse pixels that are not plain numbers, or that cannot be unpacked."""
    problem = None
    if page.dtype is None or np.dtype(page.dtype).kind not in "biuf":
        problem = f"has {page.bitspersample}-bit samples of a rare kind; save integers or floats"
    elif page.photometric == PHOTOMETRIC.PALETTE and not page.is_imagej:
        problem = "has a palette; save it as grey or RGB"
    elif set(page.extrasamples) & set(_ALPHA):
        problem = "has transparency, which stacks cannot keep; save it without"
    elif page.imagedepth > 1:
        problem = "has pages with a depth of their own, a rare layout; save slices as pages"
    elif page.photometric in (PHOTOMETRIC.YCBCR, PHOTOMETRIC.SEPARATED):
        problem = f"has {page.photometric.name} colours; save it as RGB"
    elif page.bitspersample == 1 and page.samplesperpixel > 1:
        problem = f"has pixels of {page.samplesperpixel} single bits, a rare layout; save integers"
    elif not isinstance(page.compression, int):
        problem = f"names several compressions, {page.compression}: it is damaged; save it again"
    if problem:
        raise FormatError(problem)
    check_tiles(page)


def _pixels(stream, series) -> np.ndarray:
    """Read all pages; those packed in ways that tifffile does not know with Pillow."""
    page = series.keyframe
    try:
        tifffile.TIFF.DECOMPRESSORS[page.compression]
    except KeyError:
        return _pixels_by_pillow(stream, series)
    if series.dataoffset is None or page.compression != COMPRESSION.NONE:
        return native(np.ascontiguousarray(series.asarray()))
    stream.seek(series.dataoffset)
    dtype = np.dtype(series.dtype).newbyteorder(page.parent.byteorder)
    return read_array(stream, series.shape, dtype)


def _pixels_by_pillow(stream, series) -> np.ndarray:
    page = series.keyframe
    pages = np.empty((math.prod(series.shape) // math.prod(page.shape), *page.shape), series.dtype)
    stream.seek(0)
    with TiffImageFile(stream) as image:
        for number, place in enumerate(series.pages):
            image.seek(place.index)
            stored = np.asarray(image)
            if stored.shape != page.shape or stored.dtype.newbyteorder("=") != pages.dtype:
                raise FormatError(
                    f"is packed as {page.compression.name}, for which tifffile needs a package: "
                    "pip install imagecodecs, or save it uncompressed"
                )
            pages[number] = stored
    return pages.reshape(series.shape)


def _axes(series, given: str | None) -> tuple[str, bool]:
    """Return what the axes are, and whether that is a guess.

    One axis of which the file says nothing, such as that of plain pages, is taken to be Z.
    """
    if given is not None:
        return check_axes(given, series.shape), False
    unknown = [axis for axis in series.axes if axis in _UNKNOWN]
    if not unknown:
        return series.axes, False
    if len(unknown) == 1 and "Z" not in series.axes and {*"YX"} <= {*series.axes}:
        return series.axes.replace(unknown[0], "Z"), True
    return guess_axes(series.shape), True


def _lengths(file: tifffile.TiffFile, page) -> Lengths:
    """Return the spacing along the axes of which the file tells it, and its unit."""
    with suppress(ValueError, TypeError, KeyError, IndexError, AttributeError):
        if file.is_ome:
            return _ome_lengths(file)
        if file.is_imagej:
            return _imagej_lengths(file, page)
    return {}, None


def _ome_lengths(file: tifffile.TiffFile) -> Lengths:
    image = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]
    pixels = (image[0] if isinstance(image, list) else image)["Pixels"]
    sizes = {
        axis: (float(pixels[f"PhysicalSize{axis}"]), pixels.get(f"PhysicalSize{axis}Unit", "µm"))
        for axis in _SPACE
        if f"PhysicalSize{axis}" in pixels
    }
    lengths, unit = common_unit(sizes)
    if pixels.get("TimeIncrementUnit", "s") == "s":
        lengths |= _interval(pixels.get("TimeIncrement", 0))
    return lengths, unit


def _imagej_lengths(file: tifffile.TiffFile, page) -> Lengths:
    about = file.imagej_metadata
    unit = about.get("unit")
    sizes = {}
    if unit not in (None, "pixel", "pixels") or "spacing" in about:
        for axis, other in (("X", "unit"), ("Y", "yunit")):
            top, bottom = _resolution(page, axis)
            sizes[axis] = bottom / top if top else 0.0, about.get(other, unit)
        sizes["Z"] = float(about.get("spacing", 1)), about.get("zunit", unit)  # ImageJ omits 1
    lengths, unit = common_unit(sizes)
    if about.get("tunit", "sec") in ("s", "sec"):
        lengths |= _interval(about.get("finterval", 0))
    return lengths, unit


def _interval(told) -> dict[str, float]:
    """Return the seconds between frames as the spacing along T, if they can be that."""
    seconds = float(told)
    return {"T": seconds} if 0 < seconds < math.inf else {}


def _resolution(page, axis: str) -> tuple[int, int]:
    """Return the fraction of pixels per unit along X or Y; 0 where it is missing or damaged."""
    value = page.tags.valueof(f"{axis}Resolution")
    return value if isinstance(value, tuple) and len(value) == 2 and all(value) else (0, 1)


def _kept(file: tifffile.TiffFile, page, series) -> Kept:
    """Return what makes a file like this one."""
    tags = page.tags
    options = {
        "photometric": page.photometric,
        "extrasamples": page.extrasamples or None,
        "planarconfig": PLANARCONFIG(page.planarconfig) if page.samplesperpixel > 1 else None,
        "compression": page.compression if page.compression == COMPRESSION.NONE else "zlib",
        "colormap": page.colormap,
        "iccprofile": page.iccprofile,
        "description": _description(file, series).encode() or None,
        "software": False,
    }
    options |= {option: tags.valueof(tag) for tag, option in _TEXTS.items() if tags.valueof(tag)}
    resolution = _resolution(page, "X"), _resolution(page, "Y")
    if file.is_imagej or (0, 1) not in resolution:  # ImageJ would take a missing one for 1
        options["resolution"] = resolution
        options["resolutionunit"] = tags.valueof("ResolutionUnit", default=RESUNIT.INCH)
    more = [(tag, 2, 0, tags.valueof(tag), True) for tag in _MORE_TEXTS if tags.valueof(tag)]
    if isinstance(tags.valueof(_IMAGEJ_TAG), dict):
        more += tifffile.tifffile.imagej_metadata_tag(tags.valueof(_IMAGEJ_TAG), _ENDIAN)
    return Kept(page.shape, options | {"extratags": more}, file.is_bigtiff)


def _description(file: tifffile.TiffFile, series) -> str:
    """Return the description of the first page, as it holds for a file written from `series`."""
    text = file.pages.first.description
    if not file.is_ome:
        return text
    planes = math.prod(series.shape) // math.prod(series.keyframe.shape)
    all_planes = rf'<\1TiffData IFD="0" PlaneCount="{planes}"/>'
    first = _OME_PLACES.search(text)
    if first is None:
        return text
    rest = _OME_PLACES.sub("", text[first.end() :])
    return text[: first.start()] + first.expand(all_planes) + rest


def check(stack: StackFile) -> Kept:
    """Return what `write` will write beside the pixels, if TIFF can hold the stack."""
    return stack.kept if isinstance(stack.kept, Kept) else _kept_of_other(stack)


def write(stream, stack: StackFile) -> None:
    """Write a stack page by page, with what it has kept of a TIFF, or as ImageJ or OME would."""
    shape, dtype, kept = stack.pixels.shape, stack.dtype, check(stack)
    args = {"level": _LEVEL} if kept.options["compression"] == "zlib" else None
    pages = stack.pixels.reshape(-1, *kept.page)
    big = kept.big or math.prod(shape) * dtype.itemsize > BIG
    with tifffile.TiffWriter(stream, bigtiff=big, byteorder=_ENDIAN) as writer:
        writer.write(
            (to_samples(page, dtype) for page in pages),
            shape=pages.shape,
            dtype=dtype,
            metadata=None,
            compressionargs=args,
            **kept.options,
        )


def _kept_of_other(stack: StackFile) -> Kept:
    """Return what describes a stack that came from no TIFF: to ImageJ, or in the terms of OME."""
    axes, shape = stack.axes, stack.pixels.shape
    if not in_order(axes):
        raise FormatError(
            f"TIFF cannot hold axes {axes}; bring them into the order TZCYXS, or write .npy"
        )
    colour = axes[-1] == "S" and shape[-1] == 3
    imagej = stack.dtype.name in _IMAGEJ_DTYPES and ("S" not in axes or stack.dtype.itemsize == 1)
    samples = axes[-1] == "S"
    if samples and not colour:
        raise FormatError(f"TIFF cannot hold {shape[-1]} samples in a pixel; name that axis C")
    options = {
        "photometric": "rgb" if colour else "minisblack",
        "planarconfig": "contig" if colour else None,
        "compression": None,
        "software": False,
        "description": (_imagej_text if imagej else _ome_text)(stack).encode(),
    }
    scale = micrometres(stack.unit)
    pixel = [stack.spacing_along(axis) for axis in "XY"]
    if None not in pixel and scale is not None:
        options["resolution"] = [1 / length for length in pixel]
        options["resolutionunit"] = RESUNIT.NONE
    return Kept(shape[-3:] if samples else shape[-2:], options)


def _imagej_text(stack: StackFile) -> str:
    about = {"unit": stack.unit, "spacing": stack.spacing_along("Z")}
    about["finterval"] = stack.spacing_along("T")
    told = {name: value for name, value in about.items() if value is not None}
    return tifffile.tifffile.imagej_description(stack.pixels.shape, axes=stack.axes, **told)


def _ome_text(stack: StackFile) -> str:
    shape, about = stack.pixels.shape, {"axes": stack.axes}
    unit = "µm" if micrometres(stack.unit) == 1 else stack.unit
    for axis in _SPACE:
        if stack.spacing_along(axis) is not None and unit is not None:
            about[f"PhysicalSize{axis}"] = stack.spacing_along(axis)
            about[f"PhysicalSize{axis}Unit"] = unit
    if stack.spacing_along("T") is not None:
        about |= {"TimeIncrement": stack.spacing_along("T"), "TimeIncrementUnit": "s"}
    samples = shape[-1] if stack.axes[-1] == "S" else 1
    height, width = (shape[stack.axes.index(axis)] for axis in "YX")
    pages = math.prod(shape) // (height * width * samples)
    xml = tifffile.OmeXml()
    xml.addimage(stack.dtype, shape, (pages, 1, 1, height, width, samples), **about)
    return xml.tostring(declaration=True)
