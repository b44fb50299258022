"""The image graph as a data type: its adjacency, what it was made with, how to hand it on."""

from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from nnk_image.base.atomic import atomic_output
from nnk_image.base.edges import edges_of
from nnk_image.base.geometry import PixelGrid
from nnk_image.base.imports import uninterrupted
from nnk_image.graph import laplacian
from nnk_image.graph.npz import FORMAT, load_graph
from nnk_image.graph.summary import card


@dataclass(frozen=True, eq=False, repr=False)
class ImageGraph:
    """A graph whose nodes are the pixels of an image.

    Attributes
    ----------
    adjacency : (N, N) scipy.sparse.csr_array
        Kernel weights; N = H W, node = row * W + column, and in the same manner for more axes.
        Sorted columns, no explicit zeros, no self loops; symmetric unless `directed`.
    shape : tuple of int
        (H, W) of the image, (D, H, W) of a volume.
    kind : str
        'nnk' or 'bilateral'.
    window : int or tuple of int
        Side of the window, in pixels; or one per axis.
    sigma_d, sigma_f : float
        Kernel widths: pixels or units of `spacing`, and the image's own units.
    directed : bool
        True where edges are kept as Algorithm 4 chose them per pixel.
    valid : (H, W) bool ndarray or None
        Pixels that are nodes with edges; None means all.
    n_underflow : int
        Edges left out because their weight was below the smallest normal number of
        its type.
    spacing : tuple of float or None
        Distance of pixels along each axis; None means 1.

    Examples
    --------
    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> graph = nnk_image.image_graph(image)
    >>> graph.degrees.shape
    (256, 256)
    """

    adjacency: csr_array
    shape: tuple[int, ...]
    kind: str
    window: int | tuple[int, ...]
    sigma_d: float
    sigma_f: float
    directed: bool = False
    valid: np.ndarray | None = field(default=None)
    n_underflow: int = 0
    spacing: tuple[float, ...] | None = None

    @property
    def grid(self):
        """Numbers and positions of the pixels, as a `PixelGrid`."""
        return PixelGrid(self.shape)

    @property
    def n_nodes(self):
        """Number of nodes, one per pixel."""
        return self.grid.size

    @property
    def n_edges(self):
        """Number of edges; an undirected edge counts once."""
        return self.adjacency.nnz if self.directed else self.adjacency.nnz // 2

    @cached_property
    def degrees(self):
        """(H, W) ndarray: sum of the weights of each pixel's edges."""
        return laplacian.degrees(self.adjacency).reshape(self.shape)

    @property
    def neighbour_counts(self):
        """(H, W) integer ndarray: number of each pixel's neighbours."""
        return np.diff(self.adjacency.indptr).reshape(self.shape)

    def laplacian(self, kind="combinatorial"):
        """Laplacian matrix of the graph.

        Parameters
        ----------
        kind : {'combinatorial', 'normalized', 'random_walk', 'regularized'}
            ``D - W``, ``I - D^-1/2 W D^-1/2``, ``I - D^-1 W``, or ``(D + tau I)^-1
            (D - W)`` with tau the mean degree of the pixels that have edges, as in
            regularised spectral clustering.  A pixel without edges has a row of
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

    def to_pygsp(self):
        """The graph as a `pygsp.graphs.Graph`, with pixel positions as coordinates (x, -y).

        Those of a volume are (x, -y, z); beyond three axes there are none.
        """
        with uninterrupted():
            from pygsp.graphs import Graph

        places = self.positions()[:, ::-1] * ([1, -1, 1, 1][: len(self.shape)])
        coordinates = {"coords": places} if len(self.shape) < 4 else {}
        return Graph(self.adjacency.copy(), **coordinates)

    def positions(self):
        """(N, axes) float ndarray: where the pixels are, in units of `spacing`."""
        places = self.grid.positions().astype(float)
        return places if self.spacing is None else places * self.spacing

    def to_edge_index(self):
        """The edges as arrays in the layout of PyTorch Geometric, which need not be installed.

        Returns
        -------
        edge_index : (2, E) int64 ndarray
            Where edges start, and where they end.  A pixel's edges come from its neighbours, so
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

    def to_networkx(self):
        """The graph as a networkx graph with nodes 0 .. N-1 and edge attribute 'weight'."""
        try:
            with uninterrupted():
                import networkx
        except ImportError:
            raise ImportError(
                "to_networkx needs networkx: pip install 'nnk_image[networkx]'"
            ) from None
        create_using = networkx.DiGraph if self.directed else networkx.Graph
        return networkx.from_scipy_sparse_array(self.adjacency, create_using=create_using)

    def save(self, path):
        """Write the graph to an ``.npz`` file, atomically.

        Parameters
        ----------
        path : path-like
            File to write; a file of that name is replaced once the new one is complete.
        """
        parts = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "adjacency"}
        parts = {name: part for name, part in parts.items() if part is not None}
        matrix = self.adjacency
        with atomic_output(path) as file:
            np.savez(
                file,
                format=FORMAT,
                indptr=matrix.indptr,
                indices=matrix.indices,
                data=matrix.data,
                **parts,
            )

    @classmethod
    def load(cls, path):
        """Read a graph written by `save`; nothing in the file is trusted or executed.

        Raises
        ------
        ValueError
            The file is not such a graph or is damaged; the message says where.
        """
        return load_graph(cls, path)

    def __repr__(self):
        per_node = self.adjacency.nnz / self.n_nodes
        edges = "directed edges" if self.directed else "edges"
        masked = "" if self.valid is None else f", {int((~self.valid).sum())} pixels masked"
        return (
            f"<ImageGraph {self.kind} {'x'.join(map(str, self.shape))}: {self.n_nodes} nodes, "
            f"{self.n_edges} {edges} ({per_node:.2f} neighbours per pixel), window={self.window}, "
            f"sigma_d={self.sigma_d:g}, sigma_f={self.sigma_f:g}, "
            f"{self.adjacency.dtype}{masked}>"
        )

    def _repr_html_(self):
        """A card with its figures and degrees, shown by notebooks."""
        return card(self)
