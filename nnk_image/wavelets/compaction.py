"""Energy compaction: how much of an image the low wavelet bands of a graph hold."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base import memory
from nnk_image.base.checks import check_count
from nnk_image.base.image import MOST_AXES, Image, check_image, data_range_of, spatial_shape
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.build import build_graph
from nnk_image.graph.pixel_graph import ImageGraph
from nnk_image.graph.pruning import EDGE_SWEEPS, GraphSpec
from nnk_image.wavelets.transform import MAX_ORDER, SpectralGraphWavelets

ORDERS = (4, 6, 12, 15, 30)
"""Chebyshev orders of the thesis's Figure 3.3, and 30."""


@dataclass(frozen=True)
class BandEnergy:
    """Energy per wavelet band at one Chebyshev order.

    Attributes
    ----------
    order : int
    energy : tuple of float
        Raw: ``|band|^2 / |image|^2`` of the mean-removed image.
    seconds : float
        Time of the transform.
    """

    order: int
    energy: tuple[float, ...]
    seconds: float

    @property
    def total(self) -> float:
        """Sum over the bands; a frame that is not tight has no fixed total."""
        return sum(self.energy)

    @property
    def normalized(self) -> tuple[float, ...]:
        """Energies divided by their total: what to compare between graphs."""
        return tuple(e / self.total for e in self.energy)

    @property
    def cumulative(self) -> tuple[float, ...]:
        """Running sum of `energy`, from the lowest band."""
        return tuple(np.cumsum(self.energy).tolist())

    @property
    def cumulative_normalized(self) -> tuple[float, ...]:
        """Running sum of `normalized`."""
        return tuple(np.cumsum(self.normalized).tolist())


@dataclass(frozen=True)
class GraphCompaction:
    """Energy compaction on one graph.

    Attributes
    ----------
    kind : str
        'bilateral', 'nnk', or the kind of the given graph.
    n_edges : int
        Undirected edges.
    lmax : float
        Eigenvalue the filters were designed for.
    build_seconds : float or None
        Time of building the graph; None for a given one.
    orders : tuple of BandEnergy
    """

    kind: str
    n_edges: int
    lmax: float
    build_seconds: float | None
    orders: tuple[BandEnergy, ...]


@dataclass(frozen=True)
class EnergyCompaction:
    """Result of `energy_compaction`; ``result['nnk']`` is that on the NNK graph.

    Attributes
    ----------
    shape : tuple of int
        (H, W) of the image, (D, H, W) of a volume.
    window, sigma_d, sigma_f : int or tuple of int, float, float
        Of the graphs.
    graphs : tuple of GraphCompaction
    """

    shape: tuple[int, ...]
    window: int | tuple[int, ...]
    sigma_d: float
    sigma_f: float
    graphs: tuple[GraphCompaction, ...]

    def __getitem__(self, kind: str) -> GraphCompaction:
        """Return the `GraphCompaction` of a kind of graph."""
        for graph in self.graphs:
            if graph.kind == kind:
                return graph
        raise KeyError(f"no {kind!r} graph here, only {[g.kind for g in self.graphs]}")

    @property
    def reduction(self) -> float:
        """Fraction of the bilateral graph's edges that the NNK graph does without."""
        return 1 - self["nnk"].n_edges / self["bilateral"].n_edges

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, for JSON."""
        result = asdict(self)
        for plain, graph in zip(result["graphs"], self.graphs, strict=True):
            for row, band in zip(plain["orders"], graph.orders, strict=True):
                row |= {
                    "normalized": band.normalized,
                    "cumulative": band.cumulative,
                    "cumulative_normalized": band.cumulative_normalized,
                }
        if len(self.graphs) == 2:
            result["reduction"] = self.reduction
        return result

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict per graph, order and band: a table for CSV or a data frame."""
        for graph in self.graphs:
            for at in graph.orders:
                for band, energy in enumerate(at.energy):
                    yield {
                        "graph": graph.kind,
                        "edges": graph.n_edges,
                        "lmax": graph.lmax,
                        "order": at.order,
                        "band": band + 1,
                        "energy": energy,
                        "normalized": at.normalized[band],
                        "cumulative": at.cumulative[band],
                        "cumulative_normalized": at.cumulative_normalized[band],
                        "seconds": at.seconds,
                    }

    def __str__(self) -> str:
        lines = [
            f"{'x'.join(map(str, self.shape))}, window {self.window}, sigma_d {self.sigma_d:g}, "
            f"sigma_f {self.sigma_f:g}"
        ]
        for graph in self.graphs:
            built = "given" if graph.build_seconds is None else f"{graph.build_seconds:.3f} s"
            lines.append(f"{graph.kind:>10}: {graph.n_edges} edges, built in {built}")
        if len(self.graphs) == 2:
            lines.append(f"{'reduction':>10}: {100 * self.reduction:.1f} % fewer edges")
        n_bands = len(self.graphs[0].orders[0].energy)
        heads = "".join(f"{f'1-{b + 1}' if b else '1':>9}" for b in range(n_bands))
        lines += [
            "cumulative energy in bands, normalized (total: raw)",
            f"{'order':>5} {'graph':>10}{heads}{'total':>9}{'ms':>8}",
        ]
        for i in range(len(self.graphs[0].orders)):
            for graph in self.graphs:
                at = graph.orders[i]
                shares = "".join(f"{c:9.5f}" for c in at.cumulative_normalized)
                name = f"{at.order:>5} {graph.kind:>10}"
                lines.append(f"{name}{shares}{at.total:9.4f}{1000 * at.seconds:8.1f}")
        return "\n".join(lines)


