"""The image graph as a data type: edges, parameters, and conversion to other libraries."""

from __future__ import annotations

import copy
import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, triu

from nnk_image.base.extras import requires_extra
from nnk_image.base.image import Array
from nnk_image.graph import laplacian
from nnk_image.graph.files import check_edges, read_graph, write_graph
from nnk_image.graph.pruning import EdgePlanes

if TYPE_CHECKING:
    import networkx
    import pygsp


@dataclass(frozen=True, eq=False, repr=False)
class ImageGraph:
    """Weighted graph whose nodes are the pixels of an image.

    Create it with `image_graph` or `bilateral_graph`, not by calling the class.

    Attributes
    ----------
    edges : EdgePlanes or scipy.sparse.csr_array
        The edges in internal form. Use `adjacency` instead.
    shape : tuple of int
        Shape of the image without channels: (H, W), or (D, H, W) for a volume.
    kind : {'nnk', 'bilateral'}
        Whether pixels are linked to all others in their windows, 'bilateral', or to a few, 'nnk'.
    window, sigma_d, sigma_f, directed
        As for `image_graph`, with the defaults filled in.
    valid : bool ndarray of `shape`, or None
        True for valid pixels; the others have no edges. None (default) means that all are valid.
    spacing : tuple of float or None
        Distance between neighboring pixels along each axis; None (default) means 1.
    """

    edges: EdgePlanes | csr_array
    shape: tuple[int, ...]
    kind: str
    window: int | tuple[int, ...]
    sigma_d: float
    sigma_f: float
    directed: bool = False
    valid: npt.NDArray[np.bool_] | None = None
    spacing: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        edges = self.edges
        if not isinstance(edges, EdgePlanes):
            check_edges(self)
        elif (edges.shape, edges.window) != (self.shape, self.window):
            raise ValueError(
                f"these edges are of an image of shape {edges.shape} and window {edges.window}, "
                f"not {self.shape} and {self.window}; build the graph anew"
            )
        elif edges.directed and not self.directed:
            raise ValueError("these edges are directed; build the graph anew with directed=False")

    @property
    def adjacency(self) -> csr_array:
        """Weights of the edges as an (N, N) scipy.sparse.csr_array, made when it is first used.

        Nodes are numbered in row-major order: the pixel at (row, column), ``image.ravel()[i]``, is
        node ``i = row * W + column``. The matrix is symmetric unless `directed`; it has sorted
        columns, no explicit zeros and no self loops. Rows of masked pixels are empty.

        The graph cannot be changed through this matrix: its arrays are read-only, and methods such
        as `setdiag` have no effect on the graph. To change it, or to pass it to a function that
        fails with "WRITEBACKIFCOPY base is read-only", use ``graph.adjacency.copy()``.
        """
        edges = self.edges.matrix if isinstance(self.edges, EdgePlanes) else self.edges
        matrix = copy.copy(edges)  # shares the arrays, which stay read-only
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.flags.writeable = False
        return matrix

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the weights, float32 or float64."""
        return self.edges.dtype

    @property
    def n_nodes(self) -> int:
        """Number of nodes: one per pixel, masked pixels included."""
        return math.prod(self.shape)

    @property
    def n_edges(self) -> int:
        """Number of edges; an undirected edge counts once, directed ones count separately."""
        return int(self.adjacency.nnz) // (1 if self.directed else 2)

    @cached_property
    def degrees(self) -> Array:
        """Sum of each pixel's row of `adjacency`: ndarray of the image's shape and `dtype`."""
        return laplacian.degrees(self.adjacency).reshape(self.shape)

    @property
    def neighbor_counts(self) -> Array:
        """Number of neighbors of each pixel: ndarray of the image's shape.

        It is of int32, for very large graphs of int64.
        """
        return np.diff(self.adjacency.indptr).reshape(self.shape)

    def laplacian(self, kind: str = "combinatorial") -> csr_array:
        """Return a Laplacian matrix of the graph.

        Parameters
        ----------
        kind : {'combinatorial', 'normalized', 'random_walk', 'regularized'}
            With weights W and the diagonal matrix D of the degrees (the sums of each row of W):
            'combinatorial' (default) is ``D - W``, 'normalized' ``I - D^-1/2 W D^-1/2``,
            'random_walk' ``I - D^-1 W`` and 'regularized' ``(D + tau I)^-1 (D - W)``, where tau,
            the mean degree of pixels with edges, keeps pixels of small degree from dominating. The
            row of a pixel without edges is zero in each.

        Returns
        -------
        (N, N) scipy.sparse.csr_array
            New matrix of the type of the weights, with the nodes of `adjacency`. Only
            'combinatorial' and 'normalized' are symmetric. ValueError if the graph is directed and
            not symmetric.
        """
        return laplacian.laplacian(adjacency_of(check_undirected(self)), kind)

    def to_pygsp(self) -> pygsp.graphs.Graph:
        """Convert to a `pygsp.graphs.Graph`, to use PyGSP's filters and plots.

        It gets a copy of `adjacency`. Its `coords` are (x, -y) of the pixels, (x, -y, z) for a
        volume, in the units of `positions`, so that plots are upright; none for four axes.
        """
        from pygsp.graphs import Graph

        places = self.positions()[:, ::-1] * ([1, -1, 1, 1][: len(self.shape)])
        coordinates = {"coords": places} if len(self.shape) < 4 else {}
        return Graph(self.adjacency.copy(), **coordinates)

    def positions(self) -> npt.NDArray[np.float64]:
        """Return the position of each pixel: (N, axes) ndarray of float64.

        Row i is that of node i of `adjacency`: (row, column), or (slice, row, column) for a volume;
        multiplied by `spacing` if that is given.
        """
        axes = len(self.shape)
        places = np.moveaxis(np.indices(self.shape, float), 0, -1).reshape(-1, axes)
        return places if self.spacing is None else places * self.spacing

    def to_edge_index(self) -> tuple[npt.NDArray[np.int64], Array]:
        """Return the edges as arrays in the layout of PyTorch Geometric.

        Returns
        -------
        edge_index : (2, E) int64 ndarray
            Start and end of each edge, numbered as in `adjacency` and sorted by the ends. Edges
            lead from a pixel's neighbors to the pixel, so that a layer that sums weighted messages
            multiplies by `adjacency`. An undirected edge is listed in both directions.
        edge_weight : (E,) ndarray of float32 or float64
            Weight of each edge, as a copy.

        Examples
        --------
        >>> import numpy as np, nnk_image
        >>> graph = nnk_image.bilateral_graph(np.zeros((1, 3)), window=3)
        >>> edge_index, edge_weight = graph.to_edge_index()
        >>> edge_index
        array([[1, 0, 2, 1],
               [0, 1, 1, 2]])

        In PyTorch Geometric: ``Data(edge_index=torch.from_numpy(edge_index), ...)``.
        """
        links = self.adjacency.tocoo()
        return np.stack([links.col, links.row]).astype(np.int64), links.data.copy()

    def to_networkx(self) -> networkx.Graph:
        """Convert to a ``networkx.Graph``, or a ``networkx.DiGraph`` if the graph is directed.

        Nodes are numbered as in `adjacency`; each edge has the attribute 'weight', a float. In a
        DiGraph, edges lead from a pixel to those it chose. ImportError if networkx is missing.
        """
        with requires_extra("to_networkx needs networkx", "networkx"):
            import networkx
        if self.directed:
            return networkx.from_scipy_sparse_array(self.adjacency, create_using=networkx.DiGraph)
        # Each edge once: twice as fast as the whole symmetric matrix.
        return networkx.from_scipy_sparse_array(triu(self.adjacency))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the graph in the ``.npz`` format, to be read by `load`.

        An existing file is replaced once the new one is complete; no suffix is added to the path.
        ValueError if the file cannot be written, or its name ends in ``.mat``.
        """
        write_graph(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ImageGraph:
        """Read a graph written by `save`, equal to it in edges, weights and attributes.

        Files of unknown origin are safe to read: no code in them is executed. FileNotFoundError if
        there is no such file, ValueError if it is damaged or holds no graph.
        """
        graph: ImageGraph = read_graph(path, cls)
        return graph

    def __repr__(self) -> str:
        per_node = self.adjacency.nnz / self.n_nodes
        edges = "directed edges" if self.directed else "edges"
        masked = "" if self.valid is None else f", {int((~self.valid).sum())} pixels masked"
        return (
            f"<ImageGraph {self.kind} {'x'.join(map(str, self.shape))}: {self.n_nodes} nodes, "
            f"{self.n_edges} {edges} ({per_node:.2f} neighbors per pixel), window={self.window}, "
            f"sigma_d={self.sigma_d:g}, sigma_f={self.sigma_f:g}, {self.dtype}{masked}>"
        )


CheckedGraph: TypeAlias = ImageGraph | csr_array  # what `check_undirected` returns


def check_undirected(graph: Any) -> CheckedGraph:
    """Return an undirected ImageGraph as it is, any other graph as `check_adjacency` does."""
    if not isinstance(graph, ImageGraph):
        return laplacian.check_adjacency(graph)
    if graph.directed:
        laplacian.check_symmetric(graph.adjacency)
    return graph


def n_nodes_of(graph: CheckedGraph) -> int:
    """Return the number of nodes of a graph that `check_undirected` returned."""
    return graph.n_nodes if isinstance(graph, ImageGraph) else int(graph.shape[0])


def adjacency_of(graph: CheckedGraph) -> csr_array:
    """Return the adjacency of a graph that `check_undirected` returned."""
    return graph.adjacency if isinstance(graph, ImageGraph) else graph
