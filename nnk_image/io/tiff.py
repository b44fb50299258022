"""TIFF: pictures, ImageJ hyperstacks, OME-TIFF and plain pages.

Pillow reads single pages of 8 bits or fewer, of any color space and compression; tifffile reads
everything else, with imagecodecs for compressions other than deflate, PackBits and LZMA.
"""

import json
import logging
import math
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import IO, Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import tifffile
from PIL import Image, TiffImagePlugin
from tifffile import COMPRESSION, EXTRASAMPLE, PHOTOMETRIC, RESUNIT

from nnk_image.io import metadata as meta
from nnk_image.io import pictures
from nnk_image.io.metadata import FormatError, Lengths, Metadata, Pixels, Save

_ORDER = "TZCYXS"  # of the axes in a TIFF
_LARGEST_TILE = 1 << 22  # pixels; larger tiles must not exceed 4 times the page
_LEAST_PLANE = 16  # bytes in the file for each plane; a page needs more, but may hold several
_UNKNOWN = "QI"  # letters of tifffile for axes that the file does not name
_COLORS = (PHOTOMETRIC.MINISBLACK, PHOTOMETRIC.MINISWHITE, PHOTOMETRIC.RGB)
_SAMPLES = {PHOTOMETRIC.RGB: 3, PHOTOMETRIC.YCBCR: 3, PHOTOMETRIC.CIELAB: 3}
_SAMPLES |= {PHOTOMETRIC.SEPARATED: 4}  # samples per pixel; 1 for others
_UNLABELED = "has channels that are not labeled as grayscale, RGB or plain alpha; give axes"
_IMAGEJ_DTYPES = ("uint8", "uint16", "int16", "float32")
_NOT_IN_OME = ("float16", "int64", "uint64")
_OME_TYPES = {"float32": "float", "float64": "double", "bool": "bit"}  # others as in numpy
_IMAGEJ_TAG = 50839  # labels, ranges, colors, regions of interest
_OME_PIXELS = "{*}Image/{*}Pixels"  # of the first image
_XMP_TAG = 700
_BY_PILLOW = {*TiffImagePlugin.COMPRESSION_INFO} - {COMPRESSION.WEBP}  # rare in its libtiff
_DEFLATE = {"compression": "zlib", "compressionargs": {"level": 4}}


class Original(NamedTuple):
    """Properties of a TIFF that was read, to write an array of the same shape like it."""

    shape: tuple[int, ...]
    page: tuple[int, ...]
    dtype: np.dtype[Any]
    options: dict[str, Any]
    ome: bool


def read(stream: IO[bytes], limit: int | None, axes: str | None) -> tuple[Pixels, Metadata]:
    """Read all pages, thumbnails aside, as one array."""
    with no_damage() as errors, tifffile.TiffFile(stream) as file:
        page: Any = file.pages.first
        series, pages = checked_series(file)
        several = pages > 1 or not {*series[0].axes} <= {*"YXS"}
        described = file.is_imagej or file.is_ome or axes is not None
        if _is_for_pillow(file, page) and not (several or described or errors):
            return _read_by_pillow(stream, page, limit)
        if several and len(series) > 1:
            sizes = ", ".join(f"{'x'.join(map(str, s.shape))} {s.dtype}" for s in series[:3])
            raise FormatError(f"holds {len(series)} images ({sizes}); save each of them by itself")
        return _array(file, series[0], limit, axes)


def _is_for_pillow(file: tifffile.TiffFile, page: Any) -> bool:
    """Return whether a page has 8 bits or fewer, and Pillow can unpack it."""
    few_bits = page.bitspersample <= 8 and page.dtype in (None, bool, np.uint8)
    small = page.size <= 3 * (Image.MAX_IMAGE_PIXELS or math.inf)
    unknown = page.compression not in _BY_PILLOW or (file.is_bigtiff and file.byteorder == ">")
    return few_bits and small and not unknown


def _read_by_pillow(stream: IO[bytes], page: Any, limit: int | None) -> tuple[Pixels, Metadata]:
    rgba = page.photometric == PHOTOMETRIC.RGB and page.samplesperpixel == 4
    untagged = rgba and not page.extrasamples  # old writers of RGBA
    if not untagged and not _is_labeled(page, EXTRASAMPLE.ASSOCALPHA):
        raise FormatError(_UNLABELED)
    stream.seek(0)
    pixels, metadata = pictures.read(stream, "TIFF", limit)
    dpi = _dpi(page)  # Pillow invents missing ones, and turns only the pixels
    turned = page.tags.valueof("Orientation", default=1) in range(5, 9)
    return pixels, replace(metadata, dpi=dpi[::-1] if dpi and turned else dpi)


