"""PNG, JPEG, PNM, WebP, AVIF, GIF and BMP: Pillow, and imagecodecs for PNG of 16 bits in color."""

from __future__ import annotations

import io
import warnings
import zlib
from contextlib import suppress
from typing import IO, Any

import numpy as np
from PIL import Image, PngImagePlugin

from nnk_image.io.metadata import (
    FormatError,
    Metadata,
    Pixels,
    check_size,
    picture_limit,
    picture_of,
    plausible_dpi,
    samples_of,
)

_ORIENTATION = 0x0112  # EXIF and TIFF tag
_METERS_PER_INCH = 0.0254
_NEEDS_IMAGECODECS = (
    "PNG of 16 bits in color or with transparency needs imagecodecs: "
    'pip install "nnk_image[codecs]", or use .tif'
)

# Pillow's modes of 8-bit grayscale and RGB, and the modes that are converted to them.
_PLAIN = ("L", "LA", "RGB", "RGBA")
_CONVERT = {"1": "L", "P": "RGB", "PA": "RGBA", "RGBa": "RGBA", "RGBX": "RGB", "CMYK": "RGB"}
_CONVERT |= {"YCbCr": "RGB", "LAB": "RGB"}

_DTYPES: dict[str, tuple[type, ...]] = {
    "PNG": (np.uint8, np.uint16),
    "JPEG": (np.uint8,),
    "PPM": (np.uint8, np.uint16),
}

# Close to the best that JPEG offers: writing should not blur a result again.
_JPEG = {"quality": 95, "subsampling": 0}


