"""Shared by all plots: axes to draw into, colors, and images without ticks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.extras import requires_extra
from nnk_image.base.image import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

COLORS = {"bilateral": "tab:blue", "nnk": "tab:red", "dct": "tab:gray", "klt": "tab:green"}
"""The color of each kind of graph and of each block transform, in all plots."""


def new_figure(**options: Any) -> Figure:
    """Return a new figure that is independent of pyplot, for programs that save plots."""
    with requires_extra("plots need matplotlib", "plot"):
        from matplotlib.figure import Figure
    return Figure(layout="constrained", **options)


def _pyplot() -> Any:
    with requires_extra("plots need matplotlib", "plot"):
        import matplotlib.pyplot as plt
    return plt


def one_axes(ax: Axes | None) -> Axes:
    """Return the given axes, or pyplot's current ones."""
    return _pyplot().gca() if ax is None else ax


def row_of_axes(axes: Any, number: int, width: float, height: float, **options: Any) -> list[Axes]:
    """Return `number` axes: the first of those given, or new ones side by side."""
    if axes is None:
        figure = _pyplot().figure(figsize=(width * number, height), layout="constrained")
        axes = figure.subplots(1, number, squeeze=False, **options)
    row = list(np.ravel(axes))
    if len(row) < number:
        raise ValueError(f"{number} axes are needed, got {len(row)}")
    return row[:number]


def value_range_of(image: npt.ArrayLike) -> tuple[float, float]:
    """Return the smallest and the largest finite value; 0 and 1 if there is none."""
    values = np.ma.masked_invalid(image).compressed()
    return (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)


def finite(values: Array) -> Array:
    """Return the values in float32 or more, NaN where they are not finite."""
    return np.where(np.isfinite(values), values, np.float32(np.nan))


def of_finite(function: Callable[[Array], Any], values: Array) -> float:
    """Return a statistic of the finite values; NaN if there is none."""
    known = values[np.isfinite(values)]
    return float(function(known)) if known.size else float("nan")


def show(
    ax: Axes,
    image: npt.ArrayLike,
    value_range: tuple[float, float],
    title: str | None = None,
    cmap: str = "gray",
    **options: Any,
) -> AxesImage:
    """Draw an image without ticks; color images are scaled to 0 to 1, as matplotlib needs them."""
    (low, high), shape = value_range, np.shape(image)
    if len(shape) != 2 and (len(shape) != 3 or shape[2] not in (3, 4)):
        raise ValueError(
            f"images to draw have shape (H, W), or (H, W, 3) in color, not {shape}; "
            "draw one slice or channel"
        )
    if len(shape) == 3:
        image = finite(np.asarray(image, float))
        image = np.clip((image - low) / ((high - low) or 1), 0, 1)
    else:
        options |= {"cmap": cmap, "vmin": low, "vmax": high}
    artist = ax.imshow(image, interpolation="nearest", **options)
    if title is not None:
        ax.set_title(title, fontsize="medium")
    ax.set_axis_off()
    return artist