def checked_series(file: tifffile.TiffFile) -> tuple[list[Any], int]:
    """Return the series of images of a file, and the number of its pages that are no thumbnails."""
    _check_ome(file)
    first: Any = file.pages.first
    if first.is_reduced:
        raise FormatError(
            "begins with a reduced copy of its image, as raw files do; convert it to PNG or TIFF"
        )
    pages, series = _count_pages(file), file.series
    # Micro-Manager describes its files in the way of ImageJ, too.
    usual = not file.is_imagej or (series and series[0].kind in ("imagej", "ome", "mmstack"))
    if not (series and usual):
        raise FormatError("is damaged or truncated: images of it are missing; fetch it again")
    return series, pages


def _count_pages(file: tifffile.TiffFile) -> int:
    """Return the number of pages that are no thumbnails; pages may refer to earlier ones."""
    pages: Any = file.pages
    number, seen = 0, set()
    for page in pages:
        if page.offset and page.offset in seen:
            raise FormatError("is damaged: its list of pages has no end")
        seen.add(page.offset)
        number += not page.is_reduced
    return number


@contextmanager
def no_damage() -> Iterator[list[str]]:
    """Refuse a file if tifffile complains: a truncated stack must not be read as a shorter one.

    Yield the list of its log messages about damage, which do not go to standard error.
    """
    texts: list[str] = []
    thread, logger = threading.get_ident(), logging.getLogger("tifffile")

    def gather(record: logging.LogRecord) -> bool:
        if record.thread != thread:
            return True
        text = record.getMessage()
        if (record.levelno >= logging.ERROR and "<TiffTag" not in text) or " series" in text:
            texts.append(text)
        return False

    logger.addFilter(gather)
    try:
        yield texts
    finally:
        logger.removeFilter(gather)
    if texts:
        raise FormatError(f"is damaged or truncated ({texts[0]}); fetch it again")


def _check_ome(file: tifffile.TiffFile) -> None:
    """Refuse an OME-TIFF with more planes than its bytes can hold, or in several files."""
    root = ElementTree.fromstring(file.ome_metadata or "<none/>")
    for pixels in root.iterfind(".//{*}Pixels"):
        planes = math.prod(int(pixels.get(f"Size{axis}", 1)) for axis in "ZCT")
        if planes > file.filehandle.size // _LEAST_PLANE:
            raise FormatError("is damaged or truncated: planes of it are missing")
    if len({uuid.get("FileName") for uuid in root.iterfind(".//{*}UUID")}) > 1:
        raise FormatError("is one of the files of an OME-TIFF; save them as one file")


def _array(
    file: tifffile.TiffFile, series: Any, limit: int | None, given: str | None
) -> tuple[Pixels, Metadata]:
    page = series.keyframe
    is_picture = given is None and series.axes in ("YX", "YXS", "SYX")
    _check_page(page, is_picture)
    shape = page.shape[:2] if series.axes == "YXS" and is_picture else series.shape
    limit = pictures.most_pixels(limit) if is_picture else limit
    meta.check_size(shape, series.dtype, limit)
    array = meta.native(series.asarray())
    options = _options(file, page, series)
    if page.photometric == PHOTOMETRIC.MINISWHITE and array.dtype.kind == "u":
        array, options["photometric"] = np.iinfo(array.dtype).max - array, "minisblack"
    lengths, unit = lengths_of(file, page)
    about: dict[str, Any] = {"format": "TIFF", "unit": unit, "icc_profile": page.iccprofile}
    about["xmp"] = page.tags.valueof(_XMP_TAG) or None
    if not is_picture:
        axes, assumed = axes_of(series, given)
        about |= {"axes": axes, "axes_assumed": assumed, "dtype": array.dtype}
        about["original"] = Original(array.shape, page.shape, array.dtype, options, file.is_ome)
        return array, Metadata(spacing=tuple(map(lengths.get, axes)), **about)
    if series.axes == "SYX":
        array, options["planarconfig"] = np.moveaxis(array, 0, -1), "contig"
    about["exif"] = pictures.exif_of_tiff(file.filehandle)
    orientation = page.tags.valueof("Orientation", default=1)
    if orientation in range(2, 9):
        return meta.picture_of(array, orientation=orientation, dpi=_dpi(page), **about)
    pixels, metadata = meta.picture_of(array, dpi=_dpi(page), **about)
    original = Original(pixels.shape, array.shape, array.dtype, options, file.is_ome)
    spacing = tuple(map(lengths.get, metadata.axes))
    return pixels, replace(metadata, spacing=spacing, original=original)


