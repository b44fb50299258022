"""Experiment of the project report: sparsity, time and variance as functions of the window."""

from statistics import median

import numpy as np

from benchmarks.machine import interleaved
from benchmarks.papers.claims import Claim, share, verdict_of
from benchmarks.papers.shared import (
    BUILDS,
    LABELS,
    N_BANDS,
    ORDER,
    SIGMA_D,
    SIGMA_F,
    column,
    curves,
    distinct,
    draw_curves,
    select,
)
from benchmarks.scores import group_means
from nnk_image.plotting.figures import COLORS, new_figure
from nnk_image.wavelets.transform import SpectralGraphWavelets

TITLE = "The window, from 3 x 3 to 11 x 11"
SOURCE = "Project report, experiments on images"
CAPTION = (
    "Neighbors per pixel; time per pixel for building the graph (solid) and for the 7-band wavelet "
    "transform (dashed); variance of the wavelet coefficients in all bands, relative to the "
    "variance of the image; and share of the lowest 3 bands in it. Lines are means over the first "
    "four images (the report used one), and shades extend from the lowest to the highest. One "
    "thread."
)
WINDOWS = (3, 5, 7, 9, 11)
ROUNDS = 3
MAX_PICTURES = 4
N_LOW = 3


def measure(picture, setup):
    """Return edges, times and variances of both graphs at all windows."""
    return [row for window in WINDOWS for row in _measure_window(picture, window)]


def _measure_window(picture, window):
    signal = picture.values - picture.values.mean()
    work, graphs, bands = {}, {}, {}
    for kind, build in BUILDS.items():
        graphs[kind] = build(picture.values, window, SIGMA_D, SIGMA_F)
        wavelets = SpectralGraphWavelets(graphs[kind], order=ORDER, lmax="lanczos")
        wavelets = SpectralGraphWavelets(graphs[kind], order=ORDER, lmax=1.01 * wavelets.lmax)
        bands[kind] = wavelets.analyze(signal).var(axis=(1, 2)) / signal.var()
        work[kind, "build"] = lambda b=build: b(picture.values, window, SIGMA_D, SIGMA_F)
        work[kind, "transform"] = lambda w=wavelets: w.analyze(signal)
    seconds = interleaved(work, ROUNDS)
    per_pixel = 1e6 / picture.values.size
    return [
        {
            "window": window,
            "graph": kind,
            "edges": graph.n_edges,
            "neighbors": 2 * graph.n_edges / graph.n_nodes,
            "build_us": per_pixel * median(seconds[kind, "build"]),
            "transform_us": per_pixel * median(seconds[kind, "transform"]),
            "variance": float(bands[kind].sum()),
            "low_share": float(bands[kind][:N_LOW].sum() / bands[kind].sum()),
        }
        | {f"variance_{band + 1}": float(bands[kind][band]) for band in range(N_BANDS)}
        for kind, graph in graphs.items()
    ]


_COLUMNS = {
    "neighbors": "neighbors per pixel",
    "build_us": "graph, us per pixel",
    "transform_us": "transform, us per pixel",
    "variance": "variance, all bands",
    "low_share": f"share of bands 1-{N_LOW}",
}


def summary(rows):
    """Return means by window and graph."""
    table = group_means(rows, ("window", "graph"), _COLUMNS)
    return [{_COLUMNS.get(name, name): value for name, value in row.items()} for row in table]


def draw(rows, setup):
    """Draw sparsity, time, variance, and the share of the low bands."""
    figure = new_figure(figsize=(12, 8))
    (sparsity, times), (variance, low) = figure.subplots(2, 2)
    panels = [
        (sparsity, "neighbors", "-", ""),
        (times, "build_us", "-", ", building"),
        (times, "transform_us", "--", ", transform"),
        (variance, "variance", "-", ""),
        (low, "low_share", "-", ""),
    ]
    for ax, name, style, what in panels:
        for kind in BUILDS:
            values, label = curves(rows, name, "window", graph=kind), LABELS[kind] + what
            draw_curves(ax, WINDOWS, values, COLORS[kind], label, style, alpha=0.12)
    for ax in (sparsity, times, variance, low):
        ax.set(xticks=WINDOWS, xlabel="window, pixels")
        ax.grid(alpha=0.3)
        ax.legend()
    sparsity.set(ylabel="neighbors per pixel", ylim=(0, None))
    times.set(ylabel="time per pixel, us", ylim=(0, None))
    variance.set(ylabel="variance of all bands / variance of the image")
    low.set(ylabel=f"share of bands 1 to {N_LOW} in the variance")
    return figure


