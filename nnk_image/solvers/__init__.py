"""Signals restored on a graph: quadratic smoothing, total variation, piecewise planar signals.

Each function takes an `ImageGraph` or any sparse adjacency and a noisy or incomplete signal, and
minimizes closeness to the signal plus a measure of how much it varies on the graph.
"""

from nnk_image.solvers.planar import gglr
from nnk_image.solvers.problem import SolverInfo
from nnk_image.solvers.quadratic import smooth
from nnk_image.solvers.torch_graph import TorchGraph
from nnk_image.solvers.variation import total_variation

__all__ = ["SolverInfo", "TorchGraph", "gglr", "smooth", "total_variation"]