def check_in_parts(page: Any) -> None:
    """Refuse pages that must be converted or turned as a whole."""
    jpeg = page.compression == COMPRESSION.JPEG  # tifffile decodes it to RGB
    colors = (PHOTOMETRIC.MINISBLACK, PHOTOMETRIC.RGB) + (PHOTOMETRIC.YCBCR,) * jpeg
    orientation = page.tags.valueof("Orientation", default=1)
    try:
        _check_page(page, False, colors)
        if orientation in range(2, 9):
            raise FormatError(f"is stored turned (orientation {orientation}); save it upright")
    except FormatError as error:
        cure = "or read it whole with nnk_image.io.read, and pass the array"
        raise FormatError(f"{error}, {cure}") from None


def _check_page(page: Any, is_picture: bool, colors: tuple[PHOTOMETRIC, ...] = _COLORS) -> None:
    """Refuse samples that are not plain numbers, or that cannot be unpacked."""
    problem, bits = None, page.bitspersample
    lookup = page.photometric == PHOTOMETRIC.PALETTE and page.is_imagej  # gray, shown in colors
    if page.dtype is None or np.dtype(page.dtype).kind not in "biuf":
        problem = f"has {bits}-bit samples of a rare kind; save it as integers or floats"
    elif page.photometric not in colors and not lookup:
        problem = f"has {bits}-bit {page.photometric.name} colors; save it as grayscale or RGB"
    elif is_picture and not _is_labeled(page):
        problem = _UNLABELED
    elif not is_picture and {*page.extrasamples} & {1, 2}:
        problem = "has transparency, which stacks and tiles cannot keep; save it without"
    elif page.compression not in tifffile.TIFF.DECOMPRESSORS:
        name = getattr(page.compression, "name", page.compression)
        cure = "pip install 'nnk_image[codecs]', or save it uncompressed"
        problem = f"is packed as {name}, which needs imagecodecs: {cure}"
    elif page.is_tiled and page.tilewidth * page.tilelength > max(_LARGEST_TILE, 4 * page.size):
        tile = f"{page.tilelength}x{page.tilewidth}"
        whole = f"{page.imagelength}x{page.imagewidth}"
        problem = f"claims tiles of {tile} pixels in a page of {whole}; save it again"
    if problem:
        raise FormatError(problem)


def _is_labeled(page: Any, *others: EXTRASAMPLE) -> bool:
    """Return if samples are colors, perhaps with unassociated alpha or one of `others`."""
    extra: int = page.samplesperpixel - _SAMPLES.get(page.photometric, 1)
    known: bool = {*page.extrasamples} <= {EXTRASAMPLE.UNASSALPHA, *others}
    return extra == 0 or (extra == len(page.extrasamples) == 1 and known)


def axes_of(series: Any, given: str | None = None) -> tuple[str, bool]:
    """Return the axes, and whether they are assumed: an unnamed axis, such as pages, is Z."""
    if given is not None:
        return meta.checked_axes(given, series.shape), False
    axes: str = series.axes
    unknown = [axis for axis in axes if axis in _UNKNOWN]
    if len(unknown) == 1 and "Z" not in axes and {*"YX"} <= {*axes}:
        return axes.replace(unknown[0], "Z"), True
    return (meta.assumed_axes(series.shape), True) if unknown else (axes, False)


def lengths_of(file: tifffile.TiffFile, page: Any) -> Lengths:
    """Return the spacing along the axes for which the file states it, and its unit."""
    with suppress(ValueError, TypeError, KeyError, IndexError, AttributeError):
        if file.is_ome:
            return meta.common_unit(_ome_lengths(file))
        if file.is_imagej:
            return meta.common_unit(_imagej_lengths(file, page))
    return {}, None


def _ome_lengths(file: tifffile.TiffFile) -> dict[str, tuple[float, str | None]]:
    about: Any = ElementTree.fromstring(file.ome_metadata or "").find(_OME_PIXELS)
    names = {axis: (f"PhysicalSize{axis}", "µm") for axis in "ZYX"}
    names["T"] = "TimeIncrement", "s"
    return {
        axis: (float(about.get(name, 0)), about.get(f"{name}Unit", unit))
        for axis, (name, unit) in names.items()
    }


