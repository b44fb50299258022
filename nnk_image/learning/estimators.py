"""The estimators, or the advice to install scikit-learn if it is missing."""

try:
    from nnk_image.learning.classify import KStarNeighborsClassifier, NNKClassifier
    from nnk_image.learning.means import NNKMeans
    from nnk_image.learning.means_classifier import NNKMeansClassifier
    from nnk_image.learning.regress import KStarNeighborsRegressor, NNKRegressor
    from nnk_image.learning.transformer import NNKGraphTransformer
except ImportError as error:
    if (error.name or "").partition(".")[0] != "sklearn":
        raise
    raise ImportError(
        "the estimators need scikit-learn, 1.6 or newer: pip install 'nnk_image[neighbors]'"
    ) from error

__all__ = [
    "KStarNeighborsClassifier",
    "KStarNeighborsRegressor",
    "NNKClassifier",
    "NNKGraphTransformer",
    "NNKMeans",
    "NNKMeansClassifier",
    "NNKRegressor",
]
