"""Wavelets: filter banks, bands, energy compaction."""

import numpy as np

from nnk_image.plotting.figures import COLORS, row_of_axes, show, value_range_of


def plot_filter_bank(wavelets, ax=None):
    """The filters of a transform over the eigenvalues.

    Parameters
    ----------
    wavelets : SpectralGraphWavelets
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    list of matplotlib.lines.Line2D
        Each band's polynomial, as it is applied, from the lowest; then the functions they
        stand for, dotted.  The axis is one of frequencies, roots of eigenvalues.

    Examples
    --------
    >>> import nnk_image
    >>> graph = nnk_image.image_graph(nnk_image.standard_image("camera"))
    >>> wavelets = nnk_image.SpectralGraphWavelets(graph)
    >>> len(plot_filter_bank(wavelets)) == 2 * wavelets.n_bands
    True
    """
    ax = row_of_axes(ax, 1, 6, 3.2)[0]
    # Eigenvalues are squared frequencies: evenly spaced roots give low bands room enough.
    eigenvalues = wavelets.bound * np.linspace(0, 1, 1001) ** 2
    lines = [
        ax.plot(eigenvalues, values, color=f"C{band % 10}", label=f"{band + 1}")[0]
        for band, values in enumerate(wavelets.evaluate(eigenvalues))
    ]
    designed = wavelets.bank.evaluate(eigenvalues)
    lines += [ax.plot(eigenvalues, v, ":", color="black", linewidth=0.8)[0] for v in designed]
    ax.set_title(f"{wavelets.bank.name}, order {wavelets.order}", fontsize=9)
    ax.set_xscale("function", functions=(np.sqrt, np.square))
    ax.set(xlabel="eigenvalue", xlim=(0, wavelets.bound))
    ax.legend(title="band", fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return lines


def plot_bands(coefficients, axes=None, *, limits=None):
    """The bands of a transform as images, with their variances.

    Parameters
    ----------
    coefficients : (n_bands, H, W) array_like
        As from `SpectralGraphWavelets.analyze`.
    axes : sequence of matplotlib.axes.Axes, optional
    limits : sequence of float, optional
        Per band, the absolute value at which colours saturate: those of another graph's
        bands make both comparable.  Default: the 99th percentile of each band.

    Returns
    -------
    list of matplotlib.image.AxesImage
        The lowest band in grey, the others blue below and red above zero.

    Raises
    ------
    ValueError
        The coefficients are not those of one grey image.

    Examples
    --------
    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera") / 255
    >>> wavelets = nnk_image.SpectralGraphWavelets(nnk_image.image_graph(image))
    >>> len(plot_bands(wavelets.analyze(image - image.mean())))
    7
    """
    coefficients = np.asarray(coefficients)
    if coefficients.ndim != 3:
        raise ValueError(
            f"coefficients have shape {coefficients.shape}; give those of one channel, "
            "(n_bands, H, W)"
        )
    axes = row_of_axes(axes, len(coefficients), 2)
    if limits is None:
        limits = np.percentile(abs(coefficients), 99, axis=(1, 2))
    shown = []
    for number, (ax, band, top) in enumerate(zip(axes, coefficients, limits, strict=False)):
        if number:
            ranged, cmap = (-top, top), "RdBu_r"
        else:
            ranged, cmap = value_range_of(band), "gray"
        title = f"band {number + 1}\nvariance {band.var(dtype=float):.2g}"
        shown.append(show(ax, band, ranged, title, cmap))
    return shown


def plot_compaction(results, axes=None):
    """Energy left above each band, one axes per Chebyshev order; means over images.

    Parameters
    ----------
    results : sequence of EnergyCompaction
        Of the same orders and graphs.
    axes : sequence of matplotlib.axes.Axes, optional
        One per order.

    Returns
    -------
    list of matplotlib.lines.Line2D

    Examples
    --------
    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> lines = plot_compaction([nnk_image.energy_compaction(image, orders=[6, 15])])
    >>> [line.get_label() for line in lines]
    ['bilateral', 'nnk', 'bilateral', 'nnk']
    """
    first = results[0]
    axes = row_of_axes(axes, len(first.graphs[0].orders), 3, 3.2, sharey=True)
    lines = []
    for i, ax in zip(range(len(first.graphs[0].orders)), axes, strict=False):
        for graph in first.graphs:
            shares = np.array([r[graph.kind].orders[i].cumulative_normalized for r in results])
            # What is left, on a log scale: the curves differ where shares are close to 1.
            left = np.maximum(1 - shares[:, :-1].mean(axis=0), 1e-16)
            style = {"color": COLORS.get(graph.kind), "marker": "o", "label": graph.kind}
            lines += ax.semilogy(np.arange(1, len(left) + 1), left, **style)
        ax.set(title=f"order {first.graphs[0].orders[i].order}", xlabel="bands 1 to b")
    axes[0].set_ylabel("share of the energy above band b")
    axes[0].legend()
    return lines
