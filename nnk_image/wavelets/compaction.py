"""Energy compaction: the share of an image's energy in low wavelet bands or block coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.fft import dctn

from nnk_image.base.checks import check_count
from nnk_image.base.geometry import as_blocks
from nnk_image.base.image import Array, Image, Layout, check_image
from nnk_image.graph.build import bilateral_graph, image_graph
from nnk_image.graph.pixel_graph import ImageGraph
from nnk_image.spectral.block_gft import BLOCK_SIZES, block_gft
from nnk_image.wavelets.transform import MAX_ORDER, SpectralGraphWavelets

ORDERS = (4, 6, 12, 15, 30)  # Chebyshev orders of the thesis's Figure 3.3, and 30


@dataclass(frozen=True, eq=False, repr=False)
class EnergyCompaction:
    """Energies of wavelet bands, returned by `energy_compaction`.

    Attributes
    ----------
    orders : tuple of int
        Degrees of the Chebyshev polynomials, as given.
    energy : dict from str to (n_orders, n_bands) ndarray of float64
        For each graph by name the energy of each band, lowest frequencies first, divided by that of
        the image without its mean; one row for each of `orders`. Channels are added up. Bands
        overlap, so the sum of a row is not 1; compare `normalized`.
    n_edges : dict from str to int
        Number of edges of each graph.
    lmax : dict from str to float
        For each graph, the eigenvalue at which the highest band ends.
    blocks : dict from str to (block_size**2,) ndarray of float64
        For each block transform the share of the energy in each coefficient, from low to high
        frequency. The names are 'dct', that of each graph for its `block_gft`, and, after
        `with_klt`, 'klt'. Empty without `block_size`.
    moments : (block_size**2, block_size**2) ndarray of float64
        Mean product of every pair of pixels in a block, relative to the energy; for `with_klt`.
    """

    orders: tuple[int, ...]
    energy: dict[str, npt.NDArray[np.float64]]
    n_edges: dict[str, int]
    lmax: dict[str, float]
    blocks: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    moments: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def normalized(self) -> dict[str, npt.NDArray[np.float64]]:
        """Share of each band in the energy of all bands: a dict by graph, (n_orders, n_bands)."""
        return {name: e / e.sum(axis=1, keepdims=True) for name, e in self.energy.items()}

    @property
    def cumulative(self) -> dict[str, npt.NDArray[np.float64]]:
        """Share of the lowest b + 1 bands in the energy of all bands, in column b.

        A dict by graph, (n_orders, n_bands); the last column is 1.
        """
        return {name: e.cumsum(axis=1) for name, e in self.normalized.items()}

    @property
    def reduction(self) -> float:
        """Fraction of edges saved: 0.93 if the 'nnk' graph has 7 % of the edges of 'bilateral'.

        KeyError unless the graphs include these two names, as they do by default.
        """
        return 1 - self.n_edges["nnk"] / self.n_edges["bilateral"]

    @property
    def coding_gain(self) -> dict[str, float]:
        """Coding gain of each block transform in dB, by its name in `blocks`.

        It is the ratio of the arithmetic to the geometric mean of the shares in `blocks`, each at
        least 1e-16. The bits for sending the graph are not counted.
        """
        logs = {name: np.log10(np.maximum(e, 1e-16)) for name, e in self.blocks.items()}
        return {n: float(-10 * (log.mean() + np.log10(len(log)))) for n, log in logs.items()}

    def with_klt(self, others: Iterable[EnergyCompaction]) -> EnergyCompaction:
        """Return a copy whose `blocks` also have the KLT, fitted to blocks of other images.

        The Karhunen-Loeve transform (KLT, principal components) is the fixed block transform with
        the largest coding gain on the images that it is fitted to. ``blocks["klt"]`` holds the
        shares of its coefficients, in the order of their shares in `others`.

        Parameters
        ----------
        others : iterable of EnergyCompaction
            Results for at least one other image, with the same `block_size`; else a ValueError.
        """
        moments = [other.moments for other in others]
        if {m.shape for m in moments} != {self.moments.shape} or not self.moments.size:
            raise ValueError(
                "with_klt needs the results of other images, all with the same block_size: "
                f"moments of this result have shape {self.moments.shape}, those of the others "
                f"{[m.shape for m in moments]}"
            )
        fitted = sum(moments, np.zeros_like(self.moments))
        vectors = np.linalg.eigh(fitted)[1][:, ::-1]
        energy = ((self.moments @ vectors) * vectors).sum(axis=0)
        return replace(self, blocks=self.blocks | {"klt": np.maximum(energy, 0)})

    def __repr__(self) -> str:
        edges = ", ".join(f"{name} {n} edges" for name, n in self.n_edges.items())
        blocks = f", block transforms {', '.join(self.blocks)}" if self.blocks else ""
        return f"<EnergyCompaction: {edges}, orders {self.orders}{blocks}>"


def energy_compaction(
    image: npt.ArrayLike,
    graphs: ImageGraph | Mapping[str, ImageGraph] | None = None,
    *,
    channel_axis: int | None = None,
    sigma_f: float | None = None,
    orders: int | Sequence[int] = ORDERS,
    filters: Any = "abspline",
    n_scales: int = 6,
    laplacian: str = "combinatorial",
    lmax: float | None = None,
    block_size: int | None = None,
    n_jobs: int | None = None,
) -> EnergyCompaction:
    """Measure how much of an image's energy each spectral graph wavelet band holds.

    The energy is the sum of the squares of all pixels after the mean is subtracted. The more of it
    lies in the lowest bands, the better the graph fits the image.

    Parameters
    ----------
    image : (H, W) array_like, one axis more with `channel_axis`, or a volume
        Image of any real dtype and unit, finite but where masked, also by a graph; not constant.
        The mean of each channel is removed, and energies are relative to the total.
    graphs : ImageGraph or dict from str to ImageGraph, optional
        Undirected graphs of the image's shape; a single one is named by its kind.  Default:
        ``{"bilateral": bilateral_graph(image), "nnk": image_graph(image)}``.
    channel_axis : int, optional
        Axis of the channels of a color image, whose energies are added up.  Default: no channels.
    sigma_f : float, optional
        Width of the kernel of the default graphs in intensity, as for `image_graph`.
    orders : int or sequence of int
        Degrees of the Chebyshev polynomials, all measured; default 4, 6, 12, 15 and 30.
    filters, n_scales, laplacian, n_jobs
        As for `SpectralGraphWavelets`.
    lmax : float, optional
        Eigenvalue at which the highest band ends, as for `SpectralGraphWavelets`.  Default: 1.01
        times an estimate of the largest eigenvalue of each graph.
    block_size : int, optional
        Side in pixels of square blocks, 2 to 64, on which the graph transform `block_gft` and the
        discrete cosine transform are measured as well; only for images of two axes.  Default: none.

    Returns
    -------
    EnergyCompaction
        Energies for each graph by name. Compare `normalized` or `cumulative` between graphs.

    Notes
    -----
    The wavelets are not a tight frame, so that the sum of the energies of all bands differs between
    orders and graphs. So compare shares of the sum.

    References
    ----------
    Thesis section 3.1.3.1, Figures 3.2 and 3.3.

    Examples
    --------
    >>> import nnk_image
    >>> result = nnk_image.energy_compaction(nnk_image.standard_image("camera"), orders=[6])
    >>> result.reduction > 0.9
    True
    >>> bool(result.cumulative["nnk"][0, 3] > result.cumulative["bilateral"][0, 3])
    True
    """
    orders = orders if np.iterable(orders) else [orders]
    orders = tuple(check_count("order", m, 1, MAX_ORDER) for m in orders)
    if not orders:
        raise ValueError("orders is empty; give at least one Chebyshev order")
    if block_size is not None:
        block_size = check_count("block_size", block_size, *BLOCK_SIZES)
    if graphs is not None and sigma_f is not None:
        raise ValueError("sigma_f is of the default graphs: leave it out where graphs are given")
    graphed = "graphs=image_graph(image, spacing=1)"
    layout = Layout.of(image, channel_axis, graphs is not None, graphed)
    layout.require(lambda itemsize, _: 25 * itemsize, "energy_compaction")
    if isinstance(graphs, ImageGraph):
        graphs = {graphs.kind: graphs}
    valid = None if graphs is None else _check_graphs(graphs, layout.shape)
    signal = _mean_removed(check_image(image, channel_axis, valid))
    if graphs is None:
        build: dict[str, Any] = {"sigma_f": sigma_f, "channel_axis": channel_axis, "n_jobs": n_jobs}
        graphs = {"bilateral": bilateral_graph(image, **build), "nnk": image_graph(image, **build)}
    blocks = {} if block_size is None else _block_energies(signal, graphs, block_size, n_jobs)
    energy, designed = {}, {}
    for name, graph in graphs.items():
        wavelets = SpectralGraphWavelets(
            graph,
            filters,
            n_scales,
            orders[0],
            laplacian=laplacian,
            lmax="lanczos" if lmax is None else lmax,
            n_jobs=n_jobs,
        )
        bands = (wavelets.at_order(order).analyze(signal) for order in orders)
        rows = [[_energy(band) for band in of_order] for of_order in bands]
        energy[name], designed[name] = np.array(rows) / _energy(signal), wavelets.lmax
    n_edges = {name: graph.n_edges for name, graph in graphs.items()}
    return EnergyCompaction(orders, energy, n_edges, designed, **blocks)


def _mean_removed(image: Image) -> Array:
    """Subtract each channel's mean and divide by the largest deviation; masked pixels get 0."""
    scale = max(abs(image.low), abs(image.high)) or 1.0
    pixels = image.pixels / image.dtype.type(scale)
    where = image.mask[..., None]
    axes = tuple(range(pixels.ndim - 1))
    mean = pixels.mean(axis=axes, dtype=np.float64, where=where)
    signal = np.where(where, pixels - mean.astype(image.dtype), image.dtype.type(0))
    largest = abs(signal).max()
    if largest <= 4 * np.finfo(image.dtype).eps:
        raise ValueError(
            "all channels of the image are constant, so that there is no energy to measure"
        )
    signal /= largest
    return signal[..., 0] if image.channels == 1 else signal