def energy_compaction(
    image: npt.ArrayLike,
    graph: ImageGraph | None = None,
    *,
    window: int | Sequence[int] | None = None,
    sigma_d: float = 2.0,
    sigma_f: float | None = None,
    channel_axis: int | None = None,
    spacing: float | Sequence[float] | None = None,
    orders: Sequence[int] = ORDERS,
    filters: Any = "abspline",
    n_scales: int = 6,
    laplacian: str = "combinatorial",
    lmax: float | dict[str, float] | None = None,
    n_jobs: int | None = None,
    progress: bool | Callable[[int, int], object] = False,
) -> EnergyCompaction:
    """Fraction of an image's energy in each spectral graph wavelet band.

    By default on the bilateral graph and on the NNK graph of the image, so that the two
    can be compared.

    Parameters
    ----------
    image : (H, W) array_like, one axis more with `channel_axis`, or a volume
        The mean of each channel is removed.
    graph : ImageGraph, optional
        Measure on this graph only; `window` to `spacing` are then those of the graph.
    window, sigma_d, sigma_f, channel_axis, spacing
        As for `image_graph`.
    orders : sequence of int
        Chebyshev orders.
    filters, n_scales, laplacian
        As for `SpectralGraphWavelets`.
    lmax : float or dict from kind of graph to float, optional
        Eigenvalue the filters are designed for, and the end of the interval.  Default:
        1.01 times an estimate of the largest one of each graph, as in the published
        experiment, but always with the same result.
    n_jobs : int, optional
        Threads at most, fewer for small images; None is 1, -1 all.
    progress : bool or callable
        Progress bar over graphs and orders.

    Returns
    -------
    EnergyCompaction

    Raises
    ------
    TypeError, ValueError
        Bad image or parameter, or a constant image, which has no energy to share out.

    Notes
    -----
    The frame is not tight, and polynomials of low order do not keep to its bounds:
    totals differ between orders and graphs.  Compare normalized energies.

    References
    ----------
    Thesis section 3.1.3.1, Figures 3.2 and 3.3.

    Examples
    --------
    >>> import nnk_image
    >>> result = nnk_image.energy_compaction(nnk_image.standard_image("camera"), orders=[6])
    >>> result.reduction > 0.9
    True
    >>> nnk, bilateral = result["nnk"].orders[0], result["bilateral"].orders[0]
    >>> nnk.cumulative_normalized[3] > bilateral.cumulative_normalized[3]
    True
    """
    orders = tuple(check_count("order", m, 1, MAX_ORDER) for m in orders)
    if not orders:
        raise ValueError("orders is empty; give at least one Chebyshev order")
    memory.require_per_pixel(
        image, channel_axis, lambda itemsize, channels: 25 * itemsize, "energy_compaction"
    )
    spatial_shape(image, channel_axis, spacing is not None or graph is not None)
    checked = check_image(image, channel_axis, most_axes=MOST_AXES)
    signal = _mean_removed(checked)
    graphs, built = (2, EDGE_SWEEPS) if graph is None else (1, 0)
    total = graphs * math.prod(checked.shape[:-1]) * (built + len(orders))
    with RowExecutor(n_jobs, progress, total, "energy compaction") as executor:
        builds: list[tuple[ImageGraph, float | None]]
        if graph is None:
            if sigma_f is None:
                sigma_f = data_range_of(checked) * 10 / 255
            spec = GraphSpec(checked, window, sigma_d, sigma_f, spacing=spacing)
            builds = [_timed(partial(build_graph, spec, k, executor)) for k in ("bilateral", "nnk")]
        else:
            _check_graph(graph, checked)
            builds = [(graph, None)]
        options = {
            "filters": filters,
            "n_scales": n_scales,
            "laplacian": laplacian,
            "n_jobs": n_jobs,
        }
        results = [
            _on_graph(
                built, seconds, signal, orders, _lmax_for(lmax, built.kind), options, executor
            )
            for built, seconds in builds
        ]
    first = builds[0][0]
    return EnergyCompaction(
        checked.shape, first.window, first.sigma_d, first.sigma_f, tuple(results)
    )


