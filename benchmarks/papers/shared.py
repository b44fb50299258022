"""Settings of the papers, functions for rows of measurements, and curves of the figures."""

import csv
import io
from dataclasses import dataclass

import numpy as np

from benchmarks.pictures import Picture
from nnk_image import bilateral_graph, image_graph

WINDOW, SIGMA_D, SIGMA_F = 11, 2.0, 10 / 255
"""Settings of the graphs of images without noise, whose values are from 0 to 1; window and sigma_d
are in pixels."""

ORDER, N_BANDS = 30, 7
"""Chebyshev order, unless one is published, and number of bands of the 'abspline' wavelets."""

BUILDS = {"bilateral": bilateral_graph, "nnk": image_graph}
"""Functions that build each kind of graph."""

LABELS = {"bilateral": "bilateral graph", "nnk": "NNK graph"}
"""Names of the graphs in figures."""


@dataclass(frozen=True)
class Setup:
    """Input of the experiments.

    Attributes
    ----------
    pictures : tuple of Picture
        Images.
    seed : int
        Seed of the noise.
    n_jobs : int or None
        Number of threads.
    """

    pictures: tuple[Picture, ...]
    seed: int = 0
    n_jobs: int | None = None


def select(rows, **values):
    """Return the rows with the given values in the given columns."""
    return [row for row in rows if all(row.get(k) == v for k, v in values.items())]


def column(rows, name, **values):
    """Return a column of the selected rows as an array."""
    return np.array([row[name] for row in select(rows, **values)])


def distinct(rows, name):
    """Return the distinct values of a column, in the order of the rows."""
    return list(dict.fromkeys(row[name] for row in rows))


def curves(rows, name, by, **values):
    """Return a column of the selected rows as an array (images, distinct values of `by`)."""
    return np.array([column(rows, name, **values, **{by: v}) for v in distinct(rows, by)]).T


def as_csv(rows):
    """Return the rows as CSV text, with columns in the order in which they first appear."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_markdown(rows):
    """Return the rows as a Markdown table."""
    lines = [_line(rows[0]), _line(["---"] * len(rows[0]))]
    return "\n".join(lines + [_line(row.values()) for row in rows]) + "\n"


def _line(cells):
    texts = (f"{c:.4g}" if isinstance(c, float) else str(c).replace("|", "\\|") for c in cells)
    return f"| {' | '.join(texts)} |"


def draw_curves(ax, x, curves, color, label, style="-", alpha=0.15):
    """Draw the mean of (images, points) curves, and shade from the lowest to the highest."""
    low, high = curves.min(axis=0), curves.max(axis=0)
    ax.fill_between(x, low, high, color=color, alpha=alpha, lw=0)
    ax.plot(x, curves.mean(axis=0), color=color, ls=style, marker="o", ms=4, label=label)
