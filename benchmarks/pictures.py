"""Images for the experiments."""

import hashlib
from dataclasses import dataclass, field

import numpy as np
from skimage.color import rgb2gray
from skimage.transform import downscale_local_mean

import nnk_image
from benchmarks.noises import as_8_bit, white
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
"""Bundled gray images of 256 x 256 pixels: photographs, textures and microscopy."""

NOISY = {"hopper", "hubble_deep_field"}
"""Bundled images, and images of scikit-image, with noise of their own: film grain, noise of the
sky. They do not count as pictures without noise."""

LEAST_SIDE = 16
"""Least height and width of a `Picture`, in pixels."""

_LUMA = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True, eq=False)
class Picture:
    """A gray image with a name.

    Attributes
    ----------
    name : str
        Name in tables and reports.
    values : (H, W) float64 ndarray
        Gray levels from 0 to 1.
    """

    name: str
    values: np.ndarray = field(repr=False)

    @classmethod
    def from_pixels(cls, name, pixels):
        """Create a picture from gray (H, W) or RGB (H, W, 3) pixels.

        RGB is converted to luma (Rec. 601). Integers are divided by the largest value of their
        dtype; floating-point values must lie from 0 to 1.
        """
        values = pixels.astype(float)
        if pixels.dtype.kind != "f":
            values = values / np.iinfo(pixels.dtype).max
        elif not (np.isfinite(values).all() and values.min() >= 0 and values.max() <= 1):
            raise ImageFileError(f"{name}: floating-point values must lie from 0 to 1; scale them")
        if values.ndim == 3:
            values = values @ _LUMA
        if min(values.shape) < LEAST_SIDE:
            size = "x".join(map(str, values.shape))
            raise ImageFileError(
                f"{name}: {size} pixels are too few; use at least {LEAST_SIDE}x{LEAST_SIDE}"
            )
        if values.min() == values.max():
            raise ImageFileError(f"{name}: all pixels are equal; leave this image out")
        return cls(name, values)

    @property
    def seed(self):
        """Seed of the noise, an int that depends on the content only."""
        content = f"{self.values.shape} {self.values.dtype.str}".encode() + self.values.tobytes()
        return int(hashlib.sha256(content).hexdigest()[:8], 16)


def bundled_pictures():
    """Return the `BUNDLED` images as a list of `Picture`."""
    paths = standard_images()
    return [Picture.from_pixels(name, read(paths[name])[0]) for name in BUNDLED]


def read_pictures(paths):
    """Return image files as a list of `Picture`.

    They are named like the files. Files of equal name also get their folder and extension.
    """
    stems = [path.stem for path in paths]
    names = [
        path.stem if stems.count(path.stem) == 1 else f"{path.parent.name}/{path.name}"
        for path in paths
    ]
    return [
        Picture.from_pixels(name, read(path)[0]) for name, path in zip(names, paths, strict=True)
    ]


def read_8_bit_images(folder, color=True):
    """Return the images of a folder as a list of (name, uint8 pixels).

    Without a folder, these are the `BUNDLED` images. An image of another dtype, or in color if
    `color` is False, raises an `ImageFileError`.
    """
    if folder is None:
        return [(name, nnk_image.standard_image(name)) for name in BUNDLED]
    found = [(path, *read(path)) for path in image_paths([folder])]
    for path, pixels, metadata in found:
        if pixels.dtype != np.uint8 or metadata.axes not in ("YX", "YXS")[: 1 + color]:
            kind = "8-bit image" if color else "8-bit grayscale image"
            size = "x".join(map(str, pixels.shape))
            raise ImageFileError(f"{path}: is not an {kind}, but {size} {pixels.dtype}")
    return [(path.stem, pixels) for path, pixels, _ in found]


def read_gray_images(folder):
    """Return gray 8-bit images as `read_8_bit_images` does, but as float64 from 0 to 255."""
    return [(name, pixels.astype(float)) for name, pixels in read_8_bit_images(folder, color=False)]


def read_volumes(folder):
    """Return the volumes NAME.npy of a folder as a dict from name to float32 ndarray."""
    found = {path.stem: np.load(path).astype(np.float32) for path in sorted(folder.glob("*.npy"))}
    if not found:
        raise ImageFileError(f"{folder}: has no .npy files")
    return found


def noisy_camera(sigma=20.0):
    """Return the bundled image of 512 x 512 pixels with white noise, as float64."""
    return white(nnk_image.standard_image("camera_512").astype(float), sigma, 0)


def shrink(image, factor):
    """Return an (H, W, C) image in which blocks of ``factor`` x ``factor`` pixels are averaged.

    Rows and columns beyond the last complete block are cropped.
    """
    height, width = (n // factor * factor for n in image.shape[:2])
    return downscale_local_mean(image[:height, :width], (factor, factor, 1))


def gray_of(picture):
    """Return an RGB picture in gray, as uint8."""
    return as_8_bit(255 * rgb2gray(picture))
