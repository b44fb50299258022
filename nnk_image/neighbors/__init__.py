"""NNK on any data: non-negative kernel regression neighbourhoods and graphs of points."""

from nnk_image.neighbors.graph import nnk_graph
from nnk_image.neighbors.neighborhoods import nnk_neighbors
from nnk_image.neighbors.result import Neighborhoods
from nnk_image.neighbors.weights import nnk_weights

__all__ = ["Neighborhoods", "nnk_graph", "nnk_neighbors", "nnk_weights"]
