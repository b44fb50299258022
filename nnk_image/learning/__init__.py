"""Learning on neighborhoods and graphs: values, labels, embeddings, geometry of data.

These functions need scikit-learn only where `nnk_neighbors` does, for points of more than 15
features. The estimators, which need it, are names of the package itself: `nnk_image.NNKClassifier`
and others.
"""

from nnk_image.learning.embedding import lle_embedding
from nnk_image.learning.geometry import intrinsic_dimension, manifold_metrics, nalac, nnk_distance
from nnk_image.learning.harmonic import interpolate
from nnk_image.learning.labels import few_shot_labels, label_propagation

__all__ = [
    "few_shot_labels",
    "interpolate",
    "intrinsic_dimension",
    "label_propagation",
    "lle_embedding",
    "manifold_metrics",
    "nalac",
    "nnk_distance",
]
