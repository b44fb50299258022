"""Pictures with matplotlib (optional extra ``[plot]``).

Every function draws into the axes it is given, or into those of a new figure when it is
given none; returns what it drew, so that colours, widths or titles can be changed
afterwards; and never shows or closes anything.

>>> import nnk_image
>>> from nnk_image import plotting
>>> graph = nnk_image.image_graph(nnk_image.standard_image("camera"))
>>> figure = plotting.plot_degrees(graph).figure  # figure.savefig("degrees.png")
"""

import numpy as np

from nnk_image.base.imports import uninterrupted

COLORS = {"bilateral": "tab:blue", "nnk": "tab:red"}
"""The colour of each kind of graph in all pictures."""

MAX_LINKS = 100_000
"""Most links that `plot_graph` draws: more would be a solid block, and slow to draw."""


def new_figure(**options):
    """A new figure that is not registered with pyplot, so that nothing shows it by itself.

    Parameters
    ----------
    **options
        As for `matplotlib.figure.Figure`; the layout is constrained.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        matplotlib is missing.

    Examples
    --------
    >>> left, right = new_figure(figsize=(6, 3)).subplots(1, 2)
    """
    try:
        with uninterrupted():
            from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'nnk_image[plot]'") from None
    return Figure(layout="constrained", **options)


def _row_of_axes(axes, number, width=2.6, height=2.9, **options):
    """The given axes, or `number` new ones side by side."""
    if axes is not None:
        return np.ravel(axes)
    figure = new_figure(figsize=(width * number, height))
    return figure.subplots(1, number, squeeze=False, **options)[0]


# --- images -------------------------------------------------------------------------------


def plot_images(pictures, axes=None, value_range=None):
    """Images side by side with titles.

    Parameters
    ----------
    pictures : dict from title to (H, W) or (H, W, 3) ndarray
    axes : sequence of matplotlib.axes.Axes, optional
    value_range : (float, float), optional
        Values shown black and white; default: those of the first image.

    Returns
    -------
    list of matplotlib.image.AxesImage

    Examples
    --------
    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> len(plot_images({"image": image, "upside down": image[::-1]}))
    2
    """
    axes = _row_of_axes(axes, len(pictures))
    value_range = value_range or _value_range(next(iter(pictures.values())))
    return [
        _show(ax, picture, value_range, title)
        for (title, picture), ax in zip(pictures.items(), axes, strict=False)
    ]


def plot_before_after(before, after, axes=None, *, clean=None, value_range=None):
    """An image before and after denoising, and the error left in it.

    Parameters
    ----------
    before, after : (H, W) or (H, W, 3) array_like
    axes : sequence of 3 matplotlib.axes.Axes, optional
    clean : array_like, optional
        The image without noise: the third picture is then ``after - clean``, and titles
        give root mean square errors.  Without, it is what was taken away, ``before -
        after``, in which nothing of the image should be seen.
    value_range : (float, float), optional
        Values shown black and white; default: those of `clean` or `after`.

    Returns
    -------
    list of 3 matplotlib.image.AxesImage
        The third, averaged over channels, is red where values are too large (or were
        lowered) and saturates at 1.5 times the error before, or what was taken away.

    Raises
    ------
    ValueError
        The images have different shapes, or fewer than three axes are given.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> clean = nnk_image.standard_image("camera").astype(float)
    >>> noisy = clean + np.random.default_rng(0).normal(0, 25, clean.shape)
    >>> pictures = plot_before_after(noisy, nnk_image.denoise(noisy, 25), clean=clean)
    >>> pictures[0].axes.get_title()
    'before: error 25'
    """
    before, after = np.asarray(before, float), np.asarray(after, float)
    reference = after if clean is None else np.asarray(clean, float)
    if not before.shape == after.shape == reference.shape:
        shapes = " and ".join(str(picture.shape) for picture in (before, after, reference))
        raise ValueError(f"the images have shapes {shapes}; give images of the same scene")
    axes = _row_of_axes(axes, 3)
    if len(axes) < 3:
        raise ValueError(f"{len(axes)} axes given; before, after and error need 3")
    value_range = value_range or _value_range(reference)
    rms = [float(np.sqrt(np.mean((picture - reference) ** 2))) for picture in (before, after)]
    if clean is None:
        titles, error = ("before", "after", "taken away"), before - after
    else:
        titles = f"before: error {rms[0]:.3g}", f"after: error {rms[1]:.3g}", "error left"
        error = after - reference
    pictures = zip(axes[:2], (before, after), titles[:2], strict=True)
    shown = [_show(ax, picture, value_range, title) for ax, picture, title in pictures]
    if error.ndim == 3:
        error = error.mean(axis=2)
    top = 1.5 * rms[0] or 1.0
    return [*shown, _show(axes[2], error, (-top, top), titles[2], cmap="RdBu_r")]


