"""The estimators, or the advice to install scikit-learn if it is missing."""

from nnk_image.base.extras import needing

with needing("the estimators need scikit-learn, 1.6 or newer", "neighbors"):
    from nnk_image.learning.classify import KStarNeighborsClassifier, NNKClassifier
    from nnk_image.learning.means import NNKMeans
    from nnk_image.learning.means_classifier import NNKMeansClassifier
    from nnk_image.learning.regress import KStarNeighborsRegressor, NNKRegressor
    from nnk_image.learning.transformer import NNKGraphTransformer

__all__ = [
    "KStarNeighborsClassifier",
    "KStarNeighborsRegressor",
    "NNKClassifier",
    "NNKGraphTransformer",
    "NNKMeans",
    "NNKMeansClassifier",
    "NNKRegressor",
]
