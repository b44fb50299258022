"""NNK on any data: non-negative kernel regression neighbourhoods and graphs of points."""

from importlib import import_module

from nnk_image.neighbors.graph import nnk_graph
from nnk_image.neighbors.neighborhoods import nnk_neighbors
from nnk_image.neighbors.result import Neighborhoods
from nnk_image.neighbors.weights import nnk_weights

_ESTIMATORS = {
    "NNKClassifier": "classify",
    "NNKGraphTransformer": "transformer",
    "NNKMeans": "means",
    "NNKMeansClassifier": "means_classifier",
    "NNKRegressor": "regress",
}
"""Loaded when first used: they are scikit-learn's kind, and need it."""

__all__ = [
    "NNKClassifier",
    "NNKGraphTransformer",
    "NNKMeans",
    "NNKMeansClassifier",
    "NNKRegressor",
    "Neighborhoods",
    "nnk_graph",
    "nnk_neighbors",
    "nnk_weights",
]


def __getattr__(name):
    if name not in _ESTIMATORS:
        raise AttributeError(f"module 'nnk_image.neighbors' has no attribute {name!r}")
    try:
        value = getattr(import_module(f"nnk_image.neighbors.{_ESTIMATORS[name]}"), name)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        raise ImportError(
            f"nnk_image.{name} needs scikit-learn, 1.6 or newer: pip install 'nnk_image[neighbors]'"
        ) from error
    globals()[name] = value
    return value
