"""Plots of wavelet bands and of energy compaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import plain_array
from nnk_image.base.image import Array
from nnk_image.plotting.figures import COLORS, finite, of_finite, row_of_axes, show, value_range_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nnk_image.wavelets import EnergyCompaction


def plot_bands(
    coefficients: npt.ArrayLike, axes: Any = None, *, limits: Sequence[float] | None = None
) -> list[Axes]:
    """Draw the bands of a transform as images, with their variances.

    Parameters
    ----------
    coefficients : (n_bands, H, W) array_like
        As returned by `SpectralGraphWavelets.analyze`; non-finite or masked entries stay blank.
    axes : sequence of matplotlib.axes.Axes, optional
        One per band. Default: a new figure.
    limits : sequence of float, optional
        For each band the absolute value at which its colors saturate; the first is ignored. Give
        the same ones to compare two graphs. Default: the 99th percentile of absolute values.

    Returns
    -------
    list of matplotlib.axes.Axes
        One per band: the lowest is gray; in the others negative values are blue, positive ones red.

    Examples
    --------
    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera") / 255
    >>> wavelets = nnk_image.SpectralGraphWavelets(nnk_image.image_graph(image))
    >>> len(nnk_image.plotting.plot_bands(wavelets.analyze(image - image.mean())))
    7
    """
    coefficients = finite(plain_array(coefficients))
    if coefficients.ndim != 3 or not coefficients.size:
        raise ValueError(
            f"coefficients must have shape (n_bands, H, W), got {coefficients.shape}; give those "
            "of one channel"
        )
    row = row_of_axes(axes, len(coefficients), 2, 2.9)
    if limits is not None and len(limits) != len(coefficients):
        raise ValueError(
            f"limits has {len(limits)} values: give {len(coefficients)}, one for each band"
        )
    if limits is None:
        limits = [of_finite(partial(np.percentile, q=99), abs(band)) for band in coefficients]
    for number, (ax, band, top) in enumerate(zip(row, coefficients, limits, strict=True)):
        variance = of_finite(partial(np.var, dtype=float), band)
        title = f"band {number + 1}\nvariance {variance:.2g}"
        limits_of_band = (-top, top) if number else value_range_of(band)
        show(ax, band, limits_of_band, title, "RdBu_r" if number else "gray")
    return row


def plot_compaction(
    results: EnergyCompaction | Sequence[EnergyCompaction], axes: Any = None
) -> list[Axes]:
    """Draw the share of energy above each wavelet band; the lower the curve, the better the graph.

    Parameters
    ----------
    results : EnergyCompaction or sequence of EnergyCompaction
        Results of `energy_compaction` for the same orders and graphs; their mean is drawn.
    axes : sequence of matplotlib.axes.Axes, optional
        One per Chebyshev order, and one for block transforms, if any. Default: a new figure.

    Returns
    -------
    list of matplotlib.axes.Axes

    Examples
    --------
    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> result = nnk_image.energy_compaction(image, orders=[6, 15])
    >>> [ax.get_title() for ax in nnk_image.plotting.plot_compaction(result)]
    ['order 6', 'order 15']
    """
    results = results if isinstance(results, Sequence) else [results]
    described = [(r.orders, _lengths(r.energy), _lengths(r.blocks)) for r in results]
    if not results or any(d != described[0] for d in described):
        raise ValueError(
            "results must be of one or more images, all with the same orders, graphs, bands and "
            f"blocks; given are (orders, bands of graphs, coefficients of blocks) {described}"
        )
    first = results[0]
    number = len(first.orders) + bool(first.blocks)
    row = row_of_axes(axes, number, 3, 3.2, sharey=True)
    for i, (ax, order) in enumerate(zip(row, first.orders, strict=False)):
        for name in first.energy:
            shares = np.array([result.cumulative[name][i] for result in results])
            # 1 - share on a log scale, because the curves differ where shares are close to 1.
            left = np.maximum(1 - shares[:, :-1].mean(axis=0), 1e-16)
            style = {"color": COLORS.get(name), "marker": "o", "label": name}
            ax.semilogy(np.arange(1, len(left) + 1), left, **style)
        ax.set(title=f"order {order}", xlabel="bands 1 to b")
    row[0].set_ylabel("share of the energy above band b")
    row[0].legend()
    for name in first.blocks:
        shares = np.mean([result.blocks[name] for result in results], axis=0).cumsum()
        kept, left = np.arange(1, len(shares)) / len(shares), np.maximum(1 - shares[:-1], 1e-16)
        gain = np.mean([result.coding_gain[name] for result in results])
        row[-1].semilogy(kept, left, color=COLORS.get(name), label=f"{name}, {gain:.1f} dB")
    if first.blocks:
        row[-1].set(title="blocks, graph given", xlabel="part of the coefficients kept")
        row[-1].legend(title="coding gain", fontsize="small")
    return row


def _lengths(parts: Mapping[str, Array]) -> dict[str, int]:
    return {name: part.shape[-1] for name, part in parts.items()}
