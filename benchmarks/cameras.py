"""A simple camera: what a developed photograph of a known scene looks like, noise and all.

Each pixel sees the scene through one color filter and counts light; the two other colors are
filled in from its neighbors, the whites are balanced, dark tones brightened. The camera may then
reduce the noise and sharpen the picture, and the result is stored as JPEG.
"""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image
from scipy.ndimage import convolve, gaussian_filter
from skimage import data
from skimage.restoration import denoise_bilateral

WHITE_BALANCE = (0.5, 1.0, 0.65)
"""What a white surface gives behind the red, green and blue filter, relative to green."""

READ_NOISE = 3.0
"""Standard deviation of what reading a pixel adds, in counts."""

_NEAREST = np.outer([1, 2, 1], [1, 2, 1])[..., None]

SCENES = ("astronaut", "chelsea", "coffee", "immunohistochemistry", "motorcycle", "retina")
SCENES += ("rocket", "hubble_deep_field")


@dataclass(frozen=True)
class Processing:
    """What a camera does to a photograph after developing it; by default nothing.

    Attributes
    ----------
    chroma : float
        Standard deviation in pixels of the Gaussian that smooths the color differences.
    smoothing : float
        Difference in gray levels, of 255, that a bilateral filter of all colors keeps.
    sharpening : float
        Share of the details below 1 pixel that is added.
    """

    chroma: float = 0.0
    smoothing: float = 0.0
    sharpening: float = 0.0


@dataclass(frozen=True)
class Shot:
    """A photograph, and the one that a camera without noise would have taken.

    Attributes
    ----------
    name : str
    light : float
        Counts of a pixel behind the green filter where the scene is white.
    mosaic : (H, W) ndarray
        What the sensor counted, of one color in each pixel.
    clean, noisy : (H, W, 3) ndarray of uint8
        Developed.
    """

    name: str
    light: float
    mosaic: np.ndarray
    clean: np.ndarray
    noisy: np.ndarray


def shots(lights):
    """Yield photographs of all scenes, each with so much light."""
    for index, name in enumerate(SCENES):
        scene = _scene(name)
        for light in lights:
            rng = np.random.default_rng([index, light])
            yield shoot(f"{name}, {light} counts", scene, light, rng)


def shoot(name, scene, light, rng, processing=Processing()):
    """Take a photograph of a scene, (H, W, 3) values from 0 to 255 on a screen."""
    seen = _behind_filters(scene)
    mosaic = rng.poisson(light * seen) + rng.normal(0, READ_NOISE, seen.shape)
    clean, noisy = (develop(values, processing) for values in (seen, mosaic / light))
    return Shot(name, light, mosaic, clean, noisy)


def develop(mosaic, processing=Processing()):
    """The picture, (H, W, 3) of uint8, of a mosaic of values in which white is 1 behind green."""
    filters = _filters(mosaic.shape)
    filled = convolve(mosaic.clip(0, 1)[..., None] * filters, _NEAREST)
    filled /= convolve(filters, _NEAREST) * WHITE_BALANCE
    picture = _processed(_screen_of(filled.clip(0, 1)), processing)
    return np.rint(255 * picture.clip(0, 1)).astype(np.uint8)


def _processed(picture, processing):
    """A picture of (H, W, 3) values from 0 to 1 after what a camera does to it."""
    if processing.chroma:
        luminance = picture.mean(axis=-1, keepdims=True)
        width = processing.chroma
        picture = luminance + gaussian_filter(picture - luminance, (width, width, 0))
    if processing.smoothing:
        kept = processing.smoothing / 255
        picture = denoise_bilateral(picture.clip(0, 1), 5, kept, 1.5, channel_axis=-1)
    if processing.sharpening:
        details = picture - gaussian_filter(picture, (1, 1, 0))
        picture = picture + processing.sharpening * details
    return picture


def _behind_filters(scene):
    """(H, W) light that the pixels get of a scene, (H, W, 3) values from 0 to 255 on a screen."""
    return (_light_of(scene / 255) * WHITE_BALANCE * _filters(scene.shape[:2])).sum(axis=-1)


def _filters(shape):
    """(H, W, 3) ones where a pixel sees red, green or blue."""
    y, x = np.indices(shape) % 2
    return np.stack([(y == 0) & (x == 0), y != x, (y == 1) & (x == 1)], axis=-1).astype(float)


def _light_of(values):
    """Light that the values of a picture stand for, both from 0 to 1 (sRGB)."""
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _screen_of(light):
    """The values of a picture that stand for so much light."""
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def jpeg(pixels, quality):
    """The pixels after being stored as JPEG."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def _scene(name):
    """A picture at half its size, where it has next to no noise of its own, at most 256 x 256."""
    picture = data.stereo_motorcycle()[0] if name == "motorcycle" else getattr(data, name)()
    side = 8 if name == "retina" else 4 if name == "motorcycle" else 2
    height, width = (n // side * side for n in picture.shape[:2])
    blocks = picture[:height, :width, :3].reshape(height // side, side, width // side, side, 3)
    small = blocks.mean(axis=(1, 3))
    top, left = (max(0, n - 256) // 2 for n in small.shape[:2])
    return small[top : top + 256, left : left + 256]
