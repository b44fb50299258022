"""Images to graphs: the NNK graph, the bilateral graph it is pruned from, and the plain grid."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from nnk_image.base.checks import check_choice, warn
from nnk_image.base.image import Array
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.pixel_graph import ImageGraph
from nnk_image.graph.pruning import EdgePlanes, GraphSpec
from nnk_image.neighbors.model import NeighborhoodModel

_LARGEST_SIGMA_F = 5  # as a multiple of the image's range; above it, warn of wrong units
_LARGEST_SPACING = 5  # as a multiple of sigma_d; above it, no weight exceeds 4e-6: warn


def image_graph(
    image: npt.ArrayLike,
    window: int | Sequence[int] | None = None,
    sigma_d: float = 2.0,
    sigma_f: float | None = None,
    *,
    channel_axis: int | None = None,
    mask: npt.ArrayLike | None = None,
    directed: bool = False,
    weights: str = "kernel",
    spacing: float | Sequence[float] | None = None,
    n_jobs: int | None = None,
) -> ImageGraph:
    """Build a sparse graph that links each pixel to a few similar pixels nearby.

    It approximates the NNK (non-negative kernel regression) graph. In the window around a pixel,
    one that lies behind a neighbor, in the same direction and with a similar value, is left out.
    Filters on this graph preserve the edges of objects like the bilateral filter, with about 6 % of
    its links in the default window.

    Parameters
    ----------
    image : (H, W) array_like, or of 3 or 4 axes; one axis more with `channel_axis`
        Image of any real dtype; never modified.  All axes but `channel_axis` are of space or
        time: (D, H, W) is a volume.  If the first of three axes, or the last of three or four, has
        length 3 or 4, it could be color: give `channel_axis` or `spacing` to decide.
    window : int, or tuple or list of int, optional
        Side of the window in pixels, odd, 3 to 63; or one side for each axis but `channel_axis`,
        where 1 means no neighbors along it.  Default: 11 for two axes, 5 for three, 3 for four.
    sigma_d : float
        Width of the kernel in space, in pixels or the units of `spacing`; default 2.
    sigma_f : float, optional
        Width of the kernel in intensity, in the image's own units.  Default: 10/255 of the data
        range, which is 1 for bool and for floats within [0, 1], 255 for uint8 and 65535 for uint16;
        give `sigma_f` for all others.
    channel_axis : int, optional
        Axis of the channels, which are compared by Euclidean distance.  Default: no channels.
    mask : bool array_like of the image's shape without channels, optional
        True for valid pixels; the others, like masked entries of a masked array, are nodes without
        edges, and may be NaN.  Default: all pixels are valid.
    directed : bool
        True keeps in row i of the adjacency only the neighbors that pixel i chose, for which there
        are no Laplacians.  False (default) links two pixels if one of them chose the other.
    weights : {'kernel', 'nnk'}
        'kernel' (default) weights edges by the bilateral kernel, see Notes. 'nnk', which is slower,
        weights them by non-negative kernel regression of each pixel on its neighbors; an undirected
        edge gets the larger weight of its two ends.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels, or one for each axis but `channel_axis`; default 1.
    n_jobs : int, optional
        Largest number of threads; None (default) is 1, -1 all.  The graph does not depend on it.

    Returns
    -------
    ImageGraph
        One node per pixel; weights are float32 for float16 and float32 images, else float64.

    Raises
    ------
    MemoryError
        If the graph is too large; raised before memory is allocated.

    Warns
    -----
    UserWarning
        If `sigma_f` seems to be in other units than the image, such as 25 for values from 0 to 1,
        or `sigma_d` in other units than `spacing`.

    See Also
    --------
    bilateral_graph : The graph of all pixels of each window.
    nnk_graph : The exact NNK graph of any points.

    Notes
    -----
    Let pixel i be at x_i with the intensity f_i. Its window is visited from the nearest pixels
    outwards, and a pixel k is pruned by a kept pixel j if
    ``(f_j - f_k).(f_j - f_i) <= (sigma_f / sigma_d)^2 (x_k - x_j).(x_j - x_i)`` and the right side
    is not negative: seen from i, k then lies behind j. This approximates exact NNK on the window
    by comparisons alone.  The weight of an edge is the bilateral kernel
    ``exp(-|x_i-x_j|^2 / (2 sigma_d^2)) exp(-|f_i-f_j|^2 / (2 sigma_f^2))``.

    References
    ----------
    S. Shekkizhar, A. Ortega, "Efficient graph construction for image representation",
    ICIP 2020; thesis section 3.1, Algorithm 4.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> graph = nnk_image.image_graph(image, sigma_f=10)
    >>> graph.kind, graph.window
    ('nnk', 11)
    >>> graph.n_edges < 0.1 * nnk_image.bilateral_graph(image, sigma_f=10).n_edges
    True
    >>> volume = np.random.default_rng(0).normal(size=(8, 20, 20))
    >>> nnk_image.image_graph(volume, sigma_f=1, spacing=(2.5, 1, 1)).degrees.shape
    (8, 20, 20)
    """
    check_choice("weights", weights, ("kernel", "nnk"))
    given: dict[str, Any] = {"channel_axis": channel_axis, "mask": mask, "spacing": spacing}
    given["directed"] = bool(directed) or weights == "nnk"  # exact weights are those of each end
    with RowExecutor(n_jobs) as executor:
        spec = GraphSpec(image, window, sigma_d, sigma_f, **given)
        _warn_of_other_units(spec)
        graph = build_graph(spec, executor)
    if weights == "kernel":
        return graph
    return _nnk_weighted(graph, spec.image.pixels, bool(directed), n_jobs)


def bilateral_graph(
    image: npt.ArrayLike,
    window: int | Sequence[int] | None = None,
    sigma_d: float = 2.0,
    sigma_f: float | None = None,
    *,
    channel_axis: int | None = None,
    mask: npt.ArrayLike | None = None,
    spacing: float | Sequence[float] | None = None,
    n_jobs: int | None = None,
) -> ImageGraph:
    """Build the graph of the bilateral filter: each pixel is linked to all others in its window.

    `image_graph` keeps some of these edges with the same weights.

    Parameters
    ----------
    image, window, sigma_d, sigma_f, channel_axis, mask, spacing, n_jobs
        As for `image_graph`.

    Returns
    -------
    ImageGraph
        Undirected graph, with weights of the same dtype as those of `image_graph`, and the same
        errors and warnings.  Edges whose weight would underflow are left out.

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
    given = {"channel_axis": channel_axis, "mask": mask, "spacing": spacing}
    with RowExecutor(n_jobs) as executor:
        spec = GraphSpec(image, window, sigma_d, sigma_f, **given, kind="bilateral")
        _warn_of_other_units(spec)
        return build_graph(spec, executor)


