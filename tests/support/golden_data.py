"""Readers of the golden data, computed with the NNK authors' own code (golden/README.md)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array, csr_array

FOLDER = Path(__file__).parents[1] / "golden"

HALF_WINDOWS = {(2, 10): (1, 2, 3, 5), (3, 30): (3, 5)}
"""Half windows of the golden graphs for each (sigma_d, 255 * sigma_f)."""


@dataclass(frozen=True)
class GoldenGraph:
    """The NNK graph of an image, and kernel weights to compare with.

    `directed` and `undirected` are adjacencies; `kernel` holds the weights of some pairs of
    pixels within the window, each pair once.
    """

    shape: tuple[int, int]
    sigma_d: float
    sigma_f: float
    directed: csr_array
    undirected: csr_array
    kernel: coo_array


def images():
    """Return images by name as they are stored: uint8, but `noise` is float64."""
    with np.load(FOLDER / "images.npz") as file:
        return dict(file)


def image_float(name):
    """Return the float image from which the golden graphs were computed."""
    image = images()[name]
    return image / 255 if image.dtype == np.uint8 else image


def graph(name, half_window, sigma_d=2, sigma_f255=10):
    """Return the `GoldenGraph` of an image."""
    with np.load(FOLDER / f"graph_{name}_sd{sigma_d}_sf{sigma_f255}.npz") as file:
        parts = dict(file)
    height, width = (int(n) for n in parts["shape"])
    size = (height * width,) * 2
    bits = np.unpackbits(parts[f"chosen_{half_window}"], axis=-1, count=size[0])
    dy, dx, node = np.nonzero(bits)
    other = node + (dy - half_window) * width + dx - half_window
    chosen = csr_array((np.ones(len(node)), (node, other)), size)
    kernel = _kernel(parts, width, half_window)
    directed = csr_array((kernel + kernel.T).multiply(chosen))
    return GoldenGraph(
        (height, width),
        float(parts["sigma_d"]),
        float(parts["sigma_f"]),
        directed,
        csr_array(directed.maximum(directed.T)),
        kernel,
    )


def _kernel(parts, width, half_window):
    """Return the stored weights of pairs within the window."""
    row, column = parts["row"].astype(int), parts["column"].astype(int)
    dy, dx = column // width - row // width, column % width - row % width
    near = np.maximum(abs(dy), abs(dx)) <= half_window
    weights = parts["weight_values"][parts["weight_index"]]
    return coo_array((weights[near], (row[near], column[near])), (parts["shape"].prod(),) * 2)


def sgw(name):
    """Return arrays of the wavelet transform of 'camera_ns', 'camera', 'brick' or 'coins'.

    Those of the adjoint and inverse transforms of 'camera_ns' are named 'inverse_camera_ns'.
    """
    with np.load(FOLDER / f"sgw_{name}.npz") as file:
        return dict(file)
