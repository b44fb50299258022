"""The image graph as a data type: its edges, what it was made with, how to hand it on."""

from __future__ import annotations

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
from nnk_image.graph.summary import card

if TYPE_CHECKING:
    import networkx
    import pygsp


@dataclass(frozen=True, eq=False, repr=False)
class ImageGraph:
    """Graph whose nodes are the pixels of an image; `image_graph` makes it.

    Attributes
    ----------
    edges : EdgePlanes or StoredEdges
        The edges as planes of bits, from which wavelets are computed directly; or as a matrix,
        where the graph was read from a file or has exact NNK weights.
    shape : tuple of int
        (H, W) of the image, (D, H, W) of a volume.
    kind : {'nnk', 'bilateral'}
        The full graph of the window is 'bilateral'.
    window : int or tuple of int
        Side of the window in pixels, or one per axis.
    sigma_d, sigma_f : float
        Kernel widths: in pixels or units of `spacing`, and in the image's own units.
    directed : bool
        True where edges are kept as Algorithm 4 chose them for each pixel.
    valid : (H, W) bool ndarray or None
        Pixels that take part; None means all.
    spacing : tuple of float or None
        Distance of neighboring pixels along each axis; None means 1.

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
        """(N, N) scipy.sparse.csr_array of the weights, made when it is first used.

        N = H W, node = row * W + column, and in the same manner for more axes.  Columns are sorted;
        there are no explicit zeros and no self loops; symmetric unless `directed`.  The weights are
        read-only: copy the matrix to change them.
        """
        return self._stored.adjacency

    @property
    def n_underflow(self) -> int:
        """Edges left out because their weight is below the smallest normal number of its type."""
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
        """Numbers and positions of the pixels, as a `PixelGrid`."""
        return PixelGrid(self.shape)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, one per pixel."""
        return self.grid.size

    @property
    def n_edges(self) -> int:
        """Number of edges; an undirected edge counts once."""
        n_stored = int(self.adjacency.nnz)
        return n_stored if self.directed else n_stored // 2

    @cached_property
    def degrees(self) -> npt.NDArray[Any]:
        """(H, W) ndarray: sum of the weights of each pixel's edges."""
        return laplacian.degrees(self.adjacency).reshape(self.shape)

    @property
    def neighbor_counts(self) -> npt.NDArray[Any]:
        """(H, W) integer ndarray: number of neighbors of each pixel."""
        return np.diff(self.adjacency.indptr).reshape(self.shape)

    def laplacian(self, kind: str = "combinatorial") -> csr_array:
        """Return a Laplacian matrix of the graph.

        Parameters
        ----------
        kind : {'combinatorial', 'normalized', 'random_walk', 'regularized'}
            ``D - W``, ``I - D^-1/2 W D^-1/2``, ``I - D^-1 W``, or ``(D + tau I)^-1
            (D - W)`` with tau the mean degree of the pixels that have edges, as in
            regularized spectral clustering.  A pixel without edges has a row of
            zeros in each.

        Returns
        -------
        (N, N) scipy.sparse.csr_array

        Raises
        ------
        ValueError
            Unknown kind, or the graph is directed.
        """
        return laplacian.laplacian(self.adjacency, kind)

    def to_pygsp(self) -> pygsp.graphs.Graph:
        """Convert to a `pygsp.graphs.Graph` with pixel positions as coordinates (x, -y).

        Those of a volume are (x, -y, z); beyond three axes there are none.
        """
        from pygsp.graphs import Graph

        places = self.positions()[:, ::-1] * ([1, -1, 1, 1][: len(self.shape)])
        coordinates = {"coords": places} if len(self.shape) < 4 else {}
        return Graph(self.adjacency.copy(), **coordinates)

    def positions(self) -> npt.NDArray[np.float64]:
        """(N, axes) float ndarray: positions of the pixels, in units of `spacing`."""
        places = self.grid.positions().astype(float)
        return places if self.spacing is None else places * self.spacing

    def to_edge_index(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """Return the edges in the layout of PyTorch Geometric, which need not be installed.

        Returns
        -------
        edge_index : (2, E) int64 ndarray
            Where edges start, and where they end.  A pixel's edges come from its neighbors, so
            that a layer which adds up weighted messages multiplies by `adjacency`.  They are sorted
            by their ends; an undirected edge is there both ways.
        edge_weight : (E,) float ndarray
            A copy of their weights.

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
        """Write the graph to an ``.npz`` file, atomically.

        Parameters
        ----------
        path : path-like
            File to write; a file of that name is replaced once the new one is complete.

        Raises
        ------
        ValueError
            The name ends in ``.mat``; the message says how to write such a file.
        """
        write_graph(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ImageGraph:
        """Read a graph written by `save`; nothing in the file is executed.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        ValueError
            The file is no such graph or is damaged.
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

    def _repr_html_(self) -> str:
        """Return a card with figures and degrees, as notebooks show it."""
        return card(self)
