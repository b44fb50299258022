"""How well each part of the features tells the classes apart, by leaving points out."""

import numpy as np
from sklearn.base import clone

from nnk_image.learning.classify import NNKClassifier
from nnk_image.neighbors.subvectors import check_views


def leave_one_out_errors(Xs, y, estimator=None):
    """Leave-one-out error of classification by each of several sets of features.

    Such sets are the channels of a network's layer, its layers one after the other, or
    the same layer after each epoch of training. The error is found on the training data
    alone: a channel whose error no longer falls learns nothing that generalises, which can
    stop its training without a validation set. No network is needed, nor known: arrays of
    features are.

    Parameters
    ----------
    Xs : sequence of (N, d_s) array_like
        Sets of features; row i of each belongs to the same point. An (n_sets, N, d) array is
        one too: of a layer's output of shape (N, channels, height, width) that is
        ``output.reshape(N, channels, -1).swapaxes(0, 1)``.
    y : (N,) array_like
        Classes.
    estimator : estimator, optional
        A classifier with ``leave_one_out_error``, which is cloned for each set; default:
        `NNKClassifier` as it is.

    Returns
    -------
    (n_sets,) float64 ndarray
        Share of the points that are misclassified when left out; NaN for features that are
        the same for all points (a channel that never fires), which say nothing.

    Raises
    ------
    TypeError, ValueError
        Sets of different points, bad data or options; the message names them.

    References
    ----------
    S. Shekkizhar, "Neighborhood and graph constructions using non-negative kernel
    regression", PhD thesis, 2023, eq. 3.21 and section 2.6.2; D. Bonet, A. Ortega, J.
    Ruiz-Hidalgo, S. Shekkizhar, "Channel-wise early stopping without a validation set via
    NNK polytope interpolation", APSIPA 2021.

    Examples
    --------
    Which quarter of a digit tells most?

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from nnk_image.learning import leave_one_out_errors
    >>> digits = load_digits()
    >>> halves = [digits.images[:500, :4], digits.images[:500, 4:]]
    >>> quarters = [part[..., x : x + 4].reshape(500, 16) for part in halves for x in (0, 4)]
    >>> leave_one_out_errors(quarters, digits.target[:500]).round(2)
    array([0.26, 0.23, 0.21, 0.24])
    """
    estimator = NNKClassifier() if estimator is None else estimator
    if not hasattr(estimator, "leave_one_out_error"):
        raise TypeError(
            "estimator must be a classifier with leave_one_out_error, such as NNKClassifier, not "
            f"{type(estimator).__name__}"
        )
    views = check_views(Xs)
    errors = np.full(len(views), np.nan)
    for i, view in enumerate(views):
        if (view != view[0]).any():
            errors[i] = clone(estimator).fit(view, y).leave_one_out_error()
    return errors
