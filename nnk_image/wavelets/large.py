"""The NNK graph and the wavelets of an image that is larger than memory, tile by tile."""

import math
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from nnk_image.base import memory
from nnk_image.base.checks import working_dtype
from nnk_image.base.image import MOST_AXES, check_image, spatial_shape
from nnk_image.base.parallel import RowExecutor
from nnk_image.base.reach import Reach
from nnk_image.base.tile_plan import plan_tiles
from nnk_image.graph.build import build_graph, image_graph
from nnk_image.graph.laplacian import check_kind
from nnk_image.graph.pruning import DEFAULT_WINDOW, GraphSpec
from nnk_image.graph.window import check_window
from nnk_image.spectral.chebyshev import GridRecurrence
from nnk_image.spectral.operator import LaplacianOperator
from nnk_image.spectral.spectrum import bound_of_degrees
from nnk_image.wavelets.transform import SpectralGraphWavelets

_BYTES_PER_PIXEL = 300  # of a tile: its graph, or the operator, and some signals
_BYTES_PER_BAND = 8


class TiledWavelets:
    """Graph and graph wavelets of an image that is larger than memory.

    What it gives for a tile is what `image_graph` and `SpectralGraphWavelets` give for the
    whole image there, bit for bit.  It can be pickled if the image can, so tiles may be computed in
    other processes.

    Parameters
    ----------
    image : array_like
        With `shape`, `dtype` and slices: an array, a memory map, a zarr or HDF5 array.
    sigma_f : float
        Intensity width of the kernel, in the image's units.
    window, sigma_d, channel_axis, spacing
        As for `image_graph`.
    laplacian : {'combinatorial', 'normalized', 'random_walk', 'regularized'}
        As for `SpectralGraphWavelets`; 'regularized' needs `tau`.
    bound : float, optional
        The operator's bound on the spectrum of the whole graph; by default it is found in one
        journey over the image, when it is first needed.
    tau, order, n_jobs, **options
        As for `SpectralGraphWavelets`; `lmax` may be a number or None.
    max_memory : int or str
        Bytes that a tile may take, such as '1GiB'.

    Attributes
    ----------
    plan : TilePlan
        Its tiles, each with `core`, `padded` and `number`.
    tiles_of_bound : TilePlan
        The tiles for `largest_in`.
    bound : float
    n_bands : int
    dtype : numpy.dtype
        Of the results.
    shape : tuple of int
        Of the image, without channels.
    axis : int or None
        Of the channels, not negative.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As `image_graph` and `SpectralGraphWavelets`; tiles would need more than `max_memory`.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> from nnk_image.wavelets import TiledWavelets
    >>> image = nnk_image.standard_image("camera")
    >>> tiled = TiledWavelets(image, sigma_f=10, window=3, order=20, max_memory="10MB")
    >>> bands = np.empty((7, *image.shape))
    >>> for tile in tiled.plan:
    ...     bands[(slice(None), *tile.core)] = tiled.analyze(tile)
    >>> whole = nnk_image.SpectralGraphWavelets(
    ...     nnk_image.image_graph(image, 3, sigma_f=10), order=20)
    >>> bool((bands == whole.analyze(image)).all())
    True
    """

    def __init__(
        self,
        image,
        sigma_f,
        window=None,
        sigma_d=2.0,
        *,
        channel_axis=None,
        spacing=None,
        laplacian="combinatorial",
        bound=None,
        tau=None,
        order=30,
        max_memory="1GiB",
        n_jobs=None,
        **options,
    ):
        if check_kind(laplacian) == "regularized" and tau is None:
            raise ValueError("laplacian='regularized' in tiles needs tau=, that of the whole image")
        if isinstance(options.get("lmax"), str):
            raise ValueError(f"lmax={options['lmax']!r} must be a number or None in tiles")
        self.image, self.n_jobs = image, n_jobs
        self.dtype = working_dtype(np.dtype(image.dtype))
        self.shape = spatial_shape(image, channel_axis, spacing is not None)
        axes = len(self.shape)
        self.axis = None if channel_axis is None else channel_axis % len(image.shape)
        window = check_window(DEFAULT_WINDOW[axes] if window is None else window, axes)
        self._graph = {"window": window, "sigma_d": sigma_d, "sigma_f": sigma_f, "spacing": spacing}
        sides = window if isinstance(window, tuple) else (window,) * axes
        self._radii = tuple(side // 2 for side in sides)
        self._kind, self._tau = laplacian, tau
        self._options = {**options, "order": order, "laplacian": laplacian}
        if bound is not None:
            self.bound = bound
        self.n_bands = options.get("n_scales", 6) + 1
        of_pixel = _BYTES_PER_PIXEL + _BYTES_PER_BAND * self.n_bands
        most = memory.bytes_of_text(max_memory) // of_pixel
        reach = Reach.of_polynomial(order, sides, laplacian)
        self.plan = plan_tiles(self.shape, reach, most)
        near = Reach.of_polynomial(2, sides)
        self.tiles_of_bound = plan_tiles(self.shape, near, self.plan.padded_pixels)

    def rows(self, tile):
        """The rows of the graph's adjacency that belong to the core of a tile.

        Parameters
        ----------
        tile : Tile
            Of `plan`, or of any other `TilePlan` of the image whose border has twice the radius of
            the window or more.

        Returns
        -------
        numbers : (n,) int64 ndarray
            Of the core's pixels in the image, counted row by row.
        rows : (n, pixels of the image) csr_array
        """
        part = self._part(tile)
        graph = image_graph(part.pixels, channel_axis=-1, n_jobs=self.n_jobs, **self._graph)
        cut = [np.arange(a.start, a.stop) for a in tile.padded]
        everywhere = np.ravel_multi_index(np.ix_(*cut), self.shape)
        inner = np.arange(everywhere.size).reshape(everywhere.shape)[tile.inside].ravel()
        rows = graph.adjacency[inner]
        n_pixels = math.prod(self.shape)
        indices = everywhere.ravel()[rows.indices].astype(memory.index_dtype(n_pixels))
        data = rows.data, indices, rows.indptr
        return everywhere.ravel()[inner], csr_array(data, shape=(len(inner), n_pixels))

    def analyze(self, tile):
        """Coefficients of the core of a tile: ``(n_bands, *core[, channels])``."""
        return self._apply(tile, lambda wavelets, pixels: wavelets.analyze(pixels))

    def filter(self, tile, response):
        """`SpectralGraphWavelets.filter` of the core of a tile."""
        return self._apply(tile, lambda wavelets, pixels: wavelets.filter(pixels, response)[None])[
            0
        ]

    @cached_property
    def bound(self):
        """Bound on the spectrum of the whole graph."""
        return self.bound_of(self.largest_in(tile) for tile in self.tiles_of_bound)

    def largest_in(self, tile):
        """Largest degree, and largest sum of the degrees of an edge's ends, in a tile's core."""
        part = self._part(tile)
        ring = tuple(
            slice(max(0, inner.start - r), inner.stop + r)
            for inner, r in zip(tile.inside, self._radii, strict=True)
        )
        with RowExecutor(self.n_jobs) as executor:
            recurrence = self._recurrence(part, executor)
            largest = float(recurrence.degrees[tile.inside].max())
            of_edges = self._kind == "combinatorial"
            return largest, recurrence.largest_edge_sum(executor, ring) if of_edges else 0.0

    def bound_of(self, largest):
        """The bound, from the `largest_in` of all tiles."""
        degrees, sums = zip(*largest, strict=True)
        return bound_of_degrees(max(degrees), self._kind, lambda: max(sums), self._tau, self.dtype)

    def slices(self, slices):
        """Slices of all axes of the image, from those without the axis of channels."""
        if self.axis is None:
            return tuple(slices)
        return (*slices[: self.axis], slice(None), *slices[self.axis :])

    def _part(self, tile):
        part = np.asarray(self.image[self.slices(tile.padded)])
        return check_image(part, self.axis, None, MOST_AXES)

    def _recurrence(self, part, executor):
        graph = build_graph(GraphSpec(part, **self._graph), "nnk", executor)
        return GridRecurrence.of_graph(graph, graph.dtype, executor)

    def _apply(self, tile, work):
        part = self._part(tile)
        with RowExecutor(self.n_jobs) as executor:
            recurrence = self._recurrence(part, executor)
            operator = LaplacianOperator(
                recurrence, self._kind, executor, self._tau, self.bound, pruned=True
            )
        wavelets = SpectralGraphWavelets(operator, n_jobs=self.n_jobs, **self._options)
        pixels = part.pixels[..., 0] if self.axis is None else part.pixels
        return work(wavelets, pixels)[(slice(None), *tile.inside)]