def _imagej_lengths(file: tifffile.TiffFile, page: Any) -> dict[str, tuple[float, str | None]]:
    about = file.imagej_metadata or {}
    unit, sizes = about.get("unit"), {}
    if unit not in (None, "pixel", "pixels") or "spacing" in about:
        for axis, other in (("X", "unit"), ("Y", "yunit")):
            top, bottom = _resolution(page, axis)
            sizes[axis] = bottom / top if top else 0.0, about.get(other, unit)
        sizes["Z"] = float(about.get("spacing", 1)), about.get("zunit", unit)  # ImageJ omits 1
    sizes["T"] = float(about.get("finterval", 0)), about.get("tunit", "sec")
    return sizes


def _resolution(page: Any, axis: str) -> tuple[int, int]:
    """Return the fraction of pixels per unit along X or Y; 0 where it is missing or damaged."""
    value = page.tags.valueof(f"{axis}Resolution")
    return value if isinstance(value, tuple) and len(value) == 2 and all(value) else (0, 1)


def _dpi(page: Any) -> tuple[float, float] | None:
    per_inch = {2: 1.0, 3: 2.54}.get(page.tags.valueof("ResolutionUnit", default=2), 0.0)
    fractions = [_resolution(page, axis) for axis in "XY"]
    return meta.plausible_dpi([per_inch * top / bottom for top, bottom in fractions])


def _options(file: tifffile.TiffFile, page: Any, series: Any) -> dict[str, Any]:
    """Return the options of `tifffile.imwrite` that make a file like this one."""
    tags = page.tags
    options = {
        "photometric": page.photometric,
        "extrasamples": page.extrasamples or None,
        "planarconfig": page.planarconfig if page.samplesperpixel > 1 else None,
        "colormap": page.colormap,
        "iccprofile": page.iccprofile,
        "description": _description(file, series).replace("\0", " ").encode() or None,
        "software": tags.valueof("Software", default=False),
        "bigtiff": file.is_bigtiff or None,
        "metadata": None,
    }
    options |= _DEFLATE if page.compression != COMPRESSION.NONE else {}
    resolution = _resolution(page, "X"), _resolution(page, "Y")
    if file.is_imagej or (0, 1) not in resolution:  # without one, ImageJ would assume 1
        options["resolution"] = resolution
        options["resolutionunit"] = tags.valueof("ResolutionUnit", default=RESUNIT.INCH)
    about = tags.valueof(_IMAGEJ_TAG)
    if isinstance(about, dict):
        order: Any = "<" if sys.byteorder == "little" else ">"
        options["extratags"] = tifffile.tifffile.imagej_metadata_tag(about, order)
    return options


def _description(file: tifffile.TiffFile, series: Any) -> str:
    """Return the description of the first page.

    For OME-TIFF, its TiffData elements are replaced by one that lists the pages in order. That of
    tifffile, with names of axes, is kept for stacks; its pages may have been listed in another way.
    """
    text: str = file.pages.first.description
    if about := file.shaped_metadata:
        kept = about[0] | {"shape": series.shape, "axes": series.axes, "truncated": False}
        return "" if {*series.axes} <= {*"YXS"} else json.dumps(kept)
    if not file.is_ome:
        return text
    root = ElementTree.fromstring(text)
    pixels = root.find(_OME_PIXELS)
    if pixels is None or not (old := pixels.findall("{*}TiffData")):
        return text
    planes = math.prod(series.shape) // math.prod(series.keyframe.shape)
    old[0].clear()
    old[0].attrib.update(IFD="0", PlaneCount=str(planes))
    for element in old[1:]:
        pixels.remove(element)
    return _text_of(root)


def _text_of(root: ElementTree.Element) -> str:
    ElementTree.register_namespace("", root.tag[1:].partition("}")[0])
    return ElementTree.tostring(root, "unicode", xml_declaration=True)