def read(stream: IO[bytes], kind: str, limit: int | None) -> tuple[Pixels, Metadata]:
    """Read the picture in a file of the format `kind`, upright."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")  # what it says of damaged files
        Image.init()
        if kind not in Image.OPEN:
            raise FormatError(f"the installed Pillow does not read {kind}; install a newer one")
        # Not Image.open, whose limit is global: here `check_size` decides.
        image: Any = Image.OPEN[kind][0](stream, "")
        check_size((image.height, image.width), np.uint8, picture_limit(limit))
        _check_frames(image, kind)
        mode, info = image.mode, image.info
        samples = _samples(stream, image, kind)
        orientation = _orientation(image)
    return picture_of(
        samples,
        orientation=orientation,
        format=kind,
        # A CMYK profile does not describe the RGB pixels made from it.
        icc_profile=None if mode == "CMYK" else info.get("icc_profile"),
        dpi=plausible_dpi(info.get("dpi")),
    )


def _check_frames(image: Any, kind: str) -> None:
    """Refuse documents; of animations and of the previews of phones the first frame is read."""
    frames = getattr(image, "n_frames", 1)
    if frames < 2 or kind == "JPEG":
        return
    if kind in ("PNG", "TIFF"):
        raise FormatError(f"holds {frames} frames; extract one of them into its own file")
    message = f"of the {frames} frames of a {kind} file only the first is read"
    warnings.warn(message, stacklevel=2)


def _samples(stream: IO[bytes], image: Any, kind: str) -> Pixels:
    """Decode to grayscale or RGB, perhaps with transparency, without losing bits."""
    rawmode = _rawmode(image)
    transparent = "transparency" in image.info
    if kind == "PNG" and "16B" in str(rawmode) and (image.mode != "I;16" or transparent):
        return _deep_png(stream)
    if kind == "PPM" and isinstance(rawmode, tuple) and image.mode == "RGB" and rawmode[1] > 255:
        raise FormatError("is a PPM of more than 8 bits in color; convert it to PNG or TIFF")
    if image.mode.startswith("I;16") or (kind == "PPM" and image.mode == "I"):
        return np.asarray(image).astype(np.uint16)
    if transparent and image.mode in ("1", "L", "RGB", "P"):
        image = image.convert("LA" if image.mode in ("1", "L") else "RGBA")
    elif image.mode in _CONVERT:
        image = image.convert(_CONVERT[image.mode])
    elif image.mode not in _PLAIN:
        raise FormatError(f"has pixels of kind {image.mode!r}; convert it to 8 or 16-bit RGB")
    return np.asarray(image)


def _rawmode(image: Any) -> Any:
    """Return what Pillow knows of the stored samples before it decodes them."""
    tiles = getattr(image, "tile", None)
    return tiles[0][-1] if tiles else None


def _orientation(image: Any) -> int:
    with suppress(Exception):  # damaged EXIF data must not cost the user the picture
        value = image.getexif().get(_ORIENTATION, 1)
        if value in range(1, 9):
            return int(value)
    return 1


def _deep_png(stream: IO[bytes]) -> Pixels:
    png = _imagecodecs()
    stream.seek(0)
    samples: Pixels = png.png_decode(stream.read())
    return samples


def _imagecodecs() -> Any:
    try:
        import imagecodecs
    except ImportError:
        raise FormatError(_NEEDS_IMAGECODECS) from None
    return imagecodecs


def check(array: Pixels, metadata: Metadata, kind: str, extension: str) -> None:
    """Refuse arrays whose shape, depth or transparency the format cannot hold."""
    name = "PGM/PPM" if kind == "PPM" else kind
    if not metadata.is_picture or array.shape[2:] not in ((), (3,), (4,)):
        size = "x".join(map(str, array.shape))
        raise FormatError(
            f"{name} cannot hold {size} pixels with axes {metadata.axes}; write .tif, .npy or .nii"
        )
    if array.dtype not in _DTYPES[kind]:
        cure = ".tif" if array.dtype.kind == "f" else ".png or .tif"
        raise FormatError(f"{name} cannot hold {array.dtype}; write {cure}")
    alpha = metadata.alpha is not None or array.shape[2:] == (4,)
    deep_color = array.dtype == np.uint16 and (array.ndim == 3 or alpha)
    if alpha and kind != "PNG":
        raise FormatError(f"{name} cannot hold transparency; write .png or .tif")
    if array.ndim == 3 and extension == ".pgm":
        raise FormatError("PGM cannot hold color; write .ppm or .png")
    if deep_color and kind == "PPM":
        raise FormatError("PPM of 16 bits in color is not written; write .png or .tif")
    if deep_color:
        _imagecodecs()


def write(stream: IO[bytes], array: Pixels, metadata: Metadata, kind: str, extension: str) -> None:
    """Write a picture that `check` accepts; JPEG at quality 95 without chroma subsampling."""
    samples = samples_of(array, metadata)
    if extension == ".ppm" and samples.ndim == 2 and samples.dtype == np.uint8:
        samples = np.stack([samples] * 3, axis=2)
    if samples.dtype == np.uint16 and samples.ndim == 3:
        stream.write(_deep_png_bytes(samples, metadata))
        return
    options: dict[str, Any] = {"icc_profile": metadata.icc_profile, "dpi": metadata.dpi}
    options = {name: value for name, value in options.items() if value}
    options |= _JPEG if kind == "JPEG" else {}
    target = io.BytesIO()  # for Pillow looks at the name and place of other streams
    Image.fromarray(samples).save(target, kind, **options)
    stream.write(target.getvalue())


def _deep_png_bytes(samples: Pixels, metadata: Metadata) -> bytes:
    """Encode with imagecodecs, and put profile and resolution behind the header."""
    data: bytes = _imagecodecs().png_encode(samples, level=4)
    target = io.BytesIO()
    target.write(data[:33])  # signature and IHDR
    if metadata.icc_profile:
        profile = b"ICC Profile\0\0" + zlib.compress(metadata.icc_profile)
        PngImagePlugin.putchunk(target, b"iCCP", profile)
    if metadata.dpi:
        dots = (round(value / _METERS_PER_INCH).to_bytes(4, "big") for value in metadata.dpi)
        PngImagePlugin.putchunk(target, b"pHYs", *dots, b"\1")
    return target.getvalue() + data[33:]
