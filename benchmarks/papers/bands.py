"""Figure 3.2: wavelet bands of an image on the bilateral and the NNK graph."""

import numpy as np

from benchmarks.papers.claims import Claim, between, share, verdict_of
from benchmarks.papers.shared import (
    BUILDS,
    LABELS,
    N_BANDS,
    ORDER,
    SIGMA_D,
    SIGMA_F,
    WINDOW,
    column,
    distinct,
)
from benchmarks.scores import group_means
from nnk_image.plotting.figures import new_figure
from nnk_image.wavelets.transform import SpectralGraphWavelets

TITLE = "Wavelet bands on the bilateral and the NNK graph"
SOURCE = "Thesis, Figure 3.2"
CAPTION = (
    "Spectral graph wavelet coefficients of one image: the scaling function, then wavelets from "
    "coarse to fine, on the bilateral graph (top) and the NNK graph (bottom). The title of each "
    "band is its variance, for gray levels from 0 to 255. Both graphs have the same gray scale "
    "within a column; middle gray is zero. The table has means over the images; share is the "
    "variance of a band divided by the sum over all bands."
)

HIGH = range(4, N_BANDS + 1)
"""Bands that count as higher frequencies, the finer half."""


def measure(picture, setup):
    """Return the variance of each band on both graphs."""
    rows = []
    for kind in BUILDS:
        variances = _bands(picture, kind, setup.n_jobs).var(axis=(1, 2))
        rows += [
            {
                "graph": kind,
                "band": band,
                "variance": float(variance),
                "share": float(variance / variances.sum()),
            }
            for band, variance in enumerate(variances, 1)
        ]
    return rows


def _bands(picture, kind, n_jobs):
    """Return the coefficients of the image minus its mean, with gray levels from 0 to 255."""
    graph = BUILDS[kind](picture.values, WINDOW, SIGMA_D, SIGMA_F, n_jobs=n_jobs)
    wavelets = SpectralGraphWavelets(graph, order=ORDER, lmax="lanczos", n_jobs=n_jobs)
    lmax = 1.01 * wavelets.lmax  # as in the published experiments
    wavelets = SpectralGraphWavelets(graph, order=ORDER, lmax=lmax, n_jobs=n_jobs)
    return 255 * wavelets.analyze(picture.values - picture.values.mean())


def summary(rows):
    """Return the mean variance and share of each band on both graphs."""
    table = group_means(rows, ("band", "graph"), ("variance", "share"))
    return [
        {"band": band}
        | {f"{name}, {kind}": column(table, name, band=band, graph=kind).item()
           for name in ("variance", "share") for kind in BUILDS}
        for band in distinct(table, "band")
    ]  # fmt: skip


def draw(rows, setup):
    """Draw the bands of the first image, one row per graph."""
    picture = setup.pictures[0]
    bands = {kind: _bands(picture, kind, setup.n_jobs) for kind in BUILDS}
    height, width = picture.values.shape
    figure = new_figure(figsize=(2.1 * N_BANDS, 2 * (2.1 * height / width) + 1.1))
    axes = figure.subplots(len(bands), N_BANDS)
    for band in range(N_BANDS):
        limit = max(np.quantile(abs(b[band]), 0.998) for b in bands.values()) or 1.0
        for ax_row, (kind, coefficients) in zip(axes, bands.items(), strict=True):
            ax, shown = ax_row[band], coefficients[band]
            ax.imshow(shown, cmap="gray", vmin=-limit, vmax=limit, interpolation="nearest")
            name = "scaling function" if band == 0 else f"wavelet {band}"
            head = f"{name}\n" if kind == next(iter(bands)) else ""
            ax.set_title(f"{head}variance {_short(shown.var())}", fontsize=10)
            ax.set(xticks=[], yticks=[])
            if band == 0:
                ax.set_ylabel(LABELS[kind], fontsize=11)
    figure.suptitle(f"{picture.name}, order {ORDER}", fontsize=11)
    return figure


def _short(number):
    return f"{number:.0f}" if number >= 100 else f"{number:.2g}"


def claims(rows):
    """Check whether the NNK graph has less information in the higher bands."""
    images = distinct(rows, "image")
    high = {
        (image, kind): sum(
            column(rows, "share", image=image, graph=kind, band=b).item() for b in HIGH
        )
        for image in images
        for kind in BUILDS
    }
    lower = [high[i, "nnk"] < high[i, "bilateral"] for i in images]
    ratios = [high[i, "bilateral"] / high[i, "nnk"] for i in images]
    return [
        Claim(
            SOURCE,
            "Wavelets of the NNK graph have significantly less information in the higher "
            "frequency bands.",
            f"Share of the variance in bands {HIGH[0]} to {HIGH[-1]}: {between(ratios)} times as "
            f"large on the bilateral graph. It is smaller on the NNK graph for {share(lower)} "
            "images.",
            verdict_of(*lower),
            "Shares are compared because the frame is not tight, so the sum over all bands differs "
            "between the graphs.",
        )
    ]
