"""The image graph as a data type: its edges, what it was made with, how to hand it on."""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from nnk_image.base.edges import edges_of
from nnk_image.base.geometry import PixelGrid
from nnk_image.graph import laplacian
from nnk_image.graph.files import read_graph, write_graph
from nnk_image.graph.planes import EdgePlanes, StoredEdges

if TYPE_CHECKING:
    import networkx
    import pygsp


@dataclass(frozen=True, eq=False, repr=False)
class ImageGraph:
    """Weighted graph whose nodes are the pixels of an image.

    Create it with `image_graph` or `bilateral_graph`, not by calling the class.

    Attributes
    ----------
    edges : EdgePlanes or StoredEdges
        The edges in internal form. Use `adjacency` instead.
    shape : tuple of int
        (H, W) of the image, (D, H, W) of a volume.
    kind : {'nnk', 'bilateral'}
        'bilateral': each pixel is linked to all others in its window. 'nnk': only to a few of them.
    window : int or tuple of int
        Side of the window in pixels, or one per axis.
    sigma_d, sigma_f : float
        Widths of the kernel that gives the weights: in space, in pixels or the units of `spacing`;
        and in intensity, in the image's own units.
    directed : bool
        True if row i of the adjacency has only the neighbors that pixel i chose itself. False
        (default) if two pixels are linked as soon as one of them chose the other.
    valid : (H, W) bool ndarray or None
        True for valid pixels; None means all.
    spacing : tuple of float or None
        Distance between neighboring pixels along each axis; None means 1.

    Examples
    --------
    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> graph = nnk_image.image_graph(image)
    >>> graph.degrees.shape
    (256, 256)
    """

    edges: EdgePlanes | StoredEdges
    shape: tuple[int, ...]
    kind: str
    window: int | tuple[int, ...]
    sigma_d: float
    sigma_f: float
    directed: bool = False
    valid: npt.NDArray[np.bool_] | None = None
    spacing: tuple[float, ...] | None = None

    @property
    def adjacency(self) -> csr_array:
        """Weights of the edges as an (N, N) scipy.sparse.csr_array, made when it is first used.

        There are N = H W nodes; the pixel at (row, column) is node ``row * W + column``. The matrix
        is symmetric unless `directed`; it has sorted columns, no explicit zeros and no self loops.
        It is read-only: copy it to change weights.
        """
        matrix = copy.copy(self._stored.adjacency)  # shares the arrays, but may not change them
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.flags.writeable = False
        return matrix

    @property
    def n_underflow(self) -> int:
        """Number of edges left out because their weight is so small that it would underflow."""
        return self._stored.n_underflow

    @property
    def _stored(self) -> StoredEdges:
        return self.edges.stored if isinstance(self.edges, EdgePlanes) else self.edges

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the weights, float32 or float64."""
        return self.edges.dtype

    @property
    def grid(self) -> PixelGrid:
        """Numbering of the pixels: which node is which pixel, as a `PixelGrid`."""
        return PixelGrid(self.shape)

    @property
    def n_nodes(self) -> int:
        """Number of nodes: one per pixel, masked pixels included."""
        return self.grid.size

    @property
    def n_edges(self) -> int:
        """Number of edges; an undirected edge counts once."""
        n_stored = int(self.adjacency.nnz)
        return n_stored if self.directed else n_stored // 2

    @cached_property
    def degrees(self) -> npt.NDArray[Any]:
        """Sum of the weights of the edges of each pixel, (H, W) ndarray."""
        return laplacian.degrees(self.adjacency).reshape(self.shape)

    @property
    def neighbor_counts(self) -> npt.NDArray[Any]:
        """Number of neighbors of each pixel, (H, W) ndarray of integers."""
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

        Raises
        ------
        ValueError
            If the kind is unknown or the graph is directed.
        """
        return laplacian.laplacian(self.adjacency, kind)

    def to_pygsp(self) -> pygsp.graphs.Graph:
        """Convert to a `pygsp.graphs.Graph`, to use PyGSP's filters and plots.

        Coordinates are (x, -y) of the pixels, (x, -y, z) of those of a volume, so that plots are
        upright; a graph with more axes has no coordinates.
        """
        from pygsp.graphs import Graph

        places = self.positions()[:, ::-1] * ([1, -1, 1, 1][: len(self.shape)])
        coordinates = {"coords": places} if len(self.shape) < 4 else {}
        return Graph(self.adjacency.copy(), **coordinates)

    def positions(self) -> npt.NDArray[np.float64]:
        """Return the position of each pixel along each axis, (N, axes) float ndarray.

        Positions are in the units of `spacing`, in pixels without it."""
        places = self.grid.positions().astype(float)
        return places if self.spacing is None else places * self.spacing

    def to_edge_index(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """Return the edges as arrays in the layout of PyTorch Geometric.

        PyTorch Geometric need not be installed.

        Returns
        -------
        edge_index : (2, E) int64 ndarray
            Row 0 holds the node where each edge starts, row 1 the node where it ends.  Edges lead
            from a pixel's neighbors to the pixel, so that a layer that sums weighted messages
            multiplies by `adjacency`.  An undirected edge is listed in both directions; edges are
            sorted by their ends.
        edge_weight : (E,) float ndarray
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
        return edges_of(self.adjacency)

    def to_networkx(self) -> networkx.Graph:
        """Convert to a networkx graph with nodes 0 .. N-1 and edge attribute 'weight'."""
        try:
            import networkx
        except ImportError:
            raise ImportError(
                "to_networkx needs networkx: pip install 'nnk_image[networkx]'"
            ) from None
        create_using = networkx.DiGraph if self.directed else networkx.Graph
        return networkx.from_scipy_sparse_array(self.adjacency, create_using=create_using)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the graph in the ``.npz`` format, to be read by `load`.

        Parameters
        ----------
        path : path-like
            File to write, under exactly this name; an existing file is replaced once the new one
            is complete.

        Raises
        ------
        ValueError
            If the name ends in ``.mat``; the message says how to write a MATLAB file.
        """
        write_graph(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ImageGraph:
        """Read a graph written by `save`.

        No code in the file is executed, so files of unknown origin are safe to read.

        Parameters
        ----------
        path : path-like
            File to read.

        Raises
        ------
        ValueError
            If the file is damaged or holds no graph.
        """
        return cls(**read_graph(path))

    def __repr__(self) -> str:
        per_node = self.adjacency.nnz / self.n_nodes
        edges = "directed edges" if self.directed else "edges"
        masked = "" if self.valid is None else f", {int((~self.valid).sum())} pixels masked"
        return (
            f"<ImageGraph {self.kind} {'x'.join(map(str, self.shape))}: {self.n_nodes} nodes, "
            f"{self.n_edges} {edges} ({per_node:.2f} neighbors per pixel), window={self.window}, "
            f"sigma_d={self.sigma_d:g}, sigma_f={self.sigma_f:g}, {self.dtype}{masked}>"
        )


def check_undirected(graph: Any) -> ImageGraph | csr_array:
    """Return an undirected ImageGraph as it is, any other graph as `check_adjacency` does."""
    if not isinstance(graph, ImageGraph):
        return laplacian.check_adjacency(graph)
    if graph.directed:
        laplacian.check_symmetric(graph.adjacency)
    return graph
