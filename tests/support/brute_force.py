"""Image graphs by brute force: dense, slow, simple, and sharing no code with the library.

Nodes are numbered row by row; all results are (N, N) arrays. Integer images are compared as
integers, floating-point images in their own dtype. With spacing, comparisons allow for rounding.
"""

import numpy as np


def window_pairs(shape, window, valid=None):
    """True where j is another pixel of the window around i and both are valid."""
    places = np.argwhere(np.ones(shape, bool))
    steps = abs(places[:, None] - places)
    near = (steps <= np.asarray(window) // 2).all(axis=2) & steps.any(axis=2)
    return near if valid is None else near & np.outer(valid, valid)


def log_kernel(image, sigma_d, sigma_f):
    """Return the logarithm of the bilateral kernel of every pair of pixels, in float64."""
    positions = np.argwhere(np.ones(image.shape[:2], bool)).astype(float)
    features = image.reshape(len(positions), -1).astype(float)
    return -_squares(positions) / (2 * sigma_d**2) - _squares(features) / (2 * sigma_f**2)


def chosen(image, window, sigma_d, sigma_f, valid=None, spacing=None):
    """True where pixel i keeps neighbor j: Algorithm 4 before symmetrization."""
    shape, slack = image.shape[: len(spacing or (1, 1))], 1e-9 if spacing else 0
    positions = np.argwhere(np.ones(shape, bool)) * (spacing or 1)
    features = image.reshape(len(positions), -1)
    if features.dtype.kind in "bu":
        features = features.astype(np.int64)
    mu = (2 * sigma_f**2) / (2 * sigma_d**2)
    kept = np.zeros((len(positions),) * 2, bool)
    for i, candidates in enumerate(window_pairs(shape, window, valid)):
        others = np.flatnonzero(candidates)
        offsets, differences = positions[others] - positions[i], features[others] - features[i]
        kept[i, others[_survivors(offsets, differences, mu, slack)]] = True
    return kept


def _survivors(offsets, differences, mu, slack):
    """Return the positions of the candidates that no nearer surviving candidate prunes."""
    alive = np.ones(len(offsets), bool)
    for j in np.argsort((offsets**2).sum(axis=1)):
        if not alive[j]:
            continue
        factor = ((offsets - offsets[j]) * offsets[j]).sum(axis=1)
        # Python's sum adds channel by channel, in this order.
        product = sum(((differences[j] - differences) * differences[j]).T)
        threshold = (mu * factor).astype(product.dtype if product.dtype.kind == "f" else float)
        pruned = (factor >= -slack) & (product <= threshold + slack)
        pruned[j] = False
        alive &= ~pruned
    return np.flatnonzero(alive)


def _squares(points):
    return ((points[:, None] - points) ** 2).sum(axis=-1)