def _retyped(options: dict[str, Any], dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return the options of an OME-TIFF for samples of another type."""
    _check_ome_dtype(dtype)
    root = ElementTree.fromstring(options["description"])
    for pixels in root.iterfind(_OME_PIXELS):
        pixels.set("Type", _OME_TYPES.get(dtype.name, dtype.name))
        pixels.attrib.pop("SignificantBits", None)
    return options | {"description": _text_of(root).encode()}


def _check_ome_dtype(dtype: np.dtype[Any]) -> None:
    if dtype.name in _NOT_IN_OME:
        raise FormatError(
            f"{dtype} is known neither to ImageJ nor to OME; convert it to float32, or write .npy"
        )


def writer(array: Pixels, metadata: Metadata, _: str, extension: str) -> Save:
    """Return the `Save` of an array: as the TIFF it was read from, or as ImageJ or OME-TIFF."""
    original, samples = metadata.original, meta.samples_of(array, metadata)
    if samples.dtype == bool and (metadata.alpha is not None or "S" in metadata.axes):
        raise FormatError("TIFF cannot hold colors or transparency of type bool; convert to uint8")
    ome = extension.startswith(".ome")
    ours = isinstance(original, Original) and (original.ome or not ome)
    if ours and original.shape == array.shape:
        samples, options = samples.reshape(-1, *original.page), original.options
        if original.ome and samples.dtype != original.dtype:
            options = _retyped(options, samples.dtype)
    else:
        samples, metadata = _in_order(samples, metadata)
        options = _new_options(samples, metadata, ome)
    if metadata.xmp:
        tag = (_XMP_TAG, "B", len(metadata.xmp), metadata.xmp, True)
        options = options | {"extratags": [*options.get("extratags", ()), tag]}
    return lambda stream: tifffile.imwrite(stream, samples, **options)


def _in_order(samples: Pixels, metadata: Metadata) -> tuple[Pixels, Metadata]:
    """Return samples with the axes in the order of TIFF, and their metadata."""
    samples, metadata = meta.in_order(samples, metadata, _ORDER, "TIFF")
    axes, length = metadata.axes, samples.shape[-1]
    # A fourth color is transparency, which `read` refuses in stacks.
    if axes[-1] == "S" and length not in ((3, 4) if axes == "YXS" else (3,)):
        raise FormatError(
            f"TIFF cannot store {length} colors per pixel with axes {axes}; name the last axis C "
            "(channels), or write .npy"
        )
    return samples, metadata


def _new_options(samples: Pixels, metadata: Metadata, ome: bool) -> dict[str, Any]:
    """Return options of `tifffile.imwrite` for an array that was not read from such a TIFF."""
    lengths, unit, axes = metadata.spacing_of, metadata.unit, metadata.axes
    color = axes[-1] == "S"
    channels = samples.shape[-1] if color or samples.ndim > len(axes) else 1
    options: dict[str, Any] = {
        "photometric": "rgb" if color else "minisblack",
        "planarconfig": "contig" if channels > 1 else None,
        "extrasamples": ["unassalpha"] if channels in (2, 4) else None,
        "iccprofile": metadata.icc_profile,
    }
    if metadata.is_picture and not lengths:
        if metadata.dpi:
            options |= {"resolution": metadata.dpi, "resolutionunit": "INCH"}
        if not ome:
            return options | _DEFLATE | {"metadata": None, "software": False}
    small = samples.nbytes < 2**32 - 2**25  # ImageJ cannot read BigTIFF
    known = samples.dtype.name in _IMAGEJ_DTYPES and not (color and samples.itemsize > 1)
    wide = samples.shape[-1] > 1  # else tifffile would take columns for samples of a pixel
    imagej = small and known and wide and not ome
    if imagej:
        about: dict[str, Any] = {"unit": unit}
        about |= {"spacing": lengths.get("Z"), "finterval": lengths.get("T")}
        if {*"XY"} <= {*lengths}:
            options |= {"resolution": (1 / lengths["X"], 1 / lengths["Y"]), "resolutionunit": 1}
    else:
        _check_ome_dtype(samples.dtype)
        names = {axis: f"PhysicalSize{axis}" for axis in "ZYX" if axis in lengths}
        about = {name: lengths[axis] for axis, name in names.items()}
        ome_unit = {"um": "µm", None: "reference frame"}.get(unit, unit)
        about |= {f"{name}Unit": ome_unit for name in names.values()}
        about |= {"TimeIncrement": lengths["T"], "TimeIncrementUnit": "s"} if "T" in lengths else {}
    about = {name: value for name, value in about.items() if value is not None}
    about["axes"] = axes + "S" * (samples.ndim > len(axes))  # S for transparency
    return options | {"imagej": imagej, "ome": not imagej, "metadata": about}
