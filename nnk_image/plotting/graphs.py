"""Graphs of images: the neighbours of a pixel, links, degrees."""

import numpy as np

from nnk_image.base.imports import uninterrupted
from nnk_image.plotting.figures import COLORS, row_of_axes, show, value_range_of

MAX_LINKS = 100_000
"""Most links that `plot_graph` draws: more would be a solid block, and slow to draw."""


def plot_neighbours(image, graph, pixel, ax=None, *, radius=None):
    """The links of one pixel, drawn over the image around it.

    The larger the weight of a link, the stronger its line and dot.

    Parameters
    ----------
    image : (H, W) or (H, W, 3) array_like
    graph : ImageGraph
        Of that image.
    pixel : (int, int)
        Row and column.
    ax : matplotlib.axes.Axes, optional
    radius : int, optional
        Pixels shown to each side; default: a little more than the window.

    Returns
    -------
    matplotlib.collections.LineCollection
        One line per neighbour, in the order of the graph's columns.

    Raises
    ------
    ValueError
        `image` is not of the graph's shape, or `pixel` lies outside.

    Examples
    --------
    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> graph = nnk_image.image_graph(image)
    >>> links = plot_neighbours(image, graph, (80, 30))
    >>> len(links.get_segments()) == graph.adjacency[[80 * 256 + 30]].nnz
    True
    """
    _check_planar(graph)
    row, column = _check_pixel(pixel, graph)
    radius = np.max(graph.window) // 2 + 2 if radius is None else radius
    around = (slice(max(0, at - radius), at + radius + 1) for at in (row, column))
    crop = _clip(tuple(around), graph.shape)
    ax = row_of_axes(ax, 1, 4, 4.2)[0]
    _show_crop(ax, image, graph, crop)
    start, stop = graph.adjacency.indptr[[row * graph.shape[1] + column + k for k in (0, 1)]]
    rows, columns = np.divmod(graph.adjacency.indices[start:stop], graph.shape[1])
    strength = _strength(graph.adjacency.data[start:stop])
    ends = np.stack([columns, rows], axis=1)
    segments = np.stack([np.broadcast_to((column, row), ends.shape), ends], axis=1)
    color = COLORS[graph.kind]
    ax.scatter(columns, rows, s=6 + 40 * strength, color=color, zorder=3)
    ax.scatter(column, row, s=70, color="gold", edgecolor="black", zorder=4)
    ax.set_title(f"{graph.kind}: {len(rows)} neighbours", fontsize=9)
    return _add_lines(ax, segments, strength, color, linewidths=2)


def plot_graph(image, graph, crop, ax=None):
    """All links within a small part of the image.

    Parameters
    ----------
    image : (H, W) or (H, W, 3) array_like
    graph : ImageGraph
        Of that image.
    crop : (slice, slice)
        Rows and columns to show, as in ``image[crop]``.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.collections.LineCollection
        One line per pair of linked pixels in the crop, the stronger the larger its weight.

    Raises
    ------
    ValueError
        `image` is not of the graph's shape, `crop` is empty, has steps, or holds more than
        `MAX_LINKS` links.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> graph = nnk_image.image_graph(image)
    >>> links = plot_graph(image, graph, np.s_[70:90, 20:44])
    """
    _check_planar(graph)
    crop = _clip(crop, graph.shape)
    pixels = np.arange(graph.n_nodes).reshape(graph.shape)[crop]
    inner = graph.adjacency[pixels.ravel()][:, pixels.ravel()].tocoo()
    first, second = inner.row, inner.col
    one_way = first < second
    if graph.directed:  # a pair that only the later pixel links counts too
        pairs = set(zip(first[one_way].tolist(), second[one_way].tolist(), strict=True))
        nodes = zip(first.tolist(), second.tolist(), strict=True)
        one_way |= [i > j and (j, i) not in pairs for i, j in nodes]
    if one_way.sum() > MAX_LINKS:
        raise ValueError(
            f"the crop of {pixels.shape[0]}x{pixels.shape[1]} pixels holds {one_way.sum()} links, "
            f"more than can be told apart (at most {MAX_LINKS} are drawn); choose a smaller one"
        )
    ax = row_of_axes(ax, 1, 5, 5.2)[0]
    _show_crop(ax, image, graph, crop)
    ends = [np.divmod(nodes[one_way], pixels.shape[1])[::-1] for nodes in (first, second)]
    corner = crop[1].start, crop[0].start
    segments = np.stack([np.stack(end, axis=1) + corner for end in ends], axis=1)
    strength = _strength(inner.data[one_way])
    return _add_lines(ax, segments, strength, COLORS[graph.kind], linewidths=1.2)


