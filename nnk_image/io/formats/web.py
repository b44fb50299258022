"""WebP, AVIF, GIF and BMP: 8 bits, read and never written.

WebP and AVIF are written with loss, unless told otherwise, and GIF holds 256 colours: a result is
worth more than that.
"""

from __future__ import annotations

import warnings

from PIL import Image, features

from .common import FormatError, ImageFile, assemble, check_size, plausible_dpi
from .pillow import eight_bit_samples, orientation_of

_NEEDS = {"WEBP": "webp", "AVIF": "avif"}  # what Pillow may have been built without


def decode(stream, max_pixels: int | None, kind: str) -> ImageFile:
    """Read the first frame of a file of one of these formats; a warning tells of others."""
    if kind in _NEEDS and not pillow_has(_NEEDS[kind]):
        raise FormatError(
            f"is a {kind} file, which the installed Pillow cannot read; install a newer Pillow, "
            "or convert the file to PNG"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # `check_size` decides
        image = Image.open(stream, formats=[kind])
    check_size(*image.size, max_pixels)
    frames = getattr(image, "n_frames", 1)
    if frames > 1:
        warnings.warn(
            f"of the {frames} frames of a {kind} file only the first is read", stacklevel=4
        )
    samples = eight_bit_samples(image)
    return assemble(
        samples,
        kind,
        orientation=orientation_of(image),
        icc_profile=image.info.get("icc_profile"),
        dpi=plausible_dpi(image.info.get("dpi")),
    )


def pillow_has(name: str) -> bool:
    """Whether the installed Pillow can read a format; an older one may not know its name."""
    return name in features.modules and features.check(name)
