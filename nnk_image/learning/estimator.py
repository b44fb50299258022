"""Base class of the estimators: checks, options, and the model of the fitted points."""

from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from nnk_image.base.checks import plain_array
from nnk_image.base.image import Array
from nnk_image.neighbors.features import check_features
from nnk_image.neighbors.model import NeighborhoodModel, warn_of_few_points
from nnk_image.neighbors.options import KernelOptions


class NeighborhoodEstimator(BaseEstimator):
    """An estimator of neighborhoods; with an option `kernel`, points may be a kernel matrix."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = getattr(self, "kernel", None)
        tags.input_tags.pairwise = isinstance(kernel, str) and kernel == "precomputed"
        tags.input_tags.sparse = True
        return tags

    def _options(self) -> dict[str, Any]:
        """Return the kernel options that this estimator has.

        `n_neighbors` and `neighbors` are passed separately.
        """
        names = {option.name for option in fields(KernelOptions)} - {"n_neighbors", "neighbors"}
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def _checked(self, X: Any, *y: Any, **options: Any) -> Any:
        """Return X, or X and y, as scikit-learn checks them, a sparse X as a dense array."""
        options |= {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        # scikit-learn ignores the mask of a masked array, but refuses NaN.
        data = [plain_array(z) if isinstance(z, np.ma.MaskedArray) else z for z in (X, *y)]
        checked = validate_data(self, *data, **options)
        if not y:
            return check_features("X", checked)
        return check_features("X", checked[0]), checked[1]

    def _checked_queries(self, X: Any) -> Any:
        """Return queries as scikit-learn checks them, once the estimator is fitted."""
        check_is_fitted(self)
        return self._checked(X, reset=False)

    def _set_model(self, X: Array, exclude_self: bool) -> None:
        """Set the model of the points; with `exclude_self`, they are the queries as well."""
        n_neighbors = len(X) if self.n_neighbors is None else self.n_neighbors
        if not (self.neighbors is None or hasattr(self.neighbors, "get_params")):
            raise TypeError(
                "neighbors must be an estimator or a transformer, which finds candidates of new "
                f"queries too, not {type(self.neighbors).__name__}"
            )
        search = None if self.neighbors is None else clone(self.neighbors)
        self._model = NeighborhoodModel(X, n_neighbors, neighbors=search, **self._options())
        warn_of_few_points(n_neighbors, len(X), exclude_self)
        self.n_neighbors_, self.n_samples_fit_ = self._model.n_neighbors, len(X)
