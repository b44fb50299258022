"""NNK on any data: non-negative kernel regression neighbourhoods and graphs of points."""

from nnk_image.neighbors.blocks import NeighborhoodBlocks, row_block
from nnk_image.neighbors.graph import nnk_graph
from nnk_image.neighbors.graph_file import load_nnk_graph
from nnk_image.neighbors.kernel_ratio import kernel_ratio_test
from nnk_image.neighbors.neighborhoods import nnk_neighbors
from nnk_image.neighbors.result import Neighborhoods
from nnk_image.neighbors.scales import NNKScale, nnk_scales
from nnk_image.neighbors.subvectors import SubvectorNeighborhoods, subvector_neighbors
from nnk_image.neighbors.weights import nnk_weights

__all__ = [
    "NNKScale",
    "NeighborhoodBlocks",
    "Neighborhoods",
    "SubvectorNeighborhoods",
    "kernel_ratio_test",
    "load_nnk_graph",
    "nnk_graph",
    "nnk_neighbors",
    "nnk_scales",
    "nnk_weights",
    "row_block",
    "subvector_neighbors",
]
