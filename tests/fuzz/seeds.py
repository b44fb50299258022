"""Small files of every format and kind that is read, as seeds for fuzzing the readers."""

import io
import tempfile
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image, features

from nnk_image.io import write

_RNG = np.random.default_rng(20261123)
_GRAY = _RNG.integers(0, 256, (5, 7), dtype=np.uint8)
_COLOR = _RNG.integers(0, 256, (5, 7, 3), dtype=np.uint8)
_CLEAR = _RNG.integers(0, 256, (5, 7), dtype=np.uint8)
_DEEP = _RNG.integers(0, 65536, (5, 7), dtype=np.uint16)
_DEEP_COLOR = _RNG.integers(0, 65536, (5, 7, 3), dtype=np.uint16)
_SINGLE = _RNG.random((5, 7), dtype=np.float32)
_VOLUME = _RNG.integers(0, 65536, (2, 5, 7), dtype=np.uint16)

# Name -> pixels, opacity
_PICTURES = {
    "grey.png": (_GRAY, None),
    "clear.png": (_COLOR, _CLEAR),
    "deep.png": (_DEEP_COLOR, None),
    "deep_clear.png": (_DEEP, _DEEP[::-1]),
    "grey.jpg": (_GRAY, None),
    "colour.jpg": (_COLOR, None),
    "grey.tif": (_GRAY, None),
    "clear.tif": (_COLOR, _CLEAR),
    "deep.tif": (_DEEP_COLOR, None),
    "float.tif": (_SINGLE, None),
    "grey.pgm": (_GRAY, None),
    "colour.ppm": (_COLOR, None),
}


def seeds():
    """Return the bytes of valid files, by name."""
    files = {**_by_pillow(), **_by_tifffile(), **_plain_pnm(), "b.npy": _columns_first()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for name, (pixels, alpha) in _PICTURES.items():
            profile = None if name.endswith((".pgm", ".ppm")) else b"a profile"  # not stored
            about = {"alpha": alpha, "icc_profile": profile, "dpi": (72.0, 72.0)}
            write(folder / name, pixels, about)
        about = {"axes": "ZYX", "spacing": (2.0, 0.5, 0.5), "unit": "um"}
        for name in ("zyx.tif", "zyx.npy", "zyx.nii", "zyx.nii.gz"):
            write(folder / name, _VOLUME, about)
        about = {"axes": "TZYX", "spacing": (1.5, 2.0, 0.5, 0.5), "unit": "mm"}
        for name in ("tzyx.tif", "tzyx.nii"):
            write(folder / name, np.stack([_VOLUME, _VOLUME[::-1]]).astype(float), about)
        return files | {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _by_pillow():
    """Return images of kinds that this library reads but does not write."""
    gray, color = Image.fromarray(_GRAY), Image.fromarray(_COLOR)
    exif = Image.Exif()
    exif[0x0112] = 6  # orientation: rotated
    files = {
        "palette.png": _saved(color.quantize(7), "PNG", transparency=2),
        "bits.png": _saved(gray.convert("1"), "PNG"),
        "key.png": _saved(gray, "PNG", transparency=9),
        "turned.jpg": _saved(color, "JPEG", exif=exif, progressive=True),
        "cmyk.jpg": _saved(color.convert("CMYK"), "JPEG"),
        "colour.bmp": _saved(color, "BMP"),
        "bits.bmp": _saved(gray.convert("1"), "BMP"),
        "frames.gif": _saved(gray, "GIF", save_all=True, append_images=[color.quantize(5)]),
        "colour.tif": _saved(color, "TIFF", compression="tiff_lzw"),
        "jpeg.tif": _saved(color, "TIFF", compression="jpeg"),
        "bits.tif": _saved(gray.convert("1"), "TIFF", compression="group4"),
        "palette.tif": _saved(color.quantize(7), "TIFF"),
        "cmyk.tif": _saved(color.convert("CMYK"), "TIFF"),
        "lzw16.tif": _saved(Image.fromarray(_DEEP), "TIFF", compression="tiff_lzw"),
        "packbits.tif": _saved(gray, "TIFF", compression="packbits"),
        "pages.tif": _saved(gray, "TIFF", save_all=True, append_images=[gray]),
    }
    for kind in filter(features.check, ("webp", "avif")):
        files[f"colour.{kind}"] = _saved(color, kind)
    return files


def _saved(picture, kind, **options):
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


def _by_tifffile():
    """Return TIFF files: ImageJ, OME, tiles, planes, both byte orders, BigTIFF, other dtypes."""
    sizes = {"PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "µm", "TimeIncrement": 3.0}
    imagej = {"axes": "ZYX", "spacing": 2.5, "unit": "um", "Labels": ["a", "b"], "finterval": 2.0}
    wide = np.arange(32 * 32, dtype=np.uint16).reshape(32, 32)
    planes = np.moveaxis(_DEEP_COLOR, -1, 0)
    return {
        "imagej.tif": _tiff(_VOLUME, imagej=True, metadata=imagej, resolution=(4.0, 5.0)),
        "ome.tif": _tiff(_VOLUME, ome=True, metadata={"axes": "TYX", **sizes}),
        "tiles.tif": _tiff(wide, tile=(16, 16), compression="zlib", predictor=2),
        "planes.tif": _tiff(planes, photometric="rgb", planarconfig="separate", byteorder=">"),
        "big.tif": _tiff(_VOLUME, bigtiff=True, photometric="minisblack", compression="zlib"),
        "half.tif": _tiff(_SINGLE.astype(np.float16), byteorder=">"),
        "signed.tif": _tiff(_VOLUME.astype(np.int32), photometric="minisblack", metadata=None),
        "strips.tif": _tiff(_GRAY, compression="lzma", rowsperstrip=2),
        "white.tif": _tiff(_DEEP, photometric="miniswhite"),
    }


def _tiff(pixels, **options):
    stream = io.BytesIO()
    tifffile.imwrite(stream, pixels, **options)
    return stream.getvalue()


def _plain_pnm():
    """Return PNM images stored as decimal numbers or as bits."""
    return {
        "plain.pbm": b"P1\n# bits\n3 2\n1 0 1\n010\n",
        "plain.pgm": b"P2 3 2 15\n0 3 6\n9 12 15\n",
        "plain.ppm": b"P3\n1 2 # size\n30\n0 15 30 9 8 7\n",
        "bits.pbm": b"P4\n9 2\n\xaa\x80\x55\x00",
    }


def _columns_first():
    stream = io.BytesIO()
    np.save(stream, np.asfortranarray(_VOLUME.astype(">f4")))
    return stream.getvalue()
