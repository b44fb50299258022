"""Images to graphs: the pruned NNK graph, and the bilateral graph it is pruned from."""

from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from nnk_image import _core, laplacian, memory
from nnk_image.bands import Bands
from nnk_image.image import (
    check_image,
    check_positive,
    data_range_of,
    exact_in_float32,
    feature_planes,
)
from nnk_image.window import check_window, window_of

EDGE_STAGES = 2
"""Passes over all rows of `choose_edges`, for progress bars."""

GRAPH_STAGES = EDGE_STAGES + 2
"""Passes over all rows of `build_graph`."""

BIT_SPEED = 16
"""Of passes over the planes of edges, times that of pruning, at least."""

_FORMAT = "nnk_image.ImageGraph 1"


@dataclass(frozen=True, eq=False, repr=False)
class ImageGraph:
    """A graph whose nodes are the pixels of an image.

    Attributes
    ----------
    adjacency : (N, N) scipy.sparse.csr_array
        Kernel weights; N = H W, node = row * W + column.  Sorted columns, no
        explicit zeros, no self loops; symmetric unless `directed`.
    shape : (int, int)
        (H, W) of the image.
    kind : str
        'nnk' or 'bilateral'.
    window : int
        Side of the window, in pixels.
    sigma_d, sigma_f : float
        Kernel widths: pixels, and the image's own units.
    directed : bool
        True where edges are kept as Algorithm 4 chose them per pixel.
    valid : (H, W) bool ndarray or None
        Pixels that are nodes with edges; None means all.
    n_underflow : int
        Edges left out because their weight was below the smallest normal number of
        its type.

    Examples
    --------
    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> graph = nnk_image.image_graph(image)
    >>> graph.degrees.shape
    (256, 256)
    """

    adjacency: csr_array
    shape: tuple[int, int]
    kind: str
    window: int
    sigma_d: float
    sigma_f: float
    directed: bool = False
    valid: np.ndarray | None = field(default=None)
    n_underflow: int = 0

    @property
    def n_nodes(self):
        """Number of nodes, one per pixel."""
        return self.shape[0] * self.shape[1]

    @property
    def n_edges(self):
        """Number of edges; an undirected edge counts once."""
        return self.adjacency.nnz if self.directed else self.adjacency.nnz // 2

    @cached_property
    def degrees(self):
        """(H, W) ndarray: sum of the weights of each pixel's edges."""
        return laplacian.degrees(self.adjacency).reshape(self.shape)

    @property
    def neighbour_counts(self):
        """(H, W) integer ndarray: number of each pixel's neighbours."""
        return np.diff(self.adjacency.indptr).reshape(self.shape)

    def laplacian(self, kind="combinatorial"):
        """Laplacian matrix of the graph.

        Parameters
        ----------
        kind : {'combinatorial', 'normalized', 'random_walk', 'regularized'}
            ``D - W``, ``I - D^-1/2 W D^-1/2``, ``I - D^-1 W``, or ``(D + tau I)^-1
            (D - W)`` with tau the mean degree of the pixels that have edges, as in
            regularised spectral clustering.  A pixel without edges has a row of
            zeros in each.

        Returns
        -------
        (N, N) scipy.sparse.csr_array

        Raises
        ------
        ValueError
            Unknown kind, or the graph is directed.
        """
        return laplacian.laplacian(self.adjacency, kind)

    def to_pygsp(self):
        """The graph as a `pygsp.graphs.Graph`, with pixel positions as coordinates (x, -y)."""
        from pygsp.graphs import Graph

        y, x = np.divmod(np.arange(self.n_nodes), self.shape[1])
        return Graph(self.adjacency.copy(), coords=np.stack([x, -y], axis=1).astype(float))

    def to_networkx(self):
        """The graph as a networkx graph with nodes 0 .. N-1 and edge attribute 'weight'."""
        try:
            import networkx
        except ImportError:
            raise ImportError(
                "to_networkx needs networkx: pip install 'nnk_image[networkx]'"
            ) from None
        create_using = networkx.DiGraph if self.directed else networkx.Graph
        return networkx.from_scipy_sparse_array(self.adjacency, create_using=create_using)

    def save(self, path):
        """Write the graph to an ``.npz`` file, atomically.

        Parameters
        ----------
        path : path-like
            File to write; a file of that name is replaced once the new one is complete.
        """
        from nnk_image.reading import atomic_output

        parts = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "adjacency"}
        if parts["valid"] is None:
            del parts["valid"]
        matrix = self.adjacency
        with atomic_output(path) as file:
            np.savez(
                file,
                format=_FORMAT,
                indptr=matrix.indptr,
                indices=matrix.indices,
                data=matrix.data,
                **parts,
            )

    @classmethod
    def load(cls, path):
        """Read a graph written by `save`; nothing in the file is trusted or executed.

        Raises
        ------
        ValueError
            The file is not such a graph or is damaged; the message says where.
        """
        from nnk_image.graph_file import load_graph

        return load_graph(cls, path, _FORMAT)

    def __repr__(self):
        per_node = self.adjacency.nnz / self.n_nodes
        edges = "directed edges" if self.directed else "edges"
        masked = "" if self.valid is None else f", {int((~self.valid).sum())} pixels masked"
        return (
            f"<ImageGraph {self.kind} {self.shape[0]}x{self.shape[1]}: {self.n_nodes} nodes, "
            f"{self.n_edges} {edges} ({per_node:.2f} neighbours per pixel), window={self.window}, "
            f"sigma_d={self.sigma_d:g}, sigma_f={self.sigma_f:g}, "
            f"{self.adjacency.dtype}{masked}>"
        )

    def _repr_html_(self):
        """A card with its figures and degrees, shown by notebooks."""
        from nnk_image.graph_summary import card

        return card(self)