def _value_range(image):
    """Smallest and largest value, which are shown black and white."""
    return float(np.min(image)), float(np.max(image))


def _show(ax, image, value_range, title=None, cmap="gray", **options):
    """Draw an image without ticks; colours are scaled to 0 to 1, as matplotlib needs them."""
    low, high = value_range
    if np.ndim(image) == 3:
        image = np.clip((np.asarray(image, float) - low) / ((high - low) or 1), 0, 1)
    else:
        options |= {"cmap": cmap, "vmin": low, "vmax": high}
    artist = ax.imshow(image, interpolation="nearest", **options)
    if title is not None:
        ax.set_title(title, fontsize=9)
    ax.set_axis_off()
    return artist


# --- graphs -------------------------------------------------------------------------------


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
    ax = _row_of_axes(ax, 1, 4, 4.2)[0]
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
    ax = _row_of_axes(ax, 1, 5, 5.2)[0]
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
    ax = _row_of_axes(ax, 1, 4.6, 4)[0]
    title = f"{graph.kind}: {'neighbours' if count else 'degree'} of each pixel"
    artist = _show(ax, values, (0, top), title, cmap="magma")
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
    return _show(ax, image[crop], _value_range(image), extent=extent)


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


# --- wavelets -----------------------------------------------------------------------------


