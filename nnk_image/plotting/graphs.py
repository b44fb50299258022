"""Graphs of images: the neighbors of a pixel, links, degrees."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import triu

from nnk_image.base.checks import check_count
from nnk_image.base.image import Array, image_array
from nnk_image.graph.pixel_graph import ImageGraph
from nnk_image.plotting.figures import COLORS, one_axes, show, value_range_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Crop = tuple[slice, slice]

_MAX_LINKS = 100_000  # more links would fill the plot, and be slow to draw


def plot_neighbors(
    image: npt.ArrayLike,
    graph: ImageGraph,
    pixel: tuple[int, int],
    ax: Axes | None = None,
    *,
    radius: int | None = None,
) -> Axes:
    """Draw the links of one pixel on top of the image around it.

    Parameters
    ----------
    image : (H, W) or (H, W, 3) array_like
        The image of the graph.
    graph : ImageGraph
        A graph of an image.
    pixel : (int, int)
        Row and column.
    ax : matplotlib.axes.Axes, optional
        Default: pyplot's current axes.
    radius : int, optional
        Pixels shown to each side; default: a little more than the window.

    Returns
    -------
    matplotlib.axes.Axes
        With one line per neighbor, the stronger the larger its weight.

    Examples
    --------
    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> graph = nnk_image.image_graph(image)
    >>> ax = nnk_image.plotting.plot_neighbors(image, graph, (80, 30))
    >>> len(ax.collections[-1].get_segments()) == graph.adjacency[[80 * 256 + 30]].nnz
    True
    """
    _check_planar(graph)
    height, width = graph.shape
    try:
        row, column = map(operator.index, pixel)
    except (TypeError, ValueError):
        raise TypeError(f"pixel must be (row, column), two integers, not {pixel!r}") from None
    if not (0 <= row < height and 0 <= column < width):
        raise ValueError(f"pixel={pixel!r} lies outside the image, whose shape is {graph.shape}")
    radius = int(np.max(graph.window)) // 2 + 2 if radius is None else radius
    check_count("radius", radius, 0)
    crop = tuple(slice(max(0, at - radius), at + radius + 1) for at in (row, column))
    ax = one_axes(ax)
    _show_crop(ax, image, graph, _check_crop(crop, graph.shape))
    node = row * width + column
    links = graph.adjacency[[node]]
    rows, columns = np.divmod(links.indices, width)
    sizes = 6 + 40 * _strength(links.data)
    ax.scatter(columns, rows, s=sizes, color=COLORS[graph.kind], zorder=3)
    ax.scatter(column, row, s=70, color="gold", edgecolor="black", zorder=4)
    ax.set_title(f"{graph.kind}: {len(rows)} neighbor{'s' * (len(rows) != 1)}", fontsize="medium")
    _add_links(ax, graph, np.full_like(links.indices, node), links.indices, links.data, 2.0)
    return ax


def plot_graph(
    image: npt.ArrayLike, graph: ImageGraph, crop: Crop | None = None, ax: Axes | None = None
) -> Axes:
    """Draw all links between pixels of a small image, or of a small part of an image.

    Parameters
    ----------
    image, graph, ax
        As for `plot_neighbors`.
    crop : (slice, slice), optional
        Rows and columns to show, as in ``image[crop]``, of at most 100,000 links; default: all.

    Returns
    -------
    matplotlib.axes.Axes
        With one line per pair of linked pixels in the crop, as for `plot_neighbors`.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> graph = nnk_image.image_graph(image)
    >>> ax = nnk_image.plotting.plot_graph(image, graph, np.s_[70:90, 20:44])
    """
    _check_planar(graph)
    crop = _check_crop(np.s_[:, :] if crop is None else crop, graph.shape)
    pixels = np.arange(graph.n_nodes).reshape(graph.shape)[crop]
    inner = graph.adjacency[pixels.ravel()][:, pixels.ravel()]
    pairs = triu(inner.maximum(inner.T), 1, format="coo")
    if pairs.nnz > _MAX_LINKS:
        raise ValueError(
            f"the crop of {pixels.shape[0]}x{pixels.shape[1]} pixels holds {pairs.nnz} links; "
            f"choose a smaller one, of at most {_MAX_LINKS}"
        )
    ax = one_axes(ax)
    _show_crop(ax, image, graph, crop)
    starts, ends = pixels.ravel()[pairs.row], pixels.ravel()[pairs.col]
    _add_links(ax, graph, starts, ends, pairs.data, 1.2)
    return ax


def plot_degrees(graph: ImageGraph, ax: Axes | None = None, *, count: bool = False) -> Axes:
    """Draw the degree of each pixel, the sum of the weights of its links, as an image.

    Parameters
    ----------
    graph, ax
        As for `plot_neighbors`.
    count : bool
        Draw the number of neighbors instead of the sum of their weights; default False.

    Returns
    -------
    matplotlib.axes.Axes
        With a color bar; masked pixels of the graph stay blank.

    Examples
    --------
    >>> import nnk_image
    >>> graph = nnk_image.image_graph(nnk_image.standard_image("camera"))
    >>> ax = nnk_image.plotting.plot_degrees(graph, count=True)
    >>> bool(ax.images[-1].get_array().sum() == graph.adjacency.nnz)
    True
    """
    _check_planar(graph)
    values = graph.neighbor_counts if count else graph.degrees
    if graph.valid is not None:
        values = np.ma.array(values, mask=~graph.valid)
    top = float(np.percentile(np.ma.compressed(values), 99.5))
    ax = one_axes(ax)
    title = f"{graph.kind}: {'neighbors' if count else 'degree'} of each pixel"
    artist = show(ax, values, (0, top), title, cmap="magma")
    ax.figure.colorbar(artist, ax=ax, shrink=0.9, extend="max")
    return ax


def _check_planar(graph: ImageGraph) -> None:
    if not isinstance(graph, ImageGraph):
        raise TypeError(
            f"graph must be an ImageGraph, such as image_graph returns, not {type(graph).__name__};"
            " where an image is drawn as well, it is the first argument and the graph the second"
        )
    if len(graph.shape) != 2:
        raise ValueError(
            f"the graph is of a volume of shape {graph.shape}; only graphs of images can be drawn"
        )


def _check_crop(crop: Any, shape: tuple[int, ...]) -> Crop:
    """Return the crop as slices whose starts and stops lie inside the image."""
    slices = isinstance(crop, tuple) and len(crop) == 2 and all(type(s) is slice for s in crop)
    parts = [range(n)[part] for part, n in zip(crop, shape, strict=True)] if slices else []
    if not parts or any(part.step != 1 or not part for part in parts):
        raise ValueError(
            f"crop={crop!r} must be two slices without steps, as in np.s_[10:30, 40:60], that "
            f"contain pixels of the image, whose shape is {shape}"
        )
    rows, columns = (slice(part.start, part.stop) for part in parts)
    return rows, columns


def _show_crop(ax: Axes, image: npt.ArrayLike, graph: ImageGraph, crop: Crop) -> None:
    """Draw a part of the image, with its pixels at their places in the whole image."""
    image = image_array(image)
    if image.shape[:2] != graph.shape or image.ndim not in (2, 3):
        raise ValueError(
            f"image has shape {image.shape}, the graph {graph.shape}; give its image, channels last"
        )
    rows, columns = crop
    extent = columns.start - 0.5, columns.stop - 0.5, rows.stop - 0.5, rows.start - 0.5
    show(ax, image[crop], value_range_of(image), extent=extent)


def _strength(weights: Array) -> Array:
    """Return the opacity of each link, 0 to 1: square roots keep weak links visible."""
    return np.sqrt(weights / weights.max()) if len(weights) else weights


def _add_links(
    ax: Axes, graph: ImageGraph, starts: Array, ends: Array, weights: Array, width: float
) -> None:
    """Draw links between nodes as lines, the stronger ones less transparent."""
    from matplotlib.collections import LineCollection

    places = (np.divmod(nodes, graph.shape[1])[::-1] for nodes in (starts, ends))
    segments = np.stack([np.stack(place, axis=1) for place in places], axis=1)
    alpha = np.clip(_strength(weights), 0.05, 1) if len(weights) else None
    color = COLORS[graph.kind]
    lines = LineCollection(list(segments), colors=color, alpha=alpha, linewidths=width)
    ax.add_collection(lines, autolim=False)