def grid_graph(
    shape: Sequence[int], window: int | Sequence[int] = 3, *, mask: npt.ArrayLike | None = None
) -> csr_array:
    """Build a graph that links every pixel to all others of its window, with weight 1.

    Use it for interpolation if no pixel values are known yet, or as the candidates of `nnk_graph`
    to compare pixels by other features: ``nnk_graph(features, neighbors=grid_graph(shape, 11))``.

    Parameters
    ----------
    shape : tuple of int
        (H, W) of an image, without its channels; 2 to 4 axes.
    window : int, or tuple or list of int
        Side of the window in pixels, as for `image_graph`; 3 (default) gives 8 neighbors in 2-D.
    mask : bool array_like of that shape, optional
        True for valid pixels; the others have no links. Default: all are valid.

    Returns
    -------
    (N, N) scipy.sparse.csr_array
        Symmetric matrix of float32 ones; the pixel at (row, column) is node ``row * W + column``.

    Examples
    --------
    >>> from nnk_image.graph import grid_graph
    >>> grid_graph((2, 2)).toarray()
    array([[0., 1., 1., 1.],
           [1., 0., 1., 1.],
           [1., 1., 0., 1.],
           [1., 1., 1., 0.]], dtype=float32)
    """
    try:
        sides = tuple(map(operator.index, shape))
    except TypeError as error:
        text = f"shape must be a tuple of integers, such as (H, W), not {shape!r}"
        raise TypeError(text) from error
    if not 2 <= len(sides) <= 4 or min(sides) < 1:
        raise ValueError(f"shape={shape!r} must hold 2 to 4 sides, each at least 1 pixel")
    # The kernel is so wide that no weight underflows; an edge whose weight does is left out.
    options: dict[str, Any] = {"sigma_d": 100.0, "sigma_f": 1.0, "mask": mask, "spacing": 1.0}
    blank = np.broadcast_to(np.float32(0), sides)  # takes no memory: that is checked by the call
    graph = bilateral_graph(blank, window, **options).adjacency
    return csr_array((np.ones_like(graph.data), graph.indices, graph.indptr), shape=graph.shape)