def plot_filter_bank(wavelets, ax=None):
    """The filters of a transform over the eigenvalues.

    Parameters
    ----------
    wavelets : SpectralGraphWavelets
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    list of matplotlib.lines.Line2D
        Each band's polynomial, as it is applied, from the lowest; then the functions they
        stand for, dotted.  The axis is one of frequencies, roots of eigenvalues.

    Examples
    --------
    >>> import nnk_image
    >>> graph = nnk_image.image_graph(nnk_image.standard_image("camera"))
    >>> wavelets = nnk_image.SpectralGraphWavelets(graph)
    >>> len(plot_filter_bank(wavelets)) == 2 * wavelets.n_bands
    True
    """
    ax = _row_of_axes(ax, 1, 6, 3.2)[0]
    # Eigenvalues are squared frequencies: evenly spaced roots give low bands room enough.
    eigenvalues = wavelets.bound * np.linspace(0, 1, 1001) ** 2
    lines = [
        ax.plot(eigenvalues, values, color=f"C{band % 10}", label=f"{band + 1}")[0]
        for band, values in enumerate(wavelets.evaluate(eigenvalues))
    ]
    designed = wavelets.bank.evaluate(eigenvalues)
    lines += [ax.plot(eigenvalues, v, ":", color="black", linewidth=0.8)[0] for v in designed]
    ax.set_title(f"{wavelets.bank.name}, order {wavelets.order}", fontsize=9)
    ax.set_xscale("function", functions=(np.sqrt, np.square))
    ax.set(xlabel="eigenvalue", xlim=(0, wavelets.bound))
    ax.legend(title="band", fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return lines


def plot_bands(coefficients, axes=None, *, limits=None):
    """The bands of a transform as images, with their variances.

    Parameters
    ----------
    coefficients : (n_bands, H, W) array_like
        As from `SpectralGraphWavelets.analyze`.
    axes : sequence of matplotlib.axes.Axes, optional
    limits : sequence of float, optional
        Per band, the absolute value at which colours saturate: those of another graph's
        bands make both comparable.  Default: the 99th percentile of each band.

    Returns
    -------
    list of matplotlib.image.AxesImage
        The lowest band in grey, the others blue below and red above zero.

    Raises
    ------
    ValueError
        The coefficients are not those of one grey image.

    Examples
    --------
    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera") / 255
    >>> wavelets = nnk_image.SpectralGraphWavelets(nnk_image.image_graph(image))
    >>> len(plot_bands(wavelets.analyze(image - image.mean())))
    7
    """
    coefficients = np.asarray(coefficients)
    if coefficients.ndim != 3:
        raise ValueError(
            f"coefficients have shape {coefficients.shape}; give those of one channel, "
            "(n_bands, H, W)"
        )
    axes = _row_of_axes(axes, len(coefficients), 2)
    if limits is None:
        limits = np.percentile(abs(coefficients), 99, axis=(1, 2))
    shown = []
    for number, (ax, band, top) in enumerate(zip(axes, coefficients, limits, strict=False)):
        if number:
            ranged, cmap = (-top, top), "RdBu_r"
        else:
            ranged, cmap = _value_range(band), "gray"
        title = f"band {number + 1}\nvariance {band.var(dtype=float):.2g}"
        shown.append(_show(ax, band, ranged, title, cmap))
    return shown


def plot_compaction(results, axes=None):
    """Energy left above each band, one axes per Chebyshev order; means over images.

    Parameters
    ----------
    results : sequence of EnergyCompaction
        Of the same orders and graphs.
    axes : sequence of matplotlib.axes.Axes, optional
        One per order.

    Returns
    -------
    list of matplotlib.lines.Line2D

    Examples
    --------
    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> lines = plot_compaction([nnk_image.energy_compaction(image, orders=[6, 15])])
    >>> [line.get_label() for line in lines]
    ['bilateral', 'nnk', 'bilateral', 'nnk']
    """
    first = results[0]
    axes = _row_of_axes(axes, len(first.graphs[0].orders), 3, 3.2, sharey=True)
    lines = []
    for i, ax in zip(range(len(first.graphs[0].orders)), axes, strict=False):
        for graph in first.graphs:
            shares = np.array([r[graph.kind].orders[i].cumulative_normalized for r in results])
            # What is left, on a log scale: the curves differ where shares are close to 1.
            left = np.maximum(1 - shares[:, :-1].mean(axis=0), 1e-16)
            style = {"color": COLORS.get(graph.kind), "marker": "o", "label": graph.kind}
            lines += ax.semilogy(np.arange(1, len(left) + 1), left, **style)
        ax.set(title=f"order {first.graphs[0].orders[i].order}", xlabel="bands 1 to b")
    axes[0].set_ylabel("share of the energy above band b")
    axes[0].legend()
    return lines


# --- noise --------------------------------------------------------------------------------


def plot_noise(model, axes=None, *, value_range=(0, 255)):
    """How strong noise is at each brightness, and how neighbours share it.

    Parameters
    ----------
    model : NoiseModel
    axes : sequence of two matplotlib.axes.Axes, optional
    value_range : (float, float)
        Intensities to draw the noise for, in the image's units.

    Returns
    -------
    list of matplotlib.artist.Artist
        On the left a line for each channel, the standard deviation by intensity; then, on the
        right, the power spectrum, or the map of levels if the model has one.

    Examples
    --------
    >>> import nnk_image
    >>> line, spectrum = plot_noise(nnk_image.NoiseModel(3.0, gain=0.5))
    >>> spectrum.axes.get_title()
    'power by frequency (0 in the middle)'
    """
    curve, field = _row_of_axes(axes, 2, 4, 3.4)
    lines = _draw_curve(curve, model, value_range)
    if model.levels is not None:
        shown = field.imshow(model.levels, cmap="magma")
        field.set_title("standard deviation of each pixel", fontsize=9)
    else:
        extent = (-0.5, 0.5, 0.5, -0.5)
        shown = field.imshow(_spectrum(model), cmap="magma", vmin=0, extent=extent)
        field.set_title("power by frequency (0 in the middle)", fontsize=9)
    field.figure.colorbar(shown, ax=field)
    return [*lines, shown]


def _draw_curve(axes, model, value_range):
    intensity = np.linspace(*value_range, 200)
    n = max(len(model.sigma), len(model.gain), len(model.offset))
    names = ("red", "green", "blue") if n == 3 else [f"channel {c}" for c in range(n)]
    numbers = (model.of_channels(name, n) for name in ("sigma", "gain", "offset"))
    lines = []
    for c, (sigma, gain, offset) in enumerate(zip(*numbers, strict=True)):
        factor = 1 if model.curve is None else np.interp(intensity, *model.curve)
        variance = (sigma * factor) ** 2 + gain * np.maximum(intensity - offset, 0)
        style = {"color": names[c] if n == 3 else None, "label": names[c]}
        lines += axes.plot(intensity, np.sqrt(variance), **style)
    if n > 1:
        axes.legend(fontsize=8)
    axes.set(ylim=(0, None), xlabel="intensity")
    axes.set_title("standard deviation of the noise", fontsize=9)
    return lines


def _spectrum(model, size=65):
    """Power of the noise by frequency over that of white noise, the mean of the channels."""
    own = model.mean_correlation()
    if own is None:
        return np.ones((size, size))
    size = max(size, *own.shape) | 1
    around = np.zeros((size, size))
    y, x = (slice((size - n) // 2, (size + n) // 2) for n in own.shape)
    around[y, x] = own
    return np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(around)).real.clip(0))
