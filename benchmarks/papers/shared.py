"""What the figures share: settings of the papers, functions on rows of measurements, curves."""

import csv
import io
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from benchmarks.pictures import Picture
from nnk_image import bilateral_graph, image_graph

WINDOW, SIGMA_D, SIGMA_F = 11, 2.0, 10 / 255
"""Settings of the graph of a clean image with values from 0 to 1; window and sigma_d in pixels."""

ORDER, N_BANDS = 30, 7
"""Chebyshev order where none is published, and bands of the filter bank 'abspline'."""

BUILDS = {"bilateral": bilateral_graph, "nnk": image_graph}
"""The function that builds each kind of graph."""

LABELS = {"bilateral": "bilateral graph", "nnk": "NNK graph"}


@dataclass(frozen=True)
class Setup:
    """What an experiment is asked for: pictures, seed of the noise, eigenvalues, threads.

    `lmax` maps the name of a picture to the eigenvalue of each kind of graph.
    """

    pictures: tuple[Picture, ...]
    seed: int = 0
    lmax: dict[str, dict[str, float]] = field(default_factory=dict)
    n_jobs: int | None = None


def chosen(rows, **values):
    """Rows that have these values."""
    return [row for row in rows if all(row.get(k) == v for k, v in values.items())]


def column(rows, name, **values):
    """One column of the rows that have these values, as an array."""
    return np.array([row[name] for row in chosen(rows, **values)])


def distinct(rows, name):
    """Different values of a column, in the order of the rows."""
    return list(dict.fromkeys(row[name] for row in rows))


def means(rows, by, of):
    """One row per combination of the columns `by`, with the means of the columns `of`."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return [
        dict(zip(by, key, strict=True)) | {name: fmean(row[name] for row in group) for name in of}
        for key, group in groups.items()
    ]


def as_csv(rows):
    """CSV text; columns in the order in which they first appear."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_markdown(rows):
    """Rows as a Markdown table."""
    lines = [_line(rows[0]), _line(["---"] * len(rows[0]))]
    return "\n".join(lines + [_line(row.values()) for row in rows]) + "\n"


def _line(cells):
    texts = (f"{c:.4g}" if isinstance(c, float) else str(c).replace("|", "\\|") for c in cells)
    return f"| {' | '.join(texts)} |"


def draw_curves(ax, x, curves, color, label, style="-", alpha=0.15):
    """Draw the mean of `curves`, (images, points), shaded from the least to the largest."""
    low, high = curves.min(axis=0), curves.max(axis=0)
    ax.fill_between(x, low, high, color=color, alpha=alpha, lw=0)
    ax.plot(x, curves.mean(axis=0), color=color, ls=style, marker="o", ms=4, label=label)
