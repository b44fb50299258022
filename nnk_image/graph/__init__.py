"""Graphs whose nodes are the pixels of an image: pruned, weighed, assembled, kept in files."""

from nnk_image.graph.agreement import WindowAgreement, window_agreement
from nnk_image.graph.build import bilateral_graph, image_graph
from nnk_image.graph.grid import grid_graph
from nnk_image.graph.pixel_graph import ImageGraph

__all__ = [
    "ImageGraph",
    "WindowAgreement",
    "bilateral_graph",
    "grid_graph",
    "image_graph",
    "window_agreement",
]
