"""A simple simulated camera, which takes photographs of known scenes.

Each pixel sees the scene through one color filter of a Bayer pattern, and counts photons, with
Poisson and read noise. To develop the picture, the two other colors are interpolated from
neighboring pixels, the colors are balanced, and the tone curve of sRGB brightens dark tones. The
camera may then reduce the noise, sharpen the picture, and store it as JPEG.
"""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image
from scipy.ndimage import convolve, gaussian_filter
from skimage import data
from skimage.restoration import denoise_bilateral

from benchmarks.noises import poisson_gaussian
from benchmarks.pictures import shrink

WHITE_RESPONSE = (0.5, 1.0, 0.65)
"""Signal of a red, a green and a blue pixel that see white, relative to the green one."""

READ_NOISE = 3.0
"""Standard deviation of the read noise, in photon counts."""

SCENES = ("astronaut", "chelsea", "coffee", "immunohistochemistry", "motorcycle", "retina")
SCENES += ("rocket", "hubble_deep_field")
"""Pictures of `skimage.data` that serve as scenes."""

_DEMOSAICING = np.outer([1, 2, 1], [1, 2, 1])[..., None]
"""Weights of the 3 x 3 pixels from which each color is interpolated."""


@dataclass(frozen=True)
class Processing:
    """How the camera processes a developed picture; by default not at all.

    Attributes
    ----------
    chroma : float
        Standard deviation, in pixels, of the Gaussian that smooths the color differences.
    smoothing : float
        Color sigma of a bilateral filter, in gray levels from 0 to 255.
    sharpening : float
        Share of the details below about 1 pixel that is added (unsharp masking).
    """

    chroma: float = 0.0
    smoothing: float = 0.0
    sharpening: float = 0.0


def random_processing(rng):
    """Draw a `Processing` that may smooth and sharpen."""
    return Processing(
        chroma=rng.choice([0, 1, 2, 3]),
        smoothing=rng.choice([0, 0, 6, 12]),
        sharpening=rng.choice([0, 0.4, 0.8]),
    )


def shots(peaks):
    """Yield (name, noisy, clean): a photograph of each of the `SCENES` at each peak count."""
    for index, name in enumerate(SCENES):
        scene = _load_scene(name)
        for peak in peaks:
            yield name, *shoot(scene, peak, np.random.default_rng([index, peak]))


def shoot(scene, peak, rng, processing=Processing()):
    """Take a photograph of a scene.

    Parameters
    ----------
    scene : (H, W, 3) ndarray
        sRGB values from 0 to 255.
    peak : float
        Expected photon count of a green pixel where the scene is white.
    rng : numpy.random.Generator
        Draws the noise.
    processing : Processing
        What the camera does to the developed picture.

    Returns
    -------
    noisy, clean : (H, W, 3) ndarray of uint8
        The developed photograph, and the same without noise.
    """
    exposure = _exposure(scene)
    mosaic = poisson_gaussian(peak * exposure, 1, READ_NOISE, rng)
    return tuple(_develop(values, processing) for values in (mosaic / peak, exposure))


def _develop(mosaic, processing):
    """Develop an (H, W) Bayer mosaic, 1 where a green pixel sees white, into sRGB pixels."""
    masks = _bayer_masks(mosaic.shape)
    light = convolve(mosaic.clip(0, 1)[..., None] * masks, _DEMOSAICING)
    light /= convolve(masks, _DEMOSAICING) * WHITE_RESPONSE
    picture = _process(_srgb_of(light.clip(0, 1)), processing)
    return np.rint(255 * picture.clip(0, 1)).astype(np.uint8)


def _process(picture, processing):
    """Apply the processing of a camera to an (H, W, 3) picture with values from 0 to 1."""
    if processing.chroma:
        luminance = picture.mean(axis=-1, keepdims=True)
        width = processing.chroma
        picture = luminance + gaussian_filter(picture - luminance, (width, width, 0))
    if processing.smoothing:
        sigma_color = processing.smoothing / 255
        picture = denoise_bilateral(picture.clip(0, 1), 5, sigma_color, 1.5, channel_axis=-1)
    if processing.sharpening:
        details = picture - gaussian_filter(picture, (1, 1, 0))
        picture = picture + processing.sharpening * details
    return picture


def _exposure(scene):
    """Return the (H, W) Bayer mosaic of a scene without noise, scaled as for `develop`.

    The scene has (H, W, 3) sRGB values from 0 to 255.
    """
    masks = _bayer_masks(scene.shape[:2])
    return (_light_of(scene / 255) * WHITE_RESPONSE * masks).sum(axis=-1)


def _bayer_masks(shape):
    """Return an (H, W, 3) array, 1 where a pixel sees red, green or blue, 0 elsewhere."""
    y, x = np.indices(shape) % 2
    return np.stack([(y == 0) & (x == 0), y != x, (y == 1) & (x == 1)], axis=-1).astype(float)


def _light_of(values):
    """Convert sRGB values to light (inverse tone curve); both are between 0 and 1."""
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _srgb_of(light):
    """Convert light to sRGB values (tone curve); both are between 0 and 1."""
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def jpeg(pixels, quality):
    """Return the pixels of an image after it was stored as JPEG."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def _load_scene(name):
    """Return a picture of scikit-image as float64, cropped to at most 256 x 256 pixels.

    It is reduced to half its size or less, which removes nearly all noise of its own.
    """
    picture = data.stereo_motorcycle()[0] if name == "motorcycle" else getattr(data, name)()
    factor = 8 if name == "retina" else 4 if name == "motorcycle" else 2
    small = shrink(picture[..., :3], factor)
    top, left = (max(0, n - 256) // 2 for n in small.shape[:2])
    return small[top : top + 256, left : left + 256]
