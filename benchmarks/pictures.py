"""The images that experiments run on, with the names and digests that identify them."""

import hashlib
from dataclasses import dataclass, field

import numpy as np

import nnk_image
from nnk_image.cli.paths import image_paths
from nnk_image.io import ImageFileError, read
from nnk_image.io.standard import standard_images

BUNDLED = (
    "astronaut_grey",
    "brick",
    "camera",
    "cell",
    "chelsea_grey",
    "coffee_grey",
    "grass",
    "gravel",
    "retina",
)
"""The bundled gray images of 256 x 256: photographs, textures, microscopy."""

LEAST_SIDE = 16
"""Least height and width of an image, in pixels."""

_LUMA = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True, eq=False)
class Picture:
    """A gray image with its name and the digest of its content.

    Attributes
    ----------
    name : str
    unit : (H, W) float64 ndarray
        Values from 0 to 1.
    digest : str
        SHA-256 of shape and values, in hexadecimal.
    """

    name: str
    unit: np.ndarray = field(repr=False)
    digest: str

    @classmethod
    def of_pixels(cls, name, pixels):
        """From (H, W) or (H, W, 3) pixels: color becomes luma (Rec. 601), integers 0 to 1."""
        unit = pixels.astype(float)
        if pixels.dtype.kind != "f":
            unit = unit / np.iinfo(pixels.dtype).max
        elif not (np.isfinite(unit).all() and unit.min() >= 0 and unit.max() <= 1):
            raise ImageFileError(f"{name}: floating-point values must lie from 0 to 1; scale them")
        if unit.ndim == 3:
            unit = unit @ _LUMA
        if min(unit.shape) < LEAST_SIDE:
            size = "x".join(map(str, unit.shape))
            raise ImageFileError(f"{name}: {size} pixels are too few; take {LEAST_SIDE} and more")
        if unit.min() == unit.max():
            raise ImageFileError(f"{name}: all pixels are equal; leave this image out")
        content = f"{unit.shape} {unit.dtype.str}".encode() + unit.tobytes()
        return cls(name, unit, hashlib.sha256(content).hexdigest())

    @property
    def seed(self):
        """An integer to seed noise with, which depends on the content only."""
        return int(self.digest[:8], 16)


def bundled_pictures():
    """The `BUNDLED` images."""
    paths = standard_images()
    return [Picture.of_pixels(name, read(paths[name])[0]) for name in BUNDLED]


def images_of_8_bits(folder, color=True):
    """(name, pixels) of the images in a folder, without one of the `BUNDLED`, from 0 to 255."""
    if folder is None:
        return [(name, nnk_image.standard_image(name)) for name in BUNDLED]
    found = [(path, *read(path)) for path in image_paths([folder])]
    for path, pixels, metadata in found:
        if pixels.dtype != np.uint8 or metadata.axes not in ("YX", "YXS")[: 1 + color]:
            kind = "8-bit image" if color else "8-bit grayscale image"
            size = "x".join(map(str, pixels.shape))
            raise ImageFileError(f"{path}: is not an {kind}, but {size} {pixels.dtype}")
    return [(path.stem, pixels) for path, pixels, _ in found]


def volumes_in(folder):
    """Volumes of a folder of NAME.npy, in float32, by name."""
    found = {path.stem: np.load(path).astype(np.float32) for path in sorted(folder.glob("*.npy"))}
    if not found:
        raise ImageFileError(f"{folder}: has no .npy files")
    return found


def pictures_of(paths, max_pixels=None):
    """Image files as pictures, named like the files; equal names get folder and extension too."""
    stems = [path.stem for path in paths]
    names = [
        path.stem if stems.count(path.stem) == 1 else f"{path.parent.name}/{path.name}"
        for path in paths
    ]
    return [
        Picture.of_pixels(name, read(path, max_pixels=max_pixels)[0])
        for name, path in zip(names, paths, strict=True)
    ]