def image_graph(
    image,
    window=11,
    sigma_d=2.0,
    sigma_f=None,
    *,
    data_range=None,
    channel_axis=None,
    mask=None,
    directed=False,
    weights="kernel",
    n_jobs=None,
):
    """Sparse NNK graph of an image.

    Each pixel is linked to the few pixels of its window that non-negative kernel
    regression would keep: walking outwards, a pixel k is pruned by a kept pixel j
    that lies in its direction and resembles it, ``(f_j - f_k).(f_j - f_i) <=
    (sigma_f / sigma_d)^2 (x_k - x_j).(x_j - x_i)``.  It approximates exact NNK on
    the window, at the cost of comparisons.  Edges carry the bilateral kernel
    ``exp(-|x_i-x_j|^2 / (2 sigma_d^2)) exp(-|f_i-f_j|^2 / (2 sigma_f^2))``.

    Parameters
    ----------
    image : (H, W) array_like, or 3 axes with `channel_axis`
        Any real dtype and layout; never modified.
    window : int
        Side of the window in pixels: odd, 3 to 63.
    sigma_d : float
        Spatial width of the kernel, in pixels.
    sigma_f : float, optional
        Intensity width, in the image's own units.  Default: 10/255 of the data range.
    data_range : float, optional
        Largest minus smallest possible value.  Default: that of the type for bool,
        uint8 and uint16, 1 for floats within [0, 1].
    channel_axis : int, optional
        Axis of the channels of a colour image; pixels are then compared as vectors.
    mask : (H, W) bool array_like, optional
        True for the pixels that take part; the others have no edges and may hold NaN.
    directed : bool
        Keep the edges each pixel chose.  Default: their union.
    weights : {'kernel', 'nnk'}
        'nnk': of each pixel on its neighbours the exact weights of non-negative kernel
        regression instead of the kernel; in an undirected graph the larger of two.
    n_jobs : int, optional
        Threads at most, fewer for small images; None is 1, -1 all processors.  The graph does
        not depend on it.

    Returns
    -------
    ImageGraph
        With weights of the image's floating type, float64 for integers.

    Raises
    ------
    TypeError, ValueError
        Bad image or parameter; the message names it and says what to do.
    MemoryError
        The graph does not fit; raised before memory is taken, with the figures.

    References
    ----------
    S. Shekkizhar, A. Ortega, "Efficient graph construction for image representation",
    ICIP 2020; thesis section 3.1, Algorithm 4.

    Examples
    --------
    >>> import nnk_image
    >>> graph = nnk_image.image_graph(nnk_image.standard_image("camera"), sigma_f=10)
    >>> graph.kind, graph.window
    ('nnk', 11)
    >>> graph.adjacency.nnz < 0.1 * nnk_image.bilateral_graph(
    ...     nnk_image.standard_image("camera"), sigma_f=10).adjacency.nnz
    True
    """
    if weights not in ("kernel", "nnk"):
        raise ValueError(f"weights={weights!r} is unknown; choose 'kernel' or 'nnk'")
    with Bands(n_jobs) as bands:
        plan = plan_graph("nnk", image, window, sigma_d, sigma_f, data_range, channel_axis, mask)
        graph = build_graph(plan, "nnk", bands, directed=bool(directed) or weights == "nnk")
    if weights == "nnk":
        from nnk_image.neighbors.image import nnk_weighted

        return nnk_weighted(graph, plan.image.pixels, bool(directed), n_jobs)
    return graph