def _mean_removed(image: Image) -> npt.NDArray[Any]:
    """Deviations from each channel's mean, scaled to 1 at most; 0 where pixels are absent."""
    scale = max(abs(image.low), abs(image.high)) or 1.0
    pixels = image.pixels / image.dtype.type(scale)
    where = np.ones(image.shape, bool) if image.valid is None else image.valid
    axes = tuple(range(pixels.ndim - 1))
    mean = pixels.mean(axis=axes, dtype=np.float64, where=where[..., None])
    signal = np.where(where[..., None], pixels - mean.astype(image.dtype), image.dtype.type(0))
    largest = abs(signal).max()
    if largest <= 4 * np.finfo(image.dtype).eps:
        raise ValueError("an image whose channels are constant has no energy to share out")
    signal /= largest
    return signal[..., 0] if image.channels == 1 else signal


def _check_graph(graph: object, image: Image) -> None:
    if not isinstance(graph, ImageGraph):
        raise TypeError(f"graph must be an ImageGraph, not {type(graph).__name__}")
    if graph.shape != image.shape:
        raise ValueError(f"the graph has shape {graph.shape}, the image {image.shape}")


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def _lmax_for(lmax: float | dict[str, float] | None, kind: str) -> float | None:
    return lmax.get(kind) if isinstance(lmax, dict) else lmax


def _on_graph(
    graph: ImageGraph,
    build_seconds: float | None,
    signal: npt.NDArray[Any],
    orders: Sequence[int],
    lmax: float | None,
    options: dict[str, Any],
    executor: RowExecutor,
) -> GraphCompaction:
    """All orders on one graph."""
    given = "lanczos" if lmax is None else lmax
    wavelets = SpectralGraphWavelets(graph, order=orders[0], lmax=given, **options)
    if lmax is None:
        wavelets = wavelets.at_lmax(1.01 * wavelets.lmax)
    power = float((signal.astype(float) ** 2).sum())
    rows = []
    for order in orders:
        at_order = wavelets.at_order(order)
        coefficients, seconds = _timed(partial(at_order.analyze, signal))
        energies = [float((band.astype(float) ** 2).sum()) / power for band in coefficients]
        rows.append(BandEnergy(order, tuple(energies), seconds))
        executor.advance(math.prod(graph.shape[:-1]))
    return GraphCompaction(graph.kind, graph.n_edges, wavelets.lmax, build_seconds, tuple(rows))
