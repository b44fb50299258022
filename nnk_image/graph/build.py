"""Images to graphs: the pruned NNK graph, and the bilateral graph it is pruned from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from nnk_image.base.checks import check_choice
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.exact_weights import nnk_weighted
from nnk_image.graph.pixel_graph import ImageGraph
from nnk_image.graph.planes import EdgePlanes
from nnk_image.graph.pruning import GraphSpec


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
    spacing: Sequence[float] | None = None,
    n_jobs: int | None = None,
) -> ImageGraph:
    """Build a sparse graph that links each pixel to a few similar pixels nearby.

    The graph approximates the NNK (non-negative kernel regression) graph. Each pixel is linked to
    the non-redundant pixels in the window around it: one that lies behind a neighbor, in the same
    direction and with a similar value, is left out. Filters on this graph preserve the edges of
    objects like the bilateral filter, with about 6 % of the links.

    Parameters
    ----------
    image : (H, W) array_like, or of 3 or 4 axes
        Image of any real dtype; never modified.  All axes but `channel_axis` are of space or
        time: (D, H, W) is a volume.  An array of three axes whose first or last has length 3 or 4
        could be in color or a volume: give `channel_axis` or `spacing` to decide.
    window : int or sequence of int, optional
        Side of the window in pixels: odd, 3 to 63; or one per axis, where 1 means no
        neighbors along that axis.  Default: 11 for two axes, 5 for three, 3 for four.
    sigma_d : float
        Width of the kernel in space, in pixels or the units of `spacing`; default 2.
    sigma_f : float, optional
        Width of the kernel in intensity, in the image's own units: differences much larger than
        this get weights near 0.  Default: 10/255 of the data range, which is known for bool,
        uint8, uint16 and for floats within [0, 1]; give it for all others.
    channel_axis : int, optional
        Axis of the channels of a color image; pixels are then compared as vectors.
    mask : bool array_like, optional
        Of the image's shape without the channels: True for valid pixels; the others have no edges
        and may be NaN.
    directed : bool
        True keeps in row i of the adjacency only the neighbors that pixel i chose.  False (default)
        links two pixels as soon as one of them chose the other, which makes it symmetric.
    weights : {'kernel', 'nnk'}
        'kernel' (default) weights edges by the bilateral kernel, see Notes. 'nnk' weights the same
        edges by non-negative kernel regression of each pixel on its neighbors, which is slower;
        an undirected edge gets the larger weight of its two ends.
    spacing : sequence of float, optional
        Distance between neighboring pixels along each axis, such as the voxel size.  Default: 1.
    n_jobs : int, optional
        Largest number of threads; None (default) is 1, -1 all processors.  The graph does not
        depend on it.

    Returns
    -------
    ImageGraph
        Its weights have the image's floating type, float64 for integers.

    Raises
    ------
    TypeError, ValueError
        If the image or a parameter is invalid; the message names it and says what to do.
    MemoryError
        If the graph is too large; raised before memory is allocated. The message gives the sizes.

    See Also
    --------
    bilateral_graph : The graph of all pixels of each window.
    nnk_graph : The exact NNK graph of any points.

    Notes
    -----
    Let pixel i be at x_i with the intensity f_i. Its window is visited from the nearest pixels
    outwards, and a pixel k is pruned by a kept pixel j if
    ``(f_j - f_k).(f_j - f_i) <= (sigma_f / sigma_d)^2 (x_k - x_j).(x_j - x_i)``: seen from i, k
    then lies behind j. This approximates exact NNK on the window by comparisons alone.  The weight
    of an edge is the bilateral kernel
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
    given = {"channel_axis": channel_axis, "mask": mask, "spacing": spacing}
    with RowExecutor(n_jobs) as executor:
        spec = GraphSpec(image, window, sigma_d, sigma_f, **given, turned=True)
        graph = build_graph(spec, "nnk", executor, directed=bool(directed) or weights == "nnk")
    if weights == "kernel":
        return graph
    pixels = spec.image.pixels.reshape(*graph.shape, -1)
    return nnk_weighted(graph, pixels, bool(directed), n_jobs)


def bilateral_graph(
    image: npt.ArrayLike,
    window: int | Sequence[int] | None = None,
    sigma_d: float = 2.0,
    sigma_f: float | None = None,
    *,
    channel_axis: int | None = None,
    mask: npt.ArrayLike | None = None,
    spacing: Sequence[float] | None = None,
    n_jobs: int | None = None,
) -> ImageGraph:
    """Build the graph of the bilateral filter: each pixel is linked to all others in its window.

    It is the reference for `image_graph`, which keeps about 6 % of these edges with the same
    weights.

    Parameters
    ----------
    image, window, sigma_d, sigma_f, channel_axis, mask, spacing, n_jobs
        As for `image_graph`.

    Returns
    -------
    ImageGraph

    Raises
    ------
    TypeError, ValueError, MemoryError
        As `image_graph`.

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
        spec = GraphSpec(image, window, sigma_d, sigma_f, **given, kind="bilateral", turned=True)
        return build_graph(spec, "bilateral", executor)


def build_graph(
    spec: GraphSpec, kind: str, executor: RowExecutor, directed: bool = False
) -> ImageGraph:
    """Choose the edges of the graph of a `GraphSpec`; its matrix is made when it is asked for."""
    valid = spec.image.valid
    return ImageGraph(
        EdgePlanes(spec, kind, executor, directed),
        spec.shape,
        kind,
        spec.side,
        spec.sigma_d,
        spec.sigma_f,
        directed,
        None if valid is None else valid.reshape(spec.shape),
        spec.spacing,
    )