def _block_energies(
    signal: Array, graphs: Mapping[str, ImageGraph], size: int, n_jobs: int | None
) -> dict[str, Any]:
    """Compute `blocks` and `moments` of an `EnergyCompaction`."""
    signal = signal.reshape(*signal.shape[:2], -1).astype(float)
    coefficients = {
        name: block_gft(signal, graph, size, n_jobs=n_jobs) for name, graph in graphs.items()
    }
    pixels = as_blocks(signal, size, size)
    cosines = dctn(pixels.reshape(*pixels.shape[:2], size, size, -1), axes=(2, 3), norm="ortho")
    square = np.arange(size) ** 2
    order = np.argsort(np.add.outer(square, square).ravel(), kind="stable")  # by DCT frequency
    every = {"dct": cosines.reshape(pixels.shape)[:, :, order]} | coefficients
    moments = np.einsum("rcnk,rcmk->nm", pixels, pixels, optimize=True)
    total = np.trace(moments)
    shares = {name: np.einsum("rcnk,rcnk->n", c, c) / total for name, c in every.items()}
    return {"blocks": shares, "moments": moments / total}


def _check_graphs(graphs: Any, shape: tuple[int, ...]) -> Array | None:
    """Return the pixels that no graph masks, None for all."""
    if not isinstance(graphs, Mapping) or not graphs:
        raise TypeError(
            "graphs must be an ImageGraph, or a dictionary of at least one by name, not "
            f"{type(graphs).__name__}"
        )
    for name, graph in graphs.items():
        if not isinstance(graph, ImageGraph):
            raise TypeError(f"graphs[{name!r}] must be an ImageGraph, not {type(graph).__name__}")
        if graph.shape != shape:
            raise ValueError(f"the graph has shape {graph.shape}, the image {shape}")
    masks = [graph.valid for graph in graphs.values() if graph.valid is not None]
    return np.logical_and.reduce(masks) if masks else None


def _energy(values: Array) -> float:
    return float((values.astype(float) ** 2).sum())
