"""The experiments of the papers, repeated: pictures, tables and checked claims.

Each figure of images is a module; ``python -m benchmarks.papers`` runs them.
"""

from importlib import import_module

FIGURES = ("time", "bands", "compaction", "denoising", "sparsity", "window")
"""Names of the figures, in the order of the report; each a module of this package."""


def figure_module(name):
    """The module of a figure.

    It has the texts ``TITLE``, ``SOURCE`` and ``CAPTION`` and the functions ``measure(picture,
    setup)``, which gives rows, ``summary(rows)``, ``draw(rows, setup)`` and ``claims(rows)``.
    """
    return import_module(f"benchmarks.papers.{name}")
