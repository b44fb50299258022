"""Algorithm 4: which pixels of the window are neighbours.

A `GraphSpec` holds what a graph is to be made of, checked and laid out for the C core.
`choose_edges` prunes the window of every pixel; the edges are bits, one plane per offset.
"""

import numpy as np

from nnk_image import _core
from nnk_image.base import memory
from nnk_image.base.checks import check_positive
from nnk_image.base.image import check_image, data_range_of, exact_in_float32, feature_planes
from nnk_image.graph.window import check_window, window_of

EDGE_SWEEPS = 2
"""Sweeps over all rows of `choose_edges`, for progress bars."""

BIT_SPEED = 16
"""Of sweeps over the planes of edges, times that of pruning, at least."""


def graph_spec(kind, image, window, sigma_d, sigma_f, data_range, channel_axis, mask):
    """A `GraphSpec` from the arguments of `image_graph`: what is cheap to check comes first."""
    n_offsets = check_window(window) ** 2 - 1
    neighbours = n_offsets if kind == "bilateral" else 4

    def bytes_of(itemsize, channels):
        """Feature planes, edge planes, and CSR rows of the fewest neighbours there may be."""
        return itemsize * channels + n_offsets / 8 + neighbours * (4 + itemsize)

    memory.require_per_pixel(image, channel_axis, bytes_of, f"the {kind} graph")
    check_positive("sigma_d", sigma_d, "spatial width in pixels")
    if sigma_f is not None:
        check_positive("sigma_f", sigma_f, "intensity width in the image's units")
    if data_range is not None:
        check_positive("data_range", data_range, "largest minus smallest possible value")
    image = check_image(image, channel_axis, mask)
    if sigma_f is None:
        sigma_f = data_range_of(image, data_range) * 10 / 255
    return GraphSpec(image, window, sigma_d, sigma_f)


class GraphSpec:
    """What to build, checked and ready for the C core.

    Parameters
    ----------
    image : Image
        As from `check_image`.
    window, sigma_d, sigma_f
        As for `image_graph`, `sigma_f` given.
    """

    def __init__(self, image, window, sigma_d, sigma_f):
        self.image = image
        self.window = window_of(check_window(window))
        self.sigma_d = check_positive("sigma_d", sigma_d, "spatial width in pixels")
        self.sigma_f = check_positive("sigma_f", sigma_f, "intensity width in the image's units")
        limits = np.finfo(image.dtype)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            self.two_sigma2 = 2 * np.float64(self.sigma_f) ** 2
            mu = self.two_sigma2 / (2 * np.float64(self.sigma_d) ** 2)
            largest = max(1, self.window.max_delta) * mu
            spread = (np.float64(image.high) - image.low) ** 2 * image.channels
        self.two_sigma2, mu = float(self.two_sigma2), float(mu)
        numbers = self.two_sigma2, mu, largest
        if not (float(limits.tiny) <= min(numbers) and max(*numbers, spread) <= float(limits.max)):
            raise ValueError(
                f"sigma_f={self.sigma_f:g} and sigma_d={self.sigma_d:g} are too large, too small "
                "or too far apart: the ratio of their squares is no normal number; scale the image"
            )
        self.mu = mu
        # 8-bit values: products of differences are exact integers in float32, so the
        # graph is that of the float64 image, bit for bit.
        self.exact = exact_in_float32(image)
        feature_type = np.dtype(np.float32) if self.exact else image.dtype
        self.planes = feature_planes(image, self.window.radius, feature_type)

    @property
    def row_work(self):
        """Work in a row, in pixels of a grey image and the default window: sizes row bands."""
        _, width = self.image.shape
        return int(width * self.window.work * self.image.channels)

    def thresholds(self):
        """mu Delta for Delta = 0 .. max, in the type of the features."""
        values = self.mu * np.arange(self.window.max_delta + 1)
        if self.exact:  # an integer is at most t exactly where it is at most floor(t)
            values = np.minimum(np.floor(values), 2.0**24)
        return values.astype(self.planes.dtype)

    def kernel(self):
        """The kernel that weighs edges, for the C core."""
        spatial = self.window.spatial_kernel(self.sigma_d).astype(self.image.dtype)
        return _core.Kernel(self.planes, spatial, self.window.radius, self.two_sigma2)


def choose_edges(spec, kind, executor, directed=False):
    """Which pairs of pixels the graph links, as edge planes."""
    if kind == "bilateral":
        return _all_pairs(spec, executor)
    edges = _prune(spec, executor)
    if not directed:
        height, _ = spec.image.shape
        rows = height, spec.row_work
        executor.run(lambda y0, y1: _core.symmetrise(edges, y0, y1), *rows, speed=BIT_SPEED)
        edges.release_backward()
    return edges


def _prune(spec, executor):
    """Directed edges of Algorithm 4."""
    height, width = spec.image.shape
    edges = _core.Edges(height, width, spec.window.dy, spec.window.dx)
    threshold = spec.thresholds()
    pair_threshold = threshold[spec.window.pair_delta]

    def work(y0, y1):
        _core.prune(edges, spec.window.core, spec.planes, pair_threshold, threshold, y0, y1)

    executor.run(work, height, spec.row_work)
    return edges


def _all_pairs(spec, executor):
    """Every edge of the bilateral graph."""
    height, width = spec.image.shape
    edges = _core.Edges(height, width, spec.window.dy, spec.window.dx, backward=False)
    bits = np.zeros((height, -(-width // 64) * 64), bool)
    bits[:, :width] = True if spec.image.valid is None else spec.image.valid
    valid = np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    executor.run(lambda y0, y1: _core.all_pairs(edges, valid, y0, y1), height, spec.row_work)
    return edges