def _warn_of_other_units(spec: GraphSpec) -> None:
    """Warn if `sigma_f` seems to be for values up to 255, but the image has floats up to 1.

    Above 255, it may be meant to ignore intensities. Also warn if `sigma_d` seems to be in pixels.
    """
    low, high = spec.image.low, spec.image.high
    up_to_1 = spec.image.pixels.dtype.kind == "f" and low >= -1 and 0.1 < high <= 2
    if up_to_1 and low < high and max(1, _LARGEST_SIGMA_F * (high - low)) < spec.sigma_f <= 255:
        warn(
            f"sigma_f={spec.sigma_f:g} is more than {_LARGEST_SIGMA_F} times the range of the "
            f"image, {low:.4g} to {high:.4g}, so that intensities hardly matter; give sigma_f in "
            f"the units of the image: {spec.sigma_f:g}/255 if 1 is white",
        )
    if min(spec.spacing or (1,)) > _LARGEST_SPACING * spec.sigma_d:
        warn(
            f"sigma_d={spec.sigma_d:g} is much less than the spacing {spec.spacing or 1}, so that "
            "all weights are near 0; give sigma_d in the units of spacing, by default pixels",
        )


def build_graph(spec: GraphSpec, executor: RowExecutor) -> ImageGraph:
    """Choose the edges of the graph that `spec` describes; its matrix is made when first used."""
    return ImageGraph(
        EdgePlanes(spec, executor),
        spec.image.shape,
        spec.kind,
        spec.window,
        spec.sigma_d,
        spec.sigma_f,
        spec.directed,
        spec.image.valid,
        spec.spacing,
    )


def _nnk_weighted(
    graph: ImageGraph, pixels: Array, directed: bool, n_jobs: int | None
) -> ImageGraph:
    """Replace an image graph's weights by those of non-negative kernel regression.

    The given graph is directed. Each end of an edge yields a weight for it; unless `directed`, the
    edge gets the larger one. Edges of weight 0 are left out.
    """
    valid = np.ones(graph.shape, bool) if graph.valid is None else graph.valid
    places = graph.positions() / graph.sigma_d
    intensities = np.where(valid[..., None], pixels, 0).astype(np.float64) / graph.sigma_f
    features = np.hstack([places, intensities.reshape(graph.n_nodes, -1)])
    max_neighbors = int(np.diff(graph.adjacency.indptr).max(initial=1))
    options: dict[str, Any] = {"sigma": 1.0, "neighbors": graph.adjacency, "n_jobs": n_jobs}
    solved = NeighborhoodModel(features, max_neighbors, **options).solve()
    adjacency = solved.graph(None if directed else "max").astype(graph.dtype)
    adjacency.eliminate_zeros()  # weights too small for float32 have become 0
    return replace(graph, edges=adjacency, directed=directed)
