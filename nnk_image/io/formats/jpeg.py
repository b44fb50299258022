"""JPEG: 8 bits, grey and colour."""

from __future__ import annotations

import io

from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from .common import ImageFile, assemble, check_size, plausible_dpi
from .pillow import eight_bit_samples, orientation_of

# Close to the best that JPEG offers: writing should not blur a result again.
_QUALITY = {"quality": 95, "subsampling": 0}


def decode(stream, max_pixels: int | None) -> ImageFile:
    """Read a JPEG; CMYK becomes RGB.

    Phones append previews and depth maps to the picture (MPO); only the picture is
    read, as in every viewer.
    """
    image = JpegImageFile(stream)
    check_size(*image.size, max_pixels)
    samples = eight_bit_samples(image)
    return assemble(
        samples,
        "JPEG",
        orientation=orientation_of(image),
        # A CMYK profile does not describe the RGB pixels made from it.
        icc_profile=None if image.mode == "CMYK" else image.info.get("icc_profile"),
        dpi=plausible_dpi(image.info.get("dpi")),
    )


def encode(image: ImageFile) -> bytes:
    """Return the bytes of a JPEG of quality 95 without chroma subsampling."""
    options = {"icc_profile": image.icc_profile, "dpi": image.dpi}
    options = {name: value for name, value in options.items() if value}
    target = io.BytesIO()
    Image.fromarray(image.pixels).save(target, "JPEG", **_QUALITY, **options)
    return target.getvalue()
