"""NNK on any data: neighborhoods and graphs of points by non-negative kernel regression."""

from nnk_image.neighbors.neighborhoods import nnk_graph as nnk_graph
from nnk_image.neighbors.neighborhoods import nnk_neighbors as nnk_neighbors
from nnk_image.neighbors.result import Neighborhoods as Neighborhoods
from nnk_image.neighbors.weights import kernel_ratio_test
from nnk_image.neighbors.weights import nnk_weights as nnk_weights

__all__ = ["kernel_ratio_test"]