def plot_degrees(graph, ax=None, *, count=False):
    """Map of the degrees: how strongly each pixel is linked.

    Parameters
    ----------
    graph : ImageGraph
    ax : matplotlib.axes.Axes, optional
    count : bool
        The number of each pixel's neighbours, not the sum of their weights.

    Returns
    -------
    matplotlib.image.AxesImage
        With a colour bar; pixels that are masked in the graph stay blank.

    Examples
    --------
    >>> import nnk_image
    >>> graph = nnk_image.image_graph(nnk_image.standard_image("camera"))
    >>> picture = plot_degrees(graph, count=True)
    >>> bool(picture.get_array().sum() == graph.adjacency.nnz)
    True
    """
    _check_planar(graph)
    values = graph.neighbour_counts if count else graph.degrees
    if graph.valid is not None:
        values = np.ma.array(values, mask=~graph.valid)
    top = float(np.percentile(np.ma.compressed(values), 99.5))
    ax = row_of_axes(ax, 1, 4.6, 4)[0]
    title = f"{graph.kind}: {'neighbours' if count else 'degree'} of each pixel"
    artist = show(ax, values, (0, top), title, cmap="magma")
    ax.figure.colorbar(artist, ax=ax, shrink=0.9, extend="max")
    return artist


def _check_planar(graph):
    if len(graph.shape) != 2:
        raise ValueError(
            f"this graph is of a volume of shape {graph.shape}, which is no picture; show a slice "
            "of graph.degrees or graph.neighbour_counts with matplotlib's imshow"
        )


def _check_pixel(pixel, graph):
    """`pixel` as row and column, if it lies in the image."""
    try:
        row, column = (int(v) for v in pixel)
    except (TypeError, ValueError):
        raise ValueError(f"pixel={pixel!r} must be a row and a column") from None
    if not (0 <= row < graph.shape[0] and 0 <= column < graph.shape[1]):
        raise ValueError(f"pixel={pixel!r} lies outside the image, whose shape is {graph.shape}")
    return row, column


def _clip(crop, shape):
    """The crop as slices whose starts and stops lie inside the image."""
    if not (isinstance(crop, tuple) and len(crop) == 2 and all(type(s) is slice for s in crop)):
        raise ValueError(f"crop={crop!r} must be two slices, as in np.s_[10:30, 40:60]")
    ranges = []
    for part, size in zip(crop, shape, strict=True):
        start = max(0, 0 if part.start is None else part.start)
        stop = min(size, size if part.stop is None else part.stop)
        if part.step not in (None, 1) or start >= stop:
            raise ValueError(f"crop={crop!r} takes no rows or columns of {shape}, or has steps")
        ranges.append(slice(start, stop))
    return tuple(ranges)


def _show_crop(ax, image, graph, crop):
    """Draw a part of the image, with its pixels at their places in the whole image."""
    image = np.asarray(image)
    if image.shape[:2] != graph.shape or image.ndim not in (2, 3):
        raise ValueError(
            f"image has shape {image.shape}, the graph {graph.shape}: give the graph's own image, "
            "channels last"
        )
    rows, columns = crop
    extent = columns.start - 0.5, columns.stop - 0.5, rows.stop - 0.5, rows.start - 0.5
    return show(ax, image[crop], value_range_of(image), extent=extent)


def _strength(weights):
    """How strongly to draw each link, 0 to 1: the root of its weight, for weak ones to be seen."""
    return np.sqrt(weights / weights.max()) if len(weights) else weights


def _add_lines(ax, segments, strength, color, **options):
    """Draw links as lines, the stronger ones less transparent."""
    with uninterrupted():
        from matplotlib.collections import LineCollection

    alpha = np.clip(strength, 0.05, 1) if len(strength) else None
    lines = LineCollection(segments, colors=color, alpha=alpha, **options)
    return ax.add_collection(lines, autolim=False)
