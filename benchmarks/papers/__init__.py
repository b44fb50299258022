"""Repeat the experiments of the papers: figures, tables, and verdicts on their claims.

Each figure about images is a module; ``python -m benchmarks.papers`` runs them.
"""

from importlib import import_module

FIGURES = ("time", "bands", "compaction", "denoising", "sparsity", "window")
"""Names of the figures, which are modules of this package, in the order of the report."""


def figure_module(name):
    """Return the module of a figure.

    It has the strings ``TITLE``, ``SOURCE`` and ``CAPTION``, and four functions:
    ``measure(picture, setup)`` returns rows of measurements, dicts by column; ``summary(rows)``
    returns the rows of the table in the report; ``draw(rows, setup)`` returns the figure; and
    ``claims(rows)`` returns a list of `Claim`.
    """
    return import_module(f"benchmarks.papers.{name}")
