"""PNG, JPEG, PNM, WebP, AVIF, GIF and BMP by Pillow.

imagecodecs does PNG of 16 bits in color, pillow-heif does HEIF.
"""

import io
import math
import warnings
from contextlib import suppress
from dataclasses import replace
from typing import IO, Any

import numpy as np
from PIL import ExifTags, Image, PngImagePlugin

from nnk_image.base.checks import warn
from nnk_image.base.extras import requires_extra
from nnk_image.io import metadata as meta
from nnk_image.io.metadata import FormatError, Metadata, Pixels, Save

_DEEP = ("PNG", "PPM")  # formats that hold 16 bits
_WITH_ALPHA = ("PNG", "WEBP", "AVIF", "TIFF")  # formats that hold transparency
# Close to the highest quality of JPEG and AVIF, so that compression does not degrade results.
_OPTIONS: dict[str, dict[str, Any]] = {
    "JPEG": {"quality": 95, "subsampling": 0},
    "AVIF": {"quality": 95, "subsampling": "4:4:4"},
    "WEBP": {"lossless": True, "exact": True},
}
_MOST_SIDE = {"JPEG": 65500, "WEBP": 16383, "AVIF": 32768}  # pixels; libavif reads no more

# Metadata that files of each format can hold.
_EVERYTHING = ("exif", "xmp", "icc_profile")
_HOLDS = dict.fromkeys(("PNG", "JPEG", "WEBP", "AVIF"), _EVERYTHING) | {"TIFF": _EVERYTHING[1:]}
_NAMES = {"exif": "EXIF data", "xmp": "XMP data", "icc_profile": "the color profile"}
_NAMES |= {"alpha": "the transparency"}
_LARGEST = {"JPEG": {"exif": 65_000, "xmp": 65_000}}  # bytes of metadata that a format can hold

# TIFF tags that are part of the EXIF data of other formats: make, model, ..., GPS position.
_EXIF_IN_TIFF = (0x010F, 0x0110, 0x0132, 0x013B, 0x8298, ExifTags.IFD.Exif, ExifTags.IFD.GPSInfo)


def read(stream: IO[bytes], kind: str, limit: int | None) -> tuple[Pixels, Metadata]:
    """Read the picture in a file of the format `kind`, upright."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")  # about damaged files
        Image.init()
        if kind == "HEIF":
            with requires_extra("is HEIF; convert it to PNG, or install pillow-heif", "heif"):
                from pillow_heif import register_heif_opener
            register_heif_opener()
        if kind not in Image.OPEN:
            raise FormatError(f"the installed Pillow does not read {kind}; install a newer one")
        # Not Image.open, whose limit is global: here `check_size` decides.
        image: Any = Image.OPEN[kind][0](stream, "")
        meta.check_size((image.height, image.width), np.uint8, most_pixels(limit))
        frames = getattr(image, "n_frames", 1)
        if frames > 1 and kind not in ("JPEG", "TIFF"):  # these hold previews
            text = f"of the {frames} frames of a {kind} file only the first is read"
            warn(f"{text}; for all, convert it to TIFF")
        mode, info = image.mode, image.info
        samples = _samples(stream, image, kind)
        orientation, exif = _upright_exif(image)
        exif = exif_of_tiff(stream) if kind == "TIFF" else exif
        xmp, profile = info.get("xmp"), info.get("icc_profile")
        if mode == "CMYK" and profile:
            warn(
                "CMYK becomes RGB without its color profile, so that colors may change; convert "
                "it to RGB first, by a program that applies the profile",
            )
        if mode in ("CMYK", "LAB"):  # the profile does not describe the RGB pixels made from them
            profile = None
    return meta.picture_of(
        samples,
        orientation=orientation,
        format=kind,
        icc_profile=profile,
        dpi=meta.plausible_dpi(info.get("dpi")),
        exif=exif,
        xmp=xmp.encode() if isinstance(xmp, str) else xmp or None,
    )


def most_pixels(limit: int | None) -> int | None:
    """Return the most pixels of a picture: the limit, if given, else that of Pillow's `open`."""
    if limit is None and Image.MAX_IMAGE_PIXELS:
        return 2 * Image.MAX_IMAGE_PIXELS  # it warns from half as many on
    return limit


def _samples(stream: IO[bytes], image: Any, kind: str) -> Pixels:
    """Decode to grayscale or RGB, perhaps with transparency, without losing bits."""
    tiles = getattr(image, "tile", None)
    rawmode = tiles[0][-1] if tiles else None  # format of the samples in the file
    transparent = image.has_transparency_data
    if kind == "PNG" and "16B" in str(rawmode) and (image.mode != "I;16" or transparent):
        stream.seek(0)
        samples: Pixels = _imagecodecs().png_decode(stream.read())
        return samples
    if kind == "PPM" and isinstance(rawmode, tuple) and image.mode == "RGB" and rawmode[1] > 255:
        raise FormatError("is a PPM of more than 8 bits in color; convert it to PNG or TIFF")
    if image.mode.startswith("I;16") or (kind == "PPM" and image.mode == "I"):
        return np.asarray(image).astype(np.uint16)
    if image.mode in ("I", "F"):
        raise FormatError(f"has pixels of mode {image.mode!r}; convert it to 8 or 16-bit RGB")
    gray = image.mode != "P" and Image.getmodebase(image.mode) == "L"
    mode = ("L" if gray else "RGB") + "A" * transparent
    return np.asarray(image if image.mode == mode else image.convert(mode))


