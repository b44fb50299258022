"""How much sparser NNK graphs are, and how much faster graph operations become."""

from statistics import fmean, median

import numpy as np

from benchmarks.machine import interleaved
from benchmarks.papers.claims import Claim, between, verdict_of
from benchmarks.papers.shared import (
    BUILDS,
    LABELS,
    ORDER,
    SIGMA_D,
    SIGMA_F,
    WINDOW,
    column,
    distinct,
)
from nnk_image.plotting.figures import COLORS, new_figure
from nnk_image.wavelets.transform import SpectralGraphWavelets

TITLE = "Sparsity, and the speed of graph operations"
SOURCE = "Thesis, section 3.1 (introduction)"
CAPTION = (
    "Left: neighbors per pixel. Right: time on the bilateral graph divided by time on the NNK "
    "graph; dots are images, bars are medians, and the dashed line is the published example. The "
    "transform has 7 bands and order 30; 'one filter' is a single polynomial of that order, as "
    "used in denoising; 'by scipy' multiplies by the sparse matrix 30 times and sums the bands, as "
    "programs without special code do. One thread."
)
ROUNDS = 5

OPERATIONS = {
    "transform": "7-band\ntransform",
    "filter": "one filter",
    "scipy": "7-band\ntransform\nby scipy",
    "scipy_filter": "one filter\nby scipy",
    "product": "one product\nby scipy",
}
PUBLISHED_SPEEDUP = 15


def measure(picture, setup):
    """Return the number of edges of both graphs, and times of operations on them."""
    signal = picture.values - picture.values.mean()
    graphs = {k: build(picture.values, WINDOW, SIGMA_D, SIGMA_F) for k, build in BUILDS.items()}
    work = {}
    for kind, graph in graphs.items():
        for operation, function in _operations(graph, signal).items():
            work[kind, operation] = function
    seconds = interleaved(work, ROUNDS)
    return [
        {"graph": kind, "edges": graph.n_edges, "neighbors": 2 * graph.n_edges / graph.n_nodes}
        | {f"{op}_ms": 1000 * median(seconds[kind, op]) for op in OPERATIONS}
        for kind, graph in graphs.items()
    ]


def _operations(graph, signal):
    """Return functions for the operations on a graph, by name."""
    # An upper bound of the eigenvalues suffices: the time does not depend on the filters.
    wavelets = SpectralGraphWavelets(graph, order=ORDER, lmax=2.1 * float(graph.degrees.max()))
    laplacian, values = graph.laplacian(), signal.ravel()

    def by_scipy(n_bands):
        coefficients = wavelets.coefficients[:n_bands]
        return chebyshev_by_scipy(laplacian, values, coefficients, wavelets.bound)

    return {
        "transform": lambda: wavelets.analyze(signal),
        "filter": lambda: wavelets.filter(signal, lambda x: np.exp(-x)),
        "scipy": lambda: by_scipy(wavelets.n_bands),
        "scipy_filter": lambda: by_scipy(1),
        "product": lambda: laplacian @ values,
    }


def chebyshev_by_scipy(laplacian, values, coefficients, bound):
    """Return the (n_bands, N) bands ``sum_k c_k T_k(2 L / bound - 1) f`` by sparse products."""

    def shifted(v):
        return (2 / bound) * (laplacian @ v) - v

    before, now = values, shifted(values)
    bands = np.outer(coefficients[:, 0], before) + np.outer(coefficients[:, 1], now)
    for c in coefficients.T[2:]:
        before, now = now, 2 * shifted(now) - before
        bands += np.outer(c, now)
    return bands


def _speedups(rows, operation):
    """Return for each image the time on the bilateral graph divided by that on the NNK graph."""
    name = f"{operation}_ms"
    return column(rows, name, graph="bilateral") / column(rows, name, graph="nnk")


def _reductions(rows):
    """Return for each image the share of the bilateral graph's edges that NNK does not need."""
    return 1 - column(rows, "edges", graph="nnk") / column(rows, "edges", graph="bilateral")


