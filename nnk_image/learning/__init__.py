"""Learning with neighbourhoods and graphs: estimators, labels, embeddings, geometry of data."""

from importlib import import_module

from nnk_image.base.imports import uninterrupted
from nnk_image.learning.embedding import laplacian_eigenmaps, lle_embedding, spectral_clusters
from nnk_image.learning.harmonic import interpolate
from nnk_image.learning.labels import few_shot_labels, label_propagation
from nnk_image.learning.manifold import (
    ManifoldMetrics,
    dimension_vector,
    intrinsic_dimension,
    manifold_metrics,
    pca_dimension,
    polytope_affinity,
    polytope_diameter,
)
from nnk_image.learning.metrics import graph_signal_variation, nalac, nnk_distance, soft_nalac

_ESTIMATORS = {
    "KStarNeighborsClassifier": "classify",
    "KStarNeighborsRegressor": "regress",
    "NNKClassifier": "classify",
    "NNKGraphTransformer": "transformer",
    "NNKMeans": "means",
    "NNKMeansClassifier": "means_classifier",
    "NNKRegressor": "regress",
    "leave_one_out_errors": "channels",
}
"""Estimators, what is made of them, and their modules, imported when first used: they need
scikit-learn, the rest of this package does not."""

__all__ = [
    "KStarNeighborsClassifier",
    "KStarNeighborsRegressor",
    "ManifoldMetrics",
    "NNKClassifier",
    "NNKGraphTransformer",
    "NNKMeans",
    "NNKMeansClassifier",
    "NNKRegressor",
    "dimension_vector",
    "few_shot_labels",
    "graph_signal_variation",
    "interpolate",
    "intrinsic_dimension",
    "label_propagation",
    "laplacian_eigenmaps",
    "leave_one_out_errors",
    "lle_embedding",
    "manifold_metrics",
    "nalac",
    "nnk_distance",
    "pca_dimension",
    "polytope_affinity",
    "polytope_diameter",
    "soft_nalac",
    "spectral_clusters",
]


def __getattr__(name):
    if name not in _ESTIMATORS:
        raise AttributeError(f"module 'nnk_image.learning' has no attribute {name!r}")
    try:
        with uninterrupted():
            value = getattr(import_module(f"nnk_image.learning.{_ESTIMATORS[name]}"), name)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        raise ImportError(
            f"nnk_image.{name} needs scikit-learn, 1.6 or newer: pip install 'nnk_image[neighbors]'"
        ) from error
    globals()[name] = value
    return value
