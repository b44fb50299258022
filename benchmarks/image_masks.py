"""Images with foreground masks, for scoring segmentations.

The outlines in photographs were drawn by hand in an enlarged view, as polygons and ellipses. They
are accurate to about two pixels, and independent of any segmentation method, except for the coins:
ellipses were fitted to a thresholded image and then checked one by one. The masks of two composed
images are exact.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from skimage import data
from skimage.draw import ellipse, polygon2mask
from skimage.transform import resize

import nnk_image
from benchmarks.noises import white
from benchmarks.pictures import shrink


@dataclass(frozen=True)
class Scene:
    """An image and the mask of its foreground.

    Attributes
    ----------
    image : (H, W) or (H, W, 3) float ndarray
        Values from 0 to 255.
    foreground : (H, W) bool ndarray
        True for pixels of the foreground.
    scored : (H, W) bool ndarray
        False for pixels that are not scored, as they belong neither to the foreground nor to the
        background.
    exact : bool
        Whether the mask is exact, not drawn by hand.
    """

    image: np.ndarray
    foreground: np.ndarray
    scored: np.ndarray
    exact: bool


OUTLINES = json.loads(Path(__file__).with_suffix(".json").read_text())
"""Outlines by name: the corners (x, y) of a polygon; for each coin, an ellipse as its center (y, x)
and semi-axes (y, x)."""

NOT_SCORED = ("camera_head", "tripod")
"""Outlines of things that belong neither to the foreground nor to the background."""


def scenes():
    """Return five photographs and two composed images as a dict from name to `Scene`."""
    return {
        "camera": _outlined(_gray("camera"), OUTLINES["man"], [OUTLINES[n] for n in NOT_SCORED]),
        "hopper": _outlined(half_size("hopper"), OUTLINES["officer"]),
        "coffee": _outlined(half_size("coffee"), OUTLINES["cup"]),
        "astronaut": _outlined(half_size("astronaut"), OUTLINES["astronaut"]),
        "coins": _coins(),
        "noisy horse": _noisy_horse(),
        "grass on gravel": _grass_on_gravel(),
    }


def half_size(name):
    """Return a standard color image at half its size, as float64."""
    return shrink(nnk_image.standard_image(name), 2)


def _gray(name):
    return nnk_image.standard_image(name).astype(float)


def _polygon(corners, shape):
    """Return the bool mask of a polygon with corners (x, y)."""
    return polygon2mask(shape, np.array(corners)[:, ::-1])


def _outlined(image, outline, not_scored=()):
    """Return the scene of an image whose foreground has an outline drawn by hand."""
    shape = image.shape[:2]
    foreground, scored = _polygon(outline, shape), np.ones(shape, bool)
    for other in not_scored:
        scored &= ~_polygon(other, shape)
    return Scene(image, foreground, scored, False)


def _coins():
    image = data.coins().astype(float)
    foreground = np.zeros(image.shape, bool)
    for y, x, ry, rx in OUTLINES["coins"]:
        foreground[ellipse(y, x, ry + 0.5, rx + 0.5, shape=image.shape)] = True
    return Scene(image, foreground, np.ones(image.shape, bool), False)


def _horse():
    """Return a bool mask of 256 x 256 pixels, the silhouette of a horse."""
    return resize(data.horse().astype(float), (256, 256), anti_aliasing=True) < 0.5


def _noisy_horse():
    """Return a silhouette of two gray levels that are 60 apart, with noise of sigma 40."""
    horse = _horse()
    image = white(np.where(horse, 158.0, 98.0), 40, 0)
    return Scene(image, horse, np.ones(horse.shape, bool), True)


def _grass_on_gravel():
    """Return a silhouette of grass on gravel, textures of the same mean and variance."""
    horse = _horse()
    grass, gravel = (_gray(name) for name in ("grass", "gravel"))
    grass, gravel = (128 + 40 * (t - t.mean()) / t.std() for t in (grass, gravel))
    image = np.clip(np.where(horse, grass, gravel), 0, 255)
    return Scene(image, horse, np.ones(horse.shape, bool), True)
