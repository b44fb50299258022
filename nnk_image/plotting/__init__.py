"""Pictures of graphs, wavelets, noise and images with matplotlib (optional extra ``[plot]``).

Each function draws into the axes that are given, otherwise into pyplot's current axes, or a new
figure if it needs several; it returns these axes, and shows nothing.

>>> import nnk_image
>>> graph = nnk_image.image_graph(nnk_image.standard_image("camera"))
>>> ax = nnk_image.plotting.plot_degrees(graph)  # ax.figure.savefig("degrees.png")
"""

from nnk_image.plotting.graphs import plot_degrees, plot_graph, plot_neighbors
from nnk_image.plotting.images import plot_comparison
from nnk_image.plotting.noise import plot_noise
from nnk_image.plotting.wavelets import plot_bands, plot_compaction

__all__ = [
    "plot_bands",
    "plot_compaction",
    "plot_comparison",
    "plot_degrees",
    "plot_graph",
    "plot_neighbors",
    "plot_noise",
]
