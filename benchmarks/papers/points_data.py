"""Data of the tables about points, and published figures."""

from functools import partial

import numpy as np
from sklearn import datasets

SETS = {
    "blobs": partial(datasets.make_blobs, centers=10),
    "s_curve": datasets.make_s_curve,
    "circles": partial(datasets.make_circles, noise=0.05, factor=0.5),
    "moons": partial(datasets.make_moons, noise=0.1),
    "swiss_roll": datasets.make_swiss_roll,
}
"""Functions ``make(n, random_state=seed)`` that return points and more, by name."""

PUBLISHED = {
    50: ((163, 50), (149, 62), (159, 56), (146, 55), (148, 75)),
    100: ((325, 112), (306, 120), (290, 123), (292, 116), (312, 122)),
    500: ((1563, 610), (1499, 631), (1558, 606), (1591, 571), (1531, 624)),
    1000: ((3067, 1253), (2998, 1238), (3121, 1203), (3127, 1202), (2997, 1271)),
}
"""Edges (kNN, NNK) with k=5 in the project report, for each of `SETS`, by number of points."""


def usps(folder):
    """Return the points of usps1, which may not be distributed; None if they are not available."""
    path = folder and folder / "general_data.npz"
    if not path or not path.is_file():
        return None
    with np.load(path) as file:
        return file["usps1"].astype(float)


def classes_of_usps():
    """Return the classes of usps1: 100 points of each class, in order (digits 1 to 9, then 0)."""
    return np.arange(1000) // 100


def manifolds(seed=0):
    """Return point sets of known geometry, a dict from name to 1024 points in R^128."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((128, 10)))[0]
    step = np.linspace(0, 1, 128)[:, None]
    direction = rng.standard_normal(128)
    direction *= 5 / np.linalg.norm(direction)
    lines = [start + step * direction for start in rng.standard_normal((8, 128))]
    arcs = [_slerp(*rng.standard_normal((2, 128)), step) for _ in range(8)]
    return {
        "10-d random": rng.standard_normal((1024, 10)) @ axes.T,
        "128-d random": rng.standard_normal((1024, 128)),
        "linear, 8 x 128": np.concatenate(lines),
        "slerp, 8 x 128": np.concatenate(arcs),
    }


def _slerp(start, end, step):
    """Interpolate between two vectors along an arc (spherical linear interpolation)."""
    angle = np.arccos(start @ end / np.linalg.norm(start) / np.linalg.norm(end))
    return (np.sin((1 - step) * angle) * start + np.sin(step * angle) * end) / np.sin(angle)
