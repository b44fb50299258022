"""TIFF: 8 and 16 bits and floating point, grey and colour, with and without alpha.

tifffile knows every depth but few compressions and colour spaces, Pillow the other way
round: tifffile reads what it can, Pillow the rest.
"""

from __future__ import annotations

import io
import logging
import math
import re
import struct
import sys
from contextlib import contextmanager

import numpy as np
import tifffile
from PIL import Image
from PIL.TiffImagePlugin import TiffImageFile
from tifffile import COMPRESSION, EXTRASAMPLE, PHOTOMETRIC, PLANARCONFIG

from .common import FormatError, ImageFile, assemble, check_frames, check_size, plausible_dpi
from .pillow import eight_bit_samples, joined_bytes, rawmode_of, with_rawmode

_LARGEST_TILE = 1 << 22  # pixels, of pages that are much smaller
_CUT_OFF = "is damaged or truncated: pages of it are missing; fetch or export the file again"

_OME_SIZE = re.compile(r"\bSize([ZCT])\s*=\s*[\"'](\d{1,18})")
_LEAST_PLANE = 16  # bytes; a page has more, but may hold several channels

_GREY = (PHOTOMETRIC.MINISBLACK, PHOTOMETRIC.MINISWHITE)
_COLOUR_CHANNELS = {PHOTOMETRIC.RGB: 3, PHOTOMETRIC.YCBCR: 3, PHOTOMETRIC.SEPARATED: 4}

# What tifffile reads without the imagecodecs package.
_DTYPES = tuple(np.dtype(name) for name in ("uint8", "uint16", "float16", "float32", "float64"))
SINGLE_DTYPES = (np.dtype(bool), *_DTYPES)
"""Types of samples that a picture of one page may have; `decode` makes bits and floats others."""

_COMPRESSIONS = (
    COMPRESSION.NONE,
    COMPRESSION.ADOBE_DEFLATE,
    COMPRESSION.DEFLATE,
    COMPRESSION.PACKBITS,
    COMPRESSION.LZMA,
)


def decode(stream, max_pixels: int | None) -> ImageFile:
    """Read a TIFF of one page; 16-bit and 64-bit floats become 32-bit floats."""
    with quiet_tifffile(), tifffile.TiffFile(stream) as file:
        page = file.pages[0]
        check_frames(frames_of(file), "a multi-page TIFF")
        check_size(page.imagewidth, page.imagelength, max_pixels)
        check_tiles(page)
        _check_channels(page)
        samples, orientation = _samples(stream, page)
        return assemble(
            samples,
            "TIFF",
            orientation=orientation,
            icc_profile=None if page.photometric == PHOTOMETRIC.SEPARATED else page.iccprofile,
            dpi=_dpi(page),
        )


@contextmanager
def quiet_tifffile():
    """Keep what tifffile logs of damaged files off stderr; handlers of a program still get it."""
    logger, handler = logging.getLogger("tifffile"), logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def frames_of(file: tifffile.TiffFile) -> int:
    """Count the pictures, thumbnails aside; raises if some are cut off."""
    if _next_page(file) > file.filehandle.size:
        raise FormatError(_CUT_OFF)
    _check_planes(file)
    pages = sum(not page.is_reduced for page in file.pages)
    if pages > 1:
        return pages
    # ImageJ hides a whole stack behind one page; and pages may have depth.
    series = file.series[0]
    if file.is_imagej and series.kind != "imagej":
        raise FormatError(_CUT_OFF)
    axes = zip(series.axes, series.shape, strict=True)
    return math.prod(length for axis, length in axes if axis not in "YXS")


def _check_planes(file: tifffile.TiffFile) -> None:
    """Refuse an OME-TIFF that announces more planes than it has bytes for, which all get listed."""
    largest = {"Z": 1, "C": 1, "T": 1}
    for axis, number in _OME_SIZE.findall(file.ome_metadata or ""):
        largest[axis] = max(largest[axis], int(number))
    if math.prod(largest.values()) > file.filehandle.size // _LEAST_PLANE:
        raise FormatError(_CUT_OFF)


def _next_page(file: tifffile.TiffFile) -> int:
    """Return the offset that the last page found has for the one after it; 0 ends a file.

    tifffile passes over offsets that lead out of the file, and with them over all pages there.
    """
    layout, stream = file.tiff, file.filehandle
    offset = file.pages[-1].offset
    stream.seek(offset)
    (tags,) = struct.unpack(layout.tagnoformat, stream.read(layout.tagnosize))
    stream.seek(offset + layout.tagnosize + tags * layout.tagsize)
    return struct.unpack(layout.offsetformat, stream.read(layout.offsetsize))[0]


def check_tiles(page) -> None:
    """Refuse tiles that are much larger than their page, which would be unpacked whole."""
    if page.is_tiled and page.tilewidth * page.tilelength > max(_LARGEST_TILE, 4 * page.size):
        raise FormatError(
            f"claims tiles of {page.tilelength}x{page.tilewidth} pixels in a page of "
            f"{page.imagelength}x{page.imagewidth}; save it again"
        )


def _check_channels(page) -> None:
    """Refuse pages whose channels are not labelled as grey, RGB or alpha."""
    extra = page.samplesperpixel - _COLOUR_CHANNELS.get(page.photometric, 1)
    unlabelled = EXTRASAMPLE.UNSPECIFIED in page.extrasamples
    inverted = page.photometric == PHOTOMETRIC.MINISWHITE
    if extra not in (0, 1) or (extra == 1 and (unlabelled or inverted)):
        raise FormatError(
            f"has {page.samplesperpixel} channels not labelled as grey, RGB or alpha; "
            "save it as plain grey or RGB"
        )