def summary(rows):
    """Return edges and ratios of each image, then their means."""
    images, reduction = distinct(rows, "image"), _reductions(rows)
    speedups = {op: _speedups(rows, op) for op in OPERATIONS}
    headings = {op: "faster: " + text.replace("\n", " ") for op, text in OPERATIONS.items()}
    table = [
        {
            "image": image,
            "bilateral edges": column(rows, "edges", graph="bilateral", image=image).item(),
            "NNK edges": column(rows, "edges", graph="nnk", image=image).item(),
            "fewer, %": float(100 * reduction[i]),
        }
        | {headings[op]: float(speedups[op][i]) for op in OPERATIONS}
        for i, image in enumerate(images)
    ]
    mean = {name: fmean(row[name] for row in table) for name in table[0] if name != "image"}
    return [*table, {"image": "mean", **mean}]


def draw(rows, setup):
    """Draw neighbors per image, and ratios of times per operation."""
    images = distinct(rows, "image")
    figure = new_figure(figsize=(13, max(4.5, 1.5 + 0.32 * len(images))))
    left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
    y, height = np.arange(len(images)), 0.38
    for shift, kind in ((-height / 2, "bilateral"), (height / 2, "nnk")):
        neighbors = column(rows, "neighbors", graph=kind)
        bars = left.barh(y + shift, neighbors, height, color=COLORS[kind], label=LABELS[kind])
        left.bar_label(bars, [f"{n:.1f}" for n in neighbors], padding=3, fontsize=8)
    left.set(yticks=y, yticklabels=images, xlabel="neighbors per pixel")
    left.set_xlim(0, 1.12 * column(rows, "neighbors").max())
    left.invert_yaxis()
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    for i, operation in enumerate(OPERATIONS):
        ratios = _speedups(rows, operation)
        spread = np.linspace(-0.18, 0.18, len(ratios)) if len(ratios) > 1 else np.zeros(1)
        right.plot(i + spread, ratios, "o", color="tab:gray", ms=5)
        right.hlines(np.median(ratios), i - 0.3, i + 0.3, color="tab:red", lw=2.5)
    top = 1.1 * max(PUBLISHED_SPEEDUP, *(_speedups(rows, op).max() for op in OPERATIONS))
    right.axhline(PUBLISHED_SPEEDUP, color="black", ls="--", lw=1)
    right.text(-0.4, PUBLISHED_SPEEDUP, f"{PUBLISHED_SPEEDUP} times, published", va="bottom")
    right.set(xticks=range(len(OPERATIONS)), xticklabels=OPERATIONS.values())
    right.set(ylabel="times faster on the NNK graph", ylim=(0, top))
    right.grid(axis="y", alpha=0.3)
    return figure


def claims(rows):
    """Check whether there are 90 % fewer edges, and whether operations are 15 times faster."""
    reduction = 100 * _reductions(rows)
    speedups = {op: _speedups(rows, op) for op in OPERATIONS}
    edges = column(rows, "edges", graph="bilateral") / column(rows, "edges", graph="nnk")
    ranges = ", ".join(
        f"{OPERATIONS[op].replace(chr(10), ' ')} {between(s, '.1f')}x" for op, s in speedups.items()
    )
    medians = [np.median(s) for s in speedups.values()]
    return [
        Claim(
            SOURCE,
            "NNK graphs have 90 % fewer edges than window-based bilateral graphs.",
            f"{between(reduction, '.1f')} % fewer, window {WINDOW}.",
            verdict_of(*reduction >= 90),
            "The number of edges depends on the image only through the similarity of nearby "
            "pixels.",
        ),
        Claim(
            SOURCE,
            "Wavelets and other graph filters are notably faster on the sparse graph, e.g. 15 "
            "times.",
            f"{ranges}.",
            verdict_of(min(medians) > 2, max(medians) >= PUBLISHED_SPEEDUP),
            f"The graph has {between(edges, '.1f')} times fewer edges. Work that does not depend "
            "on edges (summing bands, the recurrence) and memory traffic reduce the gain.",
        ),
    ]
