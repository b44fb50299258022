"""Graphs whose nodes are the pixels of an image: chosen, weighted, saved."""

from nnk_image.graph.build import grid_graph

__all__ = ["grid_graph"]