def claims(rows):
    """Check the four claims of the project report."""
    return [_sparsity(rows), _time(rows), _more_variance(rows), _falling_variance(rows)]


def _growth(rows, kind, name, first=WINDOWS[0]):
    """Return the mean at the largest window divided by the mean at the window `first`."""
    start, end = (column(rows, name, graph=kind, window=w).mean() for w in (first, WINDOWS[-1]))
    return float(end / start)


def _sparsity(rows):
    wide, narrow = _growth(rows, "bilateral", "neighbors"), _growth(rows, "nnk", "neighbors")
    later = _growth(rows, "nnk", "neighbors", 7)
    return Claim(
        SOURCE,
        "Neighbors grow almost linearly with the window on the bilateral graph and stay mostly "
        "the same on the NNK graph.",
        f"From 3 x 3 to 11 x 11, the number grows {wide:.1f}x on the bilateral graph and "
        f"{narrow:.2f}x on the NNK graph ({later:.2f}x from 7 x 7 on).",
        verdict_of(wide > 10, narrow < 1.5),
        "The bilateral graph grows with the window's area, faster than linearly.",
    )


def _time(rows):
    growth = {
        (kind, name): _growth(rows, kind, f"{name}_us")
        for kind in BUILDS
        for name in ("build", "transform")
    }
    return Claim(
        SOURCE,
        "Time grows with the window for the bilateral graph and stays the same for NNK graph "
        "(wavelet transform) construction.",
        "From 3 x 3 to 11 x 11: building {:.1f}x bilateral, {:.1f}x NNK; transform {:.1f}x "
        "bilateral, {:.2f}x NNK.".format(
            *(growth[k, n] for n in ("build", "transform") for k in BUILDS)
        ),
        verdict_of(
            growth["bilateral", "build"] > 2,
            growth["bilateral", "transform"] > 2,
            growth["nnk", "build"] < 1.5,
            growth["nnk", "transform"] < 1.5,
        ),
        "The time of the transform depends on the number of edges. The construction examines every "
        "pixel of the window, even if few are kept.",
    )


def _more_variance(rows):
    more = {
        name: [
            (column(here, name, graph="nnk") > column(here, name, graph="bilateral")).item()
            for image in distinct(rows, "image")
            for w in WINDOWS
            for here in [select(rows, image=image, window=w)]
        ]
        for name in ("variance", "low_share")
    }
    return Claim(
        SOURCE,
        "The NNK graph captures more energy (variance of the wavelet signals) at every window.",
        f"The variance of all bands is larger on the NNK graph in {share(more['variance'])} cases "
        f"(image and window). The share of the lowest {N_LOW} bands is larger in "
        f"{share(more['low_share'])}.",
        verdict_of(*more["variance"], *more["low_share"]),
        "The frame is not tight: a larger sum over all bands depends on where the spectrum lies "
        "relative to the ripple of the frame, and does not show how much of the image is captured. "
        "The share shows this.",
    )


def _falling_variance(rows):
    falls = {
        kind: (np.diff(curves(rows, "variance", "window", graph=kind), axis=1) < 0).all(axis=1)
        for kind in BUILDS
    }
    ends = {
        kind: [column(rows, "variance", graph=kind, window=w).mean() for w in (3, WINDOWS[-1])]
        for kind in BUILDS
    }
    texts = (
        f"on the {LABELS[k]} {ends[k][0]:.3f} to {ends[k][1]:.3f}, falling at every step for "
        f"{share(falls[k])} images"
        for k in BUILDS
    )
    return Claim(
        SOURCE,
        "Variance decreases as the window grows.",
        f"Variance of all bands, mean over the images: {'; '.join(texts)}.",
        verdict_of(*(flag for flags in falls.values() for flag in flags)),
        "It changes by at most a few percent. It depends on bands, order and normalization, which "
        "the report does not give.",
    )
