"""Images with masks of what is in front, to judge segmentations by.

Outlines of photographs were drawn by hand, in an enlarged view with a grid, as polygons and
ellipses in pixels; they are right to about two pixels, and no segmentation method had a part in
them but at the coins: ellipses were fitted to a thresholded image, then looked at one by one.  Of
two images the mask is known exactly, for they are composed by it.
"""

from dataclasses import dataclass

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
        Grey levels from 0 to 255.
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


# fmt: off
# Corners (x, y) of outlines.
_MAN = (
    (0, 130), (8, 117), (16, 108), (25, 93), (30, 83), (38, 71), (50, 64), (65, 61), (75, 53),
    (81, 53), (86, 43), (95, 35), (104, 32), (115, 35), (125, 43), (132, 51), (135, 60), (133, 65),
    (128, 66), (127, 71), (125, 76), (127, 84), (121, 87), (121, 90), (118, 94), (120, 98),
    (121, 103), (121, 109), (124, 122), (131, 113), (131, 108), (137, 103), (144, 101), (147, 118),
    (152, 137), (146, 142), (135, 151), (123, 156), (115, 154), (103, 147), (95, 158), (86, 171),
    (70, 190), (74, 210), (76, 235), (76, 256), (69, 256), (60, 236), (50, 223), (48, 240),
    (45, 256), (0, 256),
)
_CAMERA_HEAD = ((126, 68), (168, 68), (168, 124), (143, 124), (137, 112), (126, 98))
_TRIPOD = ((139, 150), (156, 140), (171, 150), (206, 256), (112, 256))
_OFFICER = (
    (6, 300), (8, 270), (11, 245), (14, 222), (14, 213), (17, 205), (21, 196), (27, 190), (32, 189),
    (38, 185), (50, 182), (62, 179), (75, 174), (86, 169), (95, 162), (101, 156), (95, 147),
    (87, 142), (82, 135), (80, 125), (79, 115), (76, 105), (77, 95), (77, 88), (74, 80), (73, 68),
    (74, 58), (78, 50), (84, 43), (88, 40), (90, 34), (97, 27), (105, 22), (110, 20), (113, 16),
    (120, 13), (128, 11), (138, 13), (146, 17), (151, 21), (158, 23), (166, 28), (173, 34),
    (176, 42), (181, 43), (184, 48), (185, 60), (186, 70), (184, 80), (184, 91), (187, 94),
    (187, 103), (184, 115), (181, 128), (180, 140), (176, 148), (171, 152), (166, 152), (165, 156),
    (172, 163), (181, 170), (195, 177), (210, 184), (225, 187), (236, 192), (245, 195), (250, 206),
    (256, 223), (256, 300),
)
_CUP = (
    (38, 105), (39, 92), (43, 80), (50, 67), (60, 56), (72, 46), (82, 39), (88, 36), (91, 33),
    (97, 25), (106, 18), (117, 13), (130, 9), (143, 8), (157, 10), (170, 14), (181, 19), (190, 26),
    (197, 33), (199, 35), (203, 33), (208, 34), (212, 38), (210, 46), (208, 54), (215, 61),
    (223, 70), (230, 80), (235, 90), (238, 102), (239, 115), (237, 127), (232, 140), (225, 152),
    (215, 164), (203, 174), (190, 182), (175, 188), (160, 192), (145, 194), (130, 193), (112, 191),
    (97, 186), (83, 179), (70, 170), (60, 160), (51, 148), (45, 136), (40, 121),
)
_ASTRONAUT = (
    (20, 256), (14, 240), (11, 225), (10, 205), (11, 190), (13, 170), (18, 152), (24, 138),
    (32, 127), (45, 113), (57, 104), (57, 95), (61, 90), (63, 83), (70, 77), (80, 74), (92, 73),
    (92, 66), (88, 65), (85, 62), (80, 55), (77, 45), (76, 38), (80, 28), (88, 21), (95, 17),
    (100, 12), (108, 8), (116, 8), (126, 10), (135, 15), (143, 23), (148, 33), (151, 43), (148, 53),
    (142, 62), (136, 68), (132, 70), (131, 80), (128, 88), (135, 91), (143, 98), (149, 106),
    (152, 118), (160, 122), (168, 129), (173, 138), (177, 150), (180, 162), (183, 175), (190, 173),
    (200, 172), (212, 175), (225, 182), (236, 193), (243, 206), (247, 220), (249, 226), (253, 230),
    (256, 245), (256, 256),
)
# Middles (y, x) and half axes (y, x).
_COINS = (
    (44, 335, 29, 30), (51, 155, 22, 24), (52, 215, 22, 24), (53, 277, 19, 21), (55, 44, 19, 22),
    (56, 100, 18, 20), (119, 271, 24, 26), (124, 45, 20, 22), (124, 205, 20, 21),
    (124, 336, 20, 21), (125, 102, 19, 20), (127, 154, 18, 21), (186, 347, 31, 33),
    (193, 212, 24, 25), (194, 274, 22, 24), (195, 102, 22, 23), (197, 44, 19, 20),
    (198, 154, 20, 21), (260, 46, 28, 29), (261, 172, 26, 29), (263, 301, 24, 27),
    (263, 244, 23, 25), (266, 114, 21, 22), (268, 360, 22, 25),
)
# fmt: on


def scenes():
    """Name -> `Scene`: five photographs, two compositions."""
    return {
        "camera": _drawn(_grey("camera"), _MAN, (_CAMERA_HEAD, _TRIPOD)),
        "hopper": _drawn(half_size("hopper"), _OFFICER),
        "coffee": _drawn(half_size("coffee"), _CUP),
        "astronaut": _drawn(half_size("astronaut"), _ASTRONAUT),
        "coins": _coins(),
        "noisy horse": _noisy_horse(),
        "grass on gravel": _grass_on_gravel(),
    }


def half_size(name):
    """A standard colour image, blocks of 2 x 2 pixels averaged."""
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
    for y, x, ry, rx in _COINS:
        front[ellipse(y, x, ry + 0.5, rx + 0.5, shape=image.shape)] = True
    return Scene(image, front, np.ones(image.shape, bool), False)


def horse():
    """(256, 256) bool: the silhouette of a horse."""
    return resize(data.horse().astype(float), (256, 256), anti_aliasing=True) < 0.5


def _noisy_horse():
    """Two grey levels, 60 apart, in noise of sigma 40."""
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
