"""Noise of known covariance, and images included in scikit-image."""

from pathlib import Path

import numpy as np
import skimage.data
from skimage.io import imread

KERNELS = {
    "white": np.ones((1, 1)),
    "binomial": np.outer([1.0, 2.0, 1.0], [1.0, 2.0, 1.0]) / 6,
    "mild": np.outer([0.25, 1.0, 0.25], [0.25, 1.0, 0.25]) / 1.125,
    "wide along rows": np.array([[1.0, 2.0, 3.0, 2.0, 1.0]]) / np.sqrt(19),
    "blue": np.array([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]]) / np.sqrt(20),
}
"""Filters that turn white noise into noise of the same variance."""


def filtered(kernel, shape, seed):
    """Return filtered noise of variance 1 and the given shape, (H, W) or (H, W, C)."""
    white = np.random.default_rng(seed).normal(size=shape)
    moved = (weight * np.roll(white, at, (0, 1)) for at, weight in np.ndenumerate(kernel))
    return sum(moved)


def autocovariance(kernel):
    """Return the covariance of `filtered` noise by offset, the variance in the middle."""
    a, b = kernel.shape
    covariance = np.zeros((2 * a - 1, 2 * b - 1))
    for (y, x), weight in np.ndenumerate(kernel):
        covariance[a - 1 - y : 2 * a - 1 - y, b - 1 - x : 2 * b - 1 - x] += weight * kernel
    return covariance


def skimage_picture(name):
    """Return an image of the scikit-image package, which needs no download, in float64."""
    return imread(Path(skimage.data.__file__).with_name(name)).astype(float)