def _samples(stream, page) -> tuple[np.ndarray, int]:
    """Return the samples, white as the largest, and the orientation left to apply."""
    if page.bitspersample > 8:
        _check_deep(page)
    if not _unpacked_by_tifffile(page):  # Pillow turns the picture upright by itself
        if page.bitspersample <= 8:
            return eight_bit_samples(_opened_by_pillow(stream, page)), 1
        samples, orientation = _sixteen_bit_by_pillow(stream, page), 1
    else:
        planes = page.asarray(squeeze=False)[:, 0]  # (planes, H, W, channels)
        samples = np.concatenate(list(planes), axis=-1)
        tag = page.tags.get("Orientation")
        orientation = int(tag.value) if tag is not None and tag.value in range(1, 9) else 1
    if page.photometric == PHOTOMETRIC.MINISWHITE:
        samples = np.iinfo(samples.dtype).max - samples
    return samples.astype(np.float32) if samples.dtype.kind == "f" else samples, orientation


def _unpacked_by_tifffile(page) -> bool:
    """Return whether tifffile reads the page by itself, every bit of it."""
    return (
        page.dtype in _DTYPES
        and page.bitspersample in (8, 16, 32, 64)
        and page.photometric in (*_GREY, PHOTOMETRIC.RGB)
        and EXTRASAMPLE.ASSOCALPHA not in page.extrasamples
        and page.compression in _COMPRESSIONS
        and page.predictor in (1, 2)
    )


def _check_deep(page) -> None:
    """Refuse what neither tifffile nor Pillow would read without losing bits or meaning."""
    if page.dtype not in _DTYPES or page.bitspersample not in (16, 32, 64):
        problem = f"has {page.bitspersample}-bit samples (dtype {page.dtype})"
    elif page.photometric not in (*_GREY, PHOTOMETRIC.RGB):
        problem = f"has {page.bitspersample}-bit {page.photometric.name} colours"
    elif EXTRASAMPLE.ASSOCALPHA in page.extrasamples:
        problem = "has colours premultiplied with their transparency"
    elif page.dtype.kind == "f" and page.photometric == PHOTOMETRIC.MINISWHITE:
        problem = "has floating-point samples with white as zero"
    else:
        return
    raise FormatError(f"{problem}; save it as 8-bit, 16-bit or float grey or RGB, plain alpha")


def _sixteen_bit_by_pillow(stream, page) -> np.ndarray:
    """Unpack 16-bit samples with libtiff, which hands them over in native byte order."""
    image = _opened_by_pillow(stream, page)
    channels, _, depth = rawmode_of(image).partition(";")
    if image.mode.startswith("I;16"):
        return np.asarray(image)
    interleaved = page.planarconfig == PLANARCONFIG.CONTIG
    if channels not in ("RGB", "RGBA") or not depth.startswith("16") or not interleaved:
        raise FormatError(_unreadable(page))
    little = sys.byteorder == "little"
    high = np.asarray(with_rawmode(image, f"{channels};16{'L' if little else 'B'}"))
    again = _opened_by_pillow(stream, page)
    low = np.asarray(with_rawmode(again, f"{channels};16{'B' if little else 'L'}"))
    return joined_bytes(high, low)


def _opened_by_pillow(stream, page) -> TiffImageFile:
    """Return the page opened by Pillow, its pixels not read yet."""
    stream.seek(0)
    try:
        image = TiffImageFile(stream)
    except SyntaxError:  # Pillow's word for a layout it does not know
        raise FormatError(_unreadable(page)) from None
    # Pillow checks its global limit when it allocates the pixels, and would so overrule
    # a larger `max_pixels`; they are allocated here instead.
    image.im = Image.new(image.mode, (page.imagewidth, page.imagelength)).im
    return image


def _unreadable(page) -> str:
    """Return why a page is refused that neither library can unpack."""
    return (
        f"has {page.samplesperpixel} x {page.bitspersample}-bit samples packed as "
        f"{page.compression.name}, a rare layout; save it uncompressed"
    )


def _dpi(page) -> tuple[float, float] | None:
    """Return the resolution in pixels per inch, horizontal and vertical, if it is stated."""
    tags = [page.tags.get(name) for name in ("XResolution", "YResolution")]
    unit = page.tags.get("ResolutionUnit")
    per_inch = {2: 1.0, 3: 2.54}.get(2 if unit is None else int(unit.value))
    if None in tags or per_inch is None:
        return None
    fractions = [tag.value for tag in tags]
    if any(bottom == 0 for _, bottom in fractions):
        return None
    return plausible_dpi([per_inch * top / bottom for top, bottom in fractions])


def encode(image: ImageFile) -> bytes:
    """Return the bytes of a deflated, single-page TIFF with every bit of `image`."""
    samples = image.samples()
    options = {
        "photometric": "minisblack" if samples.shape[2] < 3 else "rgb",
        "compression": "zlib",
        "compressionargs": {"level": 4},  # of 9: fast, and files hardly larger than at 6
        "planarconfig": "contig" if samples.shape[2] > 1 else None,
        "extrasamples": None if image.alpha is None else ["unassalpha"],
        "iccprofile": image.icc_profile,
    }
    if image.dpi:
        options |= {"resolution": image.dpi, "resolutionunit": "INCH"}
    if samples.shape[2] == 1:
        samples = samples[..., 0]
    target = io.BytesIO()
    tifffile.imwrite(target, samples, metadata=None, software=False, **options)
    return target.getvalue()
