"""Figures and axes, and images drawn into them: what all pictures share."""

import numpy as np

from nnk_image.base.imports import uninterrupted

COLORS = {"bilateral": "tab:blue", "nnk": "tab:red"}
"""The colour of each kind of graph in all pictures."""


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


def row_of_axes(axes, number, width=2.6, height=2.9, **options):
    """The given axes, or `number` new ones side by side."""
    if axes is not None:
        return np.ravel(axes)
    figure = new_figure(figsize=(width * number, height))
    return figure.subplots(1, number, squeeze=False, **options)[0]


def value_range_of(image):
    """Smallest and largest value, which are shown black and white."""
    return float(np.min(image)), float(np.max(image))


def show(ax, image, value_range, title=None, cmap="gray", **options):
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