def bilateral_graph(
    image,
    window=11,
    sigma_d=2.0,
    sigma_f=None,
    *,
    data_range=None,
    channel_axis=None,
    mask=None,
    n_jobs=None,
):
    """Graph of the bilateral filter: every pixel of the window is a neighbour.

    The reference that `image_graph` prunes: same nodes, same weights, some 17 times
    the edges.  Parameters, returns and errors are those of `image_graph`.

    References
    ----------
    Thesis equation 3.1; C. Tomasi, R. Manduchi, "Bilateral filtering for gray and color
    images", ICCV 1998.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> nnk_image.bilateral_graph(np.zeros((3, 3)), window=3).n_edges
    20
    """
    with Bands(n_jobs) as bands:
        plan = plan_graph(
            "bilateral", image, window, sigma_d, sigma_f, data_range, channel_axis, mask
        )
        return build_graph(plan, "bilateral", bands)


def plan_graph(kind, image, window, sigma_d, sigma_f, data_range, channel_axis, mask):
    """A `GraphPlan` from the arguments of `image_graph`: what is cheap to check comes first."""
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
    return GraphPlan(image, window, sigma_d, sigma_f)


class GraphPlan:
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


def build_graph(plan, kind, bands, directed=False):
    """The stages of a graph, each over all row bands: choose edges, then write them as CSR."""
    edges = choose_edges(plan, kind, bands, directed)
    adjacency, n_underflow = _to_csr(plan, edges, bands)
    return ImageGraph(
        adjacency,
        plan.image.shape,
        kind,
        plan.window.size,
        plan.sigma_d,
        plan.sigma_f,
        directed,
        plan.image.valid,
        n_underflow if directed else n_underflow // 2,
    )


def choose_edges(plan, kind, bands, directed=False):
    """Which pairs of pixels the graph links, as edge planes."""
    if kind == "bilateral":
        return _all_pairs(plan, bands)
    edges = _prune(plan, bands)
    if not directed:
        height, _ = plan.image.shape
        rows = height, plan.row_work
        bands.run(lambda y0, y1: _core.symmetrise(edges, y0, y1), *rows, speed=BIT_SPEED)
        edges.release_backward()
    return edges


def _prune(plan, bands):
    """Directed edges of Algorithm 4."""
    height, width = plan.image.shape
    edges = _core.Edges(height, width, plan.window.dy, plan.window.dx)
    threshold = plan.thresholds()
    pair_threshold = threshold[plan.window.pair_delta]

    def work(y0, y1):
        _core.prune(edges, plan.window.core, plan.planes, pair_threshold, threshold, y0, y1)

    bands.run(work, height, plan.row_work)
    return edges


def _all_pairs(plan, bands):
    """Every edge of the bilateral graph."""
    height, width = plan.image.shape
    edges = _core.Edges(height, width, plan.window.dy, plan.window.dx, backward=False)
    bits = np.zeros((height, -(-width // 64) * 64), bool)
    bits[:, :width] = True if plan.image.valid is None else plan.image.valid
    valid = np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    bands.run(lambda y0, y1: _core.all_pairs(edges, valid, y0, y1), height, plan.row_work)
    return edges


def _to_csr(plan, edges, bands):
    """Count, sum, fill: sorted CSR rows with kernel weights, and how many were too small."""
    height, width = plan.image.shape
    row_start = np.zeros(height + 1, np.int64)
    rows, n_neighbours = (height, plan.row_work), row_start[1:]
    bands.run(lambda y0, y1: _core.count_rows(edges, n_neighbours, y0, y1), *rows, speed=BIT_SPEED)
    np.cumsum(row_start, out=row_start)
    n_nodes, n_stored = height * width, int(row_start[-1])
    index_dtype = memory.index_dtype(max(n_stored, n_nodes))
    n_bytes = n_stored * (index_dtype.itemsize + plan.image.dtype.itemsize)
    memory.require(n_bytes, f"the adjacency of {n_stored} entries")
    indptr = np.empty(n_nodes + 1, index_dtype)
    indptr[-1] = n_stored
    indices = np.empty(n_stored, index_dtype)
    data = np.empty(n_stored, plan.image.dtype)
    wide = index_dtype == np.int64
    kernel, n_underflow = plan.kernel(), []

    def work(y0, y1):
        arrays = indptr.view(np.uint8), indices.view(np.uint8), wide, data.view(np.uint8)
        n_underflow.append(_core.fill(edges, kernel, row_start, *arrays, y0, y1))

    def fresh(y0, y1):
        entries = slice(row_start[y0], row_start[y1])
        parts = indptr[y0 * width : y1 * width], indices[entries], data[entries]
        return [part.view(np.uint8) for part in parts]

    bands.run(work, *rows, fresh=fresh)
    adjacency = csr_array((data, indices, indptr), shape=(n_nodes, n_nodes))
    adjacency.has_canonical_format = True
    if any(n_underflow):
        adjacency.eliminate_zeros()
    return adjacency, sum(n_underflow)
