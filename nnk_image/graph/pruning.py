"""Algorithm 4: which pixels of the window are neighbors.

A `GraphSpec` holds the image and the parameters of a graph, checked and laid out for the C core.
`choose_edges` prunes the window of every pixel; the edges are bits, one plane per offset.
`EdgePlanes` are these edges and the kernel that weighs them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from scipy.sparse import csr_array

from nnk_image import _core
from nnk_image.base import memory
from nnk_image.base.checks import check_number
from nnk_image.base.geometry import Lines, strides_of
from nnk_image.base.image import (
    Image,
    Layout,
    check_image,
    check_spacing,
    data_range_of,
    feature_planes,
)
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.window import check_window, sides_of, stencil_on

DEFAULT_WINDOW = {2: 11, 3: 5, 4: 3}  # side by number of axes: each holds about 100 pixels
EDGE_SWEEPS = 2  # passes of `choose_edges` over all rows, for progress bars


class GraphSpec:
    """Which graph to build: arguments checked, defaults filled in, features laid out for C.

    Arguments are as for `image_graph`; `channel_axis` and `mask` are part of an `Image` already.
    `kind` is 'nnk' or 'bilateral'; if `directed`, edges are those that each pixel chose, else their
    union.

    Attributes
    ----------
    stencil, lines : Stencil, Lines
        The offsets of the window, and how the image is laid out in rows.
    two_sigma2, mu : float
        ``2 sigma_f^2``, the divisor within the kernel's exponential, and ``sigma_f^2 / sigma_d^2``,
        the factor of the thresholds.
    exact, planes
        As `feature_planes` returns them.
    """

    def __init__(
        self,
        image,
        window,
        sigma_d,
        sigma_f=None,
        *,
        channel_axis=None,
        mask=None,
        kind="nnk",
        directed=False,
        spacing=None,
    ):
        # Cheap checks come first; memory is checked before anything is copied.
        self.kind, self.directed = kind, directed
        layout = Layout.of(image, channel_axis, spacing is not None)
        shape = layout.shape
        default = DEFAULT_WINDOW[len(shape)]
        self.window = check_window(default if window is None else window, len(shape))
        distances = check_spacing(spacing, len(shape))
        self.spacing = None if spacing is None else distances
        sides = zip(sides_of(self.window, len(shape)), shape, strict=True)
        n_offsets = math.prod(min(side, 2 * n - 1) for side, n in sides) - 1
        if not isinstance(image, Image):
            _require_memory(layout, n_offsets, kind)
        self.stencil = stencil_on(shape, self.window, distances)
        self.lines = Lines.of(shape, self.stencil.radii)
        self.sigma_d = check_number("sigma_d", sigma_d, "spatial width in pixels")
        if sigma_f is not None:
            sigma_f = check_number("sigma_f", sigma_f, "intensity width in the image's units")
        self.image = check_image(image, channel_axis, mask)
        self.sigma_f = data_range_of(self.image) * 10 / 255 if sigma_f is None else sigma_f
        self.exact, self.planes = feature_planes(self.image, self.lines)
        self.two_sigma2, self.mu = _kernel_numbers(self)

    @property
    def row_work(self):
        """Cost of a row in gray pixels with the default window, which sets the size of chunks."""
        return int(self.lines.width * self.stencil.work * self.image.channels)

    def thresholds(self, delta):
        """Return the thresholds ``mu Delta`` in the type of the features."""
        values = self.mu * delta
        if self.exact:  # products are integers: they are <= t if and only if <= floor(t)
            values = np.minimum(np.floor(values), 2.0**24)
        return values.astype(self.planes.dtype)

    def kernel(self):
        """Return the kernel that weighs edges, for the C core."""
        spatial = self.stencil.spatial_kernel(self.sigma_d).astype(self.image.dtype)
        return _core.Kernel(
            self.planes, spatial, self.lines.border, self.lines.radius, self.two_sigma2
        )


def _kernel_numbers(spec):
    """Return ``2 sigma_f^2`` and mu; ValueError if results with them would over- or underflow."""
    limits = np.finfo(spec.image.dtype)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        two_sigma2 = 2 * np.float64(spec.sigma_f) ** 2
        mu = two_sigma2 / (2 * np.float64(spec.sigma_d) ** 2)
        numbers = two_sigma2, mu, max(1, spec.stencil.max_delta) * mu
        most_apart = (np.float64(spec.image.high) - spec.image.low) ** 2 * spec.image.channels
    largest = max(*numbers, most_apart)
    if not (float(limits.tiny) <= min(numbers) and largest <= float(limits.max)):
        raise ValueError(
            f"sigma_f={spec.sigma_f:g}, sigma_d={spec.sigma_d:g} or the image's values are too "
            f"large or too small: their squares, or sigma_f^2 / sigma_d^2, leave the range of "
            f"{limits.dtype}; multiply image and sigma_f by the same factor, or change sigma_d"
        )
    return float(two_sigma2), float(mu)


def _require_memory(layout, n_offsets, kind):
    """Raise MemoryError if even the smallest graph of an image of this shape does not fit."""
    neighbors = n_offsets if kind == "bilateral" else 4

    def bytes_of(itemsize, channels):
        """Bytes per pixel of feature planes, edge planes and CSR rows with the fewest neighbors."""
        return itemsize * channels + n_offsets / 8 + neighbors * (4 + itemsize)

    layout.require(bytes_of, f"the {kind} graph")


def choose_edges(spec, executor):
    """Choose which pairs of pixels the graph links; returns planes of bits (`_core.Edges`)."""
    if spec.kind == "bilateral":
        return _all_pairs(spec, executor)
    edges = new_edges(spec.image.shape, spec.stencil, spec.lines)
    thresholds = spec.thresholds(spec.stencil.pair_delta)
    prune = partial(_core.prune, edges, spec.stencil.core, spec.planes, thresholds)
    sweeps = (prune,) if spec.directed else (prune, partial(_core.symmetrize, edges))
    for sweep in sweeps:
        executor.run(sweep, spec.lines.height, spec.row_work, counts_as=len(spec.lines.rows))
    if not spec.directed:
        edges.release_backward()
    return edges


def new_edges(shape, stencil, lines, backward=True):
    """Allocate the edge planes of an image; undirected edges need no `backward` planes."""
    step = stencil.forward.astype(np.int64) @ np.array(strides_of(shape))
    layout = lines.width, lines.rows, lines.first_node
    return _core.Edges(*layout, stencil.dy, stencil.dx, step, backward)


def _all_pairs(spec, executor):
    """Link every pair of valid pixels within the window, for the bilateral graph."""
    height, width = spec.lines.height, spec.lines.width
    edges = new_edges(spec.image.shape, spec.stencil, spec.lines, backward=False)
    bits, valid = np.zeros((height, -(-width // 64) * 64), bool), spec.image.valid
    bits[spec.lines.rows, :width] = True if valid is None else valid.reshape(-1, width)
    valid = np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    executor.run(partial(_core.all_pairs, edges, valid), height, spec.row_work)
    return edges


class EdgePlanes:
    """Edges as planes of bits, one per offset of the window, and the kernel that weighs them.

    The executor runs the choice of the edges; the matrix is written later, with the same `n_jobs`.
    """

    def __init__(self, spec: GraphSpec, executor: RowExecutor) -> None:
        self.bits = choose_edges(spec, executor)
        self.shape, self.dtype, self.window = spec.image.shape, spec.image.dtype, spec.window
        self.directed = spec.directed
        self._kernel, self._row_work, self._n_jobs = spec.kernel(), spec.row_work, executor.n_jobs
        self._height = spec.lines.height

    def fill(self, operator: _core.GridOperator, y0: int, y1: int) -> None:
        """Write the entries of rows [y0, y1) of an operator in SIMD blocks."""
        _core.fill_entries(operator, self.bits, self._kernel, y0, y1)

    @cached_property
    def matrix(self) -> csr_array:
        """The matrix with sorted columns and no explicit zeros, made when it is first used."""
        with RowExecutor(self._n_jobs) as executor:
            return self._matrix(executor.run)

    def _matrix(self, run: Callable[..., None]) -> csr_array:
        n_nodes, rows = math.prod(self.shape), (self._height, self._row_work)
        row_start = np.zeros(self._height + 1, np.int64)
        run(partial(_core.count_rows, self.bits, row_start[1:]), *rows)
        np.cumsum(row_start, out=row_start)
        n_stored = int(row_start[-1])
        index_dtype = memory.index_dtype(max(n_stored, n_nodes))
        n_bytes = n_stored * (index_dtype.itemsize + self.dtype.itemsize)
        memory.require(n_bytes, f"the adjacency of {n_stored} entries")
        indptr = np.empty(n_nodes + 1, index_dtype)
        indptr[-1] = n_stored
        indices = np.empty(n_stored, index_dtype)
        data = np.empty(n_stored, self.dtype)
        wide = index_dtype == np.int64
        arrays = indptr.view(np.uint8), indices.view(np.uint8), wide, data.view(np.uint8)
        n_zeros: list[int] = []
        fill = partial(_core.fill, self.bits, self._kernel, row_start, *arrays)
        run(fill, *rows, consume=n_zeros.append)
        adjacency = csr_array((data, indices, indptr), shape=(n_nodes, n_nodes))
        adjacency.has_canonical_format = True
        if any(n_zeros):
            adjacency.eliminate_zeros()
        return adjacency
