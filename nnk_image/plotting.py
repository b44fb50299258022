"""Pictures with matplotlib (optional extra ``[plot]``): each takes axes, none calls show."""

import numpy as np

COLORS = {"bilateral": "tab:blue", "nnk": "tab:red"}


def new_figure(**options):
    """A figure of its own, never shown and never registered with pyplot.

    Parameters
    ----------
    **options
        Of `matplotlib.figure.Figure`: ``figsize`` and the like.

    Returns
    -------
    matplotlib.figure.Figure
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'nnk_image[plot]'") from None
    return Figure(layout="constrained", **options)


def plot_compaction(results, axes):
    """Energy left above each band, one axes per Chebyshev order; means over images.

    Parameters
    ----------
    results : sequence of EnergyCompaction
        Of the same orders and graphs.
    axes : sequence of matplotlib.axes.Axes
        At least as many as orders.

    Returns
    -------
    list of matplotlib.lines.Line2D
    """
    lines = []
    for i, ax in zip(range(len(results[0].graphs[0].orders)), axes, strict=False):
        for graph in results[0].graphs:
            shares = np.array([r[graph.kind].orders[i].cumulative_normalized for r in results])
            # What is left, on a log scale: the curves differ where shares are close to 1.
            left = np.maximum(1 - shares[:, :-1].mean(axis=0), 1e-16)
            style = {"color": COLORS.get(graph.kind), "marker": "o", "label": graph.kind}
            lines += ax.semilogy(np.arange(1, len(left) + 1), left, **style)
        ax.set(title=f"order {results[0].graphs[0].orders[i].order}", xlabel="bands 1 to b")
    axes[0].set_ylabel("share of the energy above band b")
    axes[0].legend()
    return lines


def plot_images(pictures, axes, value_range=None):
    """Images side by side with titles.

    Parameters
    ----------
    pictures : dict from title to (H, W) or (H, W, 3) ndarray
    axes : sequence of matplotlib.axes.Axes
    value_range : (float, float), optional
        Values shown black and white; default: those of the first image.

    Returns
    -------
    list of matplotlib.image.AxesImage
    """
    first = next(iter(pictures.values()))
    low, high = value_range or (float(np.min(first)), float(np.max(first)))
    artists = []
    for (title, picture), ax in zip(pictures.items(), axes, strict=False):
        if np.ndim(picture) == 3:
            picture = np.clip((picture - low) / ((high - low) or 1), 0, 1)
            artists.append(ax.imshow(picture, interpolation="nearest"))
        else:
            artists.append(
                ax.imshow(picture, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
            )
        ax.set_title(title, fontsize=9)
        ax.set_axis_off()
    return artists
