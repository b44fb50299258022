"""The image experiments of the papers, measured anew: pictures, tables and claims.

One file per figure. `run.reproduce` runs them; ``nnk-image reproduce`` is its command.
"""

from importlib import import_module

FIGURES = ("time", "bands", "compaction", "denoising", "sparsity", "window")
"""Names of the figures, in the order of the report; each a module of this package."""


def figure_module(name):
    """The module of a figure: ``TITLE``, ``SOURCE``, ``CAPTION``, ``PARAMETERS``, and functions
    ``parts(setup)``, ``summary(rows)``, ``draw(rows, setup)``, ``claims(rows)``."""
    return import_module(f"nnk_image.reproduce.{name}")
