"""The image experiments of the papers, repeated: pictures, tables and checked claims.

Each figure is a module; ``python -m benchmarks.papers`` runs them.
"""

from importlib import import_module

FIGURES = ("time", "bands", "compaction", "denoising", "sparsity", "window")
"""Names of the figures, in the order of the report; each a module of this package."""


def figure_module(name):
    """The module of a figure.

    It has the texts ``TITLE``, ``SOURCE`` and ``CAPTION``, the dict ``PARAMETERS``, and functions:
    ``parts(setup)`` lists what is to be measured, ``summary(rows)`` makes the table of the report
    from the measured rows, ``draw(rows, setup)`` the picture, ``claims(rows)`` the verdicts.
    """
    return import_module(f"benchmarks.papers.{name}")
