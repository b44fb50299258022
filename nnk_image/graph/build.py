"""Images to graphs: the pruned NNK graph, and the bilateral graph it is pruned from."""

import numpy as np
from scipy.sparse import csr_array

from nnk_image import _core
from nnk_image.base import memory
from nnk_image.base.geometry import PixelGrid
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.exact_weights import nnk_weighted
from nnk_image.graph.pixel_graph import ImageGraph
from nnk_image.graph.pruning import BIT_SPEED, EDGE_SWEEPS, GraphSpec, choose_edges

GRAPH_SWEEPS = EDGE_SWEEPS + 2
"""Sweeps over all rows of `build_graph`."""


def image_graph(
    image,
    window=None,
    sigma_d=2.0,
    sigma_f=None,
    *,
    data_range=None,
    channel_axis=None,
    mask=None,
    directed=False,
    weights="kernel",
    spacing=None,
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
    image : (H, W) array_like, or of 3 or 4 axes
        Any real dtype and layout; never modified.  All axes but `channel_axis` are of space (or
        time): (D, H, W) is a volume.  Three axes of which the first or the last has 3 or 4 pixels
        need either `channel_axis` or `spacing`.
    window : int or sequence of int, optional
        Side of the window in pixels: odd, 3 to 63; or one per axis, where 1 stands for no
        neighbours along it.  Default: 11 for two axes, 5 for three, 3 for four.
    sigma_d : float
        Spatial width of the kernel, in units of `spacing`.
    sigma_f : float, optional
        Intensity width, in the image's own units.  Default: 10/255 of the data range.
    data_range : float, optional
        Largest minus smallest possible value.  Default: that of the type for bool,
        uint8 and uint16, 1 for floats within [0, 1].
    channel_axis : int, optional
        Axis of the channels of a colour image; pixels are then compared as vectors.
    mask : bool array_like, optional
        Of the image's shape without the channels: True for the pixels that take part; the others
        have no edges and may hold NaN.
    directed : bool
        Keep the edges each pixel chose.  Default: their union.
    spacing : sequence of float, optional
        Distance of neighbouring pixels along each axis, such as the size of a voxel; all 1 by
        default.
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
    >>> import numpy as np, nnk_image
    >>> graph = nnk_image.image_graph(nnk_image.standard_image("camera"), sigma_f=10)
    >>> graph.kind, graph.window
    ('nnk', 11)
    >>> graph.adjacency.nnz < 0.1 * nnk_image.bilateral_graph(
    ...     nnk_image.standard_image("camera"), sigma_f=10).adjacency.nnz
    True
    >>> volume = np.random.default_rng(0).normal(size=(8, 20, 20))
    >>> nnk_image.image_graph(volume, sigma_f=1, spacing=(2.5, 1, 1)).degrees.shape
    (8, 20, 20)
    """
    if weights not in ("kernel", "nnk"):
        raise ValueError(f"weights={weights!r} is unknown; choose 'kernel' or 'nnk'")
    with RowExecutor(n_jobs) as executor:
        given = data_range, channel_axis, mask
        spec = GraphSpec(image, window, sigma_d, sigma_f, *given, spacing=spacing, turned=True)
        graph = build_graph(spec, "nnk", executor, directed=bool(directed) or weights == "nnk")
    if weights == "nnk":
        pixels = spec.image.pixels.reshape(*graph.shape, -1)
        return nnk_weighted(graph, pixels, bool(directed), n_jobs)
    return graph


def bilateral_graph(
    image,
    window=None,
    sigma_d=2.0,
    sigma_f=None,
    *,
    data_range=None,
    channel_axis=None,
    mask=None,
    spacing=None,
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
    with RowExecutor(n_jobs) as executor:
        given = data_range, channel_axis, mask
        spec = GraphSpec(image, window, sigma_d, sigma_f, *given, "bilateral", spacing, True)
        return build_graph(spec, "bilateral", executor)


def build_graph(spec, kind, executor, directed=False):
    """The graph of a `GraphSpec`: choose the edges, then write them as a CSR matrix."""
    edges = choose_edges(spec, kind, executor, directed)
    adjacency, n_underflow = _to_csr(spec, edges, executor)
    valid = spec.image.valid
    return ImageGraph(
        adjacency,
        spec.shape,
        kind,
        spec.side,
        spec.sigma_d,
        spec.sigma_f,
        directed,
        None if valid is None else valid.reshape(spec.shape),
        n_underflow if directed else n_underflow // 2,
        spec.spacing,
    )


def _to_csr(spec, edges, executor):
    """Sorted CSR rows with kernel weights, and how many weights were too small to store.

    The edges of each image row are counted, the counts summed up to where each row starts, and
    then all rows are written independently.
    """
    height, n_nodes = spec.lines.height, PixelGrid(spec.image.shape).size
    row_start = np.zeros(height + 1, np.int64)
    rows, n_neighbours = (height, spec.row_work), row_start[1:]

    def count(y0, y1):
        _core.count_rows(edges, n_neighbours, y0, y1)

    executor.run(count, *rows, speed=BIT_SPEED)
    np.cumsum(row_start, out=row_start)
    n_stored = int(row_start[-1])
    index_dtype = memory.index_dtype(max(n_stored, n_nodes))
    n_bytes = n_stored * (index_dtype.itemsize + spec.image.dtype.itemsize)
    memory.require(n_bytes, f"the adjacency of {n_stored} entries")
    indptr = np.empty(n_nodes + 1, index_dtype)
    indptr[-1] = n_stored
    indices = np.empty(n_stored, index_dtype)
    data = np.empty(n_stored, spec.image.dtype)
    wide = index_dtype == np.int64
    kernel, n_underflow = spec.kernel(), []

    def work(y0, y1):
        arrays = indptr.view(np.uint8), indices.view(np.uint8), wide, data.view(np.uint8)
        n_underflow.append(_core.fill(edges, kernel, row_start, *arrays, y0, y1))

    executor.run(work, *rows)
    adjacency = csr_array((data, indices, indptr), shape=(n_nodes, n_nodes))
    adjacency.has_canonical_format = True
    if any(n_underflow):
        adjacency.eliminate_zeros()
    return adjacency, sum(n_underflow)
