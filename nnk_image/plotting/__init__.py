"""Pictures with matplotlib (optional extra ``[plot]``).

Every function draws into the axes it is given, or into those of a new figure when it is
given none; returns what it drew, so that colours, widths or titles can be changed
afterwards; and never shows or closes anything.

>>> import nnk_image
>>> from nnk_image import plotting
>>> graph = nnk_image.image_graph(nnk_image.standard_image("camera"))
>>> figure = plotting.plot_degrees(graph).figure  # figure.savefig("degrees.png")
"""

from importlib import import_module

from nnk_image.base.imports import uninterrupted as _uninterrupted
from nnk_image.plotting.figures import COLORS, new_figure
from nnk_image.plotting.graphs import MAX_LINKS, plot_degrees, plot_graph, plot_neighbours
from nnk_image.plotting.images import plot_before_after, plot_images
from nnk_image.plotting.noise import plot_noise
from nnk_image.plotting.wavelets import plot_bands, plot_compaction, plot_filter_bank

_OF_POINTS = ("plot_explanation", "plot_kernel_ratio", "plot_scales")
"""Pictures of general data, whose module is imported when first used: it takes long to load."""

__all__ = [
    "COLORS",
    "MAX_LINKS",
    "new_figure",
    "plot_bands",
    "plot_before_after",
    "plot_compaction",
    "plot_degrees",
    "plot_explanation",
    "plot_filter_bank",
    "plot_graph",
    "plot_images",
    "plot_kernel_ratio",
    "plot_neighbours",
    "plot_noise",
    "plot_scales",
]


def __getattr__(name):
    if name not in _OF_POINTS:
        raise AttributeError(f"module 'nnk_image.plotting' has no attribute {name!r}")
    with _uninterrupted():
        value = getattr(import_module("nnk_image.plotting.points"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_OF_POINTS})
