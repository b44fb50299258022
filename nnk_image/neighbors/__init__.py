"""NNK on any data: non-negative kernel regression neighbourhoods and graphs of points."""

from importlib import import_module

from nnk_image.neighbors.agreement import WindowAgreement, window_agreement
from nnk_image.neighbors.embedding import laplacian_eigenmaps, lle_embedding, spectral_clusters
from nnk_image.neighbors.graph import nnk_graph
from nnk_image.neighbors.labels import few_shot_labels, label_propagation
from nnk_image.neighbors.manifold import (
    ManifoldMetrics,
    dimension_vector,
    intrinsic_dimension,
    manifold_metrics,
    polytope_affinity,
    polytope_diameter,
)
from nnk_image.neighbors.metrics import graph_signal_variation, nalac, nnk_distance, soft_nalac
from nnk_image.neighbors.neighborhoods import nnk_neighbors
from nnk_image.neighbors.result import Neighborhoods
from nnk_image.neighbors.weights import nnk_weights

_ESTIMATORS = {
    "KStarNeighborsClassifier": "classify",
    "KStarNeighborsRegressor": "regress",
    "NNKClassifier": "classify",
    "NNKGraphTransformer": "transformer",
    "NNKMeans": "means",
    "NNKMeansClassifier": "means_classifier",
    "NNKRegressor": "regress",
}
"""Loaded when first used: they are scikit-learn's kind, and need it."""

__all__ = [
    "KStarNeighborsClassifier",
    "KStarNeighborsRegressor",
    "ManifoldMetrics",
    "NNKClassifier",
    "NNKGraphTransformer",
    "NNKMeans",
    "NNKMeansClassifier",
    "NNKRegressor",
    "Neighborhoods",
    "WindowAgreement",
    "dimension_vector",
    "few_shot_labels",
    "graph_signal_variation",
    "intrinsic_dimension",
    "label_propagation",
    "laplacian_eigenmaps",
    "lle_embedding",
    "manifold_metrics",
    "nalac",
    "nnk_distance",
    "nnk_graph",
    "nnk_neighbors",
    "nnk_weights",
    "polytope_affinity",
    "polytope_diameter",
    "soft_nalac",
    "spectral_clusters",
    "window_agreement",
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
