"""Images with masks of what is in front, to judge segmentations by.

Outlines of photographs were drawn by hand, in an enlarged view with a grid, as polygons and
ellipses in pixels; they are right to about two pixels, and no segmentation method had a part in
them but at the coins: ellipses were fitted to a thresholded image, then looked at one by one.  Of
two images the mask is known exactly, for they are composed by it.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from skimage import data
from skimage.draw import ellipse, polygon2mask
from skimage.transform import resize

import nnk_image


@dataclass(frozen=True)
class Scene:
    """An image and what is in front in it.

    Attributes
    ----------
    image : (H, W) or (H, W, 3) float ndarray
        Gray levels from 0 to 255.
    front : (H, W) bool ndarray
    scored : (H, W) bool ndarray
        Pixels that are judged: all but those of things that are neither.
    exact : bool
        Whether the mask is known, not drawn.
    """

    image: np.ndarray
    front: np.ndarray
    scored: np.ndarray
    exact: bool


OUTLINES = json.loads(Path(__file__).with_suffix(".json").read_text())
"""Corners (x, y) of outlines; of the coins middles (y, x) and half axes."""

NEITHER = ("camera_head", "tripod")
"""Outlines of what is neither in front nor behind."""


def scenes():
    """Name -> `Scene`: five photographs, two compositions."""
    return {
        "camera": _drawn(_grey("camera"), OUTLINES["man"], [OUTLINES[n] for n in NEITHER]),
        "hopper": _drawn(half_size("hopper"), OUTLINES["officer"]),
        "coffee": _drawn(half_size("coffee"), OUTLINES["cup"]),
        "astronaut": _drawn(half_size("astronaut"), OUTLINES["astronaut"]),
        "coins": _coins(),
        "noisy horse": _noisy_horse(),
        "grass on gravel": _grass_on_gravel(),
    }


def half_size(name):
    """A standard color image, blocks of 2 x 2 pixels averaged."""
    image = nnk_image.standard_image(name).astype(float)
    height, width = (n // 2 for n in image.shape[:2])
    blocks = image[: 2 * height, : 2 * width].reshape(height, 2, width, 2, -1)
    return blocks.mean(axis=(1, 3))


def _grey(name):
    return nnk_image.standard_image(name).astype(float)


def inside(corners, shape):
    """Bool mask of a polygon with corners (x, y)."""
    return polygon2mask(shape, np.array(corners)[:, ::-1])


def _drawn(image, corners, neither=()):
    shape = image.shape[:2]
    front, scored = inside(corners, shape), np.ones(shape, bool)
    for outline in neither:
        scored &= ~inside(outline, shape)
    return Scene(image, front, scored, False)


def _coins():
    image = data.coins().astype(float)
    front = np.zeros(image.shape, bool)
    for y, x, ry, rx in OUTLINES["coins"]:
        front[ellipse(y, x, ry + 0.5, rx + 0.5, shape=image.shape)] = True
    return Scene(image, front, np.ones(image.shape, bool), False)


def horse():
    """(256, 256) bool: the silhouette of a horse."""
    return resize(data.horse().astype(float), (256, 256), anti_aliasing=True) < 0.5


def _noisy_horse():
    """Two gray levels, 60 apart, in noise of sigma 40."""
    front = horse()
    image = np.where(front, 158.0, 98.0) + np.random.default_rng(0).normal(0, 40, front.shape)
    return Scene(image, front, np.ones(front.shape, bool), True)


def _grass_on_gravel():
    """One texture cut out by the silhouette and put on another, with the same mean and variance."""
    front = horse()
    grass, gravel = (_grey(name) for name in ("grass", "gravel"))
    grass, gravel = (128 + 40 * (t - t.mean()) / t.std() for t in (grass, gravel))
    image = np.clip(np.where(front, grass, gravel), 0, 255)
    return Scene(image, front, np.ones(front.shape, bool), True)