def _upright_exif(image: Any) -> tuple[int, bytes | None]:
    """Return the orientation, and the EXIF data for the picture after it is turned upright."""
    orientation = 1
    with suppress(Exception):  # read the picture even if its EXIF data is damaged
        tags = image.getexif()
        stored = tags.get(ExifTags.Base.Orientation, 1)
        orientation = int(stored) if stored in range(1, 9) else 1
        data = image.info["exif"]
        if orientation == 1:  # unchanged: moving maker notes would break them
            return 1, data
        del tags[ExifTags.Base.Orientation]
        for size in (ExifTags.Base.ExifImageWidth, ExifTags.Base.ExifImageHeight):
            tags.get_ifd(ExifTags.IFD.Exif).pop(size, None)
        return orientation, tags.tobytes()
    return orientation, None


def exif_of_tiff(stream: Any) -> bytes | None:
    """Return the tags of a TIFF that other formats store as EXIF data, as EXIF data."""
    with suppress(Exception):
        stream.seek(0)
        exif = Image.Exif()
        exif.load_from_fp(stream)
        for tag in {*exif} - {*_EXIF_IN_TIFF}:
            del exif[tag]
        return exif.tobytes() if len(exif) else None
    return None


def without_what_is_lost(metadata: Metadata, kind: str) -> tuple[Metadata, str]:
    """Return the metadata that a format can hold, and the names of what is lost."""
    alpha = metadata.alpha
    if kind not in _WITH_ALPHA and alpha is not None and alpha.dtype.kind == "u":
        opaque = alpha.min() == np.iinfo(alpha.dtype).max
        metadata = replace(metadata, alpha=None) if opaque else metadata
    most = dict.fromkeys(_HOLDS.get(kind, ()), math.inf) | _LARGEST.get(kind, {})
    if kind not in ("NPY", "NIFTI"):
        most["alpha"] = math.inf  # never lost silently: the writer raises if it cannot hold it
    if kind in ("WEBP", "AVIF") and (metadata.icc_profile or b"")[16:20] == b"GRAY":
        most["icc_profile"] = 0  # these formats hold colors only
    values = ((name, getattr(metadata, name)) for name in _NAMES)
    lost = [name for name, value in values if value is not None and len(value) > most.get(name, 0)]
    names = " and ".join(_NAMES[name] for name in lost)
    nothing: dict[str, Any] = dict.fromkeys(lost)
    return replace(metadata, **nothing), names


def _imagecodecs() -> Any:
    with requires_extra(
        "PNG of 16 bits in color or with alpha, unlike TIFF, needs imagecodecs", "codecs"
    ):
        import imagecodecs
    return imagecodecs


def writer(array: Pixels, metadata: Metadata, kind: str, extension: str) -> Save:
    """Return the `Save` of a picture; FormatError if the format cannot hold it."""
    name = "PGM/PPM" if kind == "PPM" else kind
    if not metadata.is_picture or array.shape[2:] not in ((), (3,), (4,)):
        size = "x".join(map(str, array.shape))
        raise FormatError(
            f"{name} cannot hold {size} pixels with axes {metadata.axes}; write .tif, .npy or .nii"
        )
    Image.init()
    if kind not in Image.SAVE:
        raise FormatError(f"the installed Pillow does not write {kind}; install a newer one")
    deep = array.dtype == np.uint16
    if array.dtype != np.uint8 and not (deep and kind in _DEEP):
        cure = "write .png or .tif" if deep else "convert it to uint8, or write .tif"
        cure = "write .tif" if array.dtype.kind == "f" else cure
        raise FormatError(f"{name} cannot hold {array.dtype}; {cure}")
    if max(array.shape) > (most := _MOST_SIDE.get(kind, math.inf)):
        raise FormatError(f"{name} cannot hold sides above {most} pixels; write .png or .tif")
    alpha = metadata.alpha is not None or array.shape[2:] == (4,)
    deep_color = deep and (array.ndim == 3 or alpha)
    if alpha and kind not in _WITH_ALPHA:
        raise FormatError(f"{name} cannot hold transparency; write .png or .tif")
    if array.ndim == 3 and extension == ".pgm":
        raise FormatError("PGM cannot hold color; write .ppm or .png")
    if deep_color and kind == "PPM":
        raise FormatError("PPM of 16 bits in color is not written; write .png or .tif")
    if deep_color:
        _imagecodecs()
    samples = meta.samples_of(array, metadata)
    return lambda stream: _write(stream, samples, metadata, kind)


def _write(stream: IO[bytes], samples: Pixels, metadata: Metadata, kind: str) -> None:
    names = "icc_profile", "dpi", "exif", "xmp"
    options = {name: value for name in names if (value := getattr(metadata, name))}
    options |= _OPTIONS.get(kind, {})
    if kind == "PNG" and metadata.xmp:
        options["pnginfo"] = PngImagePlugin.PngInfo()
        options["pnginfo"].add_itxt("XML:com.adobe.xmp", metadata.xmp)
    deep = samples.dtype == np.uint16 and samples.ndim == 3
    target = io.BytesIO()  # Pillow uses the name and position of other streams
    Image.fromarray(np.zeros((1, 1), np.uint8) if deep else samples).save(target, kind, **options)
    data = target.getvalue()
    if deep:  # encode by imagecodecs, and insert the metadata chunks of Pillow's PNG of one pixel
        header, chunks = 33, data  # bytes of the signature and the chunk IHDR
        data = _imagecodecs().png_encode(samples, level=4)
        data = data[:header] + chunks[header : chunks.rindex(b"IDAT") - 4] + data[header:]
    stream.write(data)
