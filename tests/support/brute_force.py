"""Image graphs by brute force: dense, slow, simple, and sharing no code with the library.

Nodes are numbered row by row; all results are (N, N) arrays. Integer images are compared as
integers, floating-point images in their own dtype.
"""

import numpy as np


def window_pairs(shape, window, valid=None):
    """True where j is another pixel of the window around i and both are valid."""
    y, x = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
    distance = np.maximum(abs(y[:, None] - y), abs(x[:, None] - x))
    valid = np.ones(len(y), bool) if valid is None else valid.ravel()
    return (distance > 0) & (distance <= window // 2) & np.outer(valid, valid)


def log_kernel(image, sigma_d, sigma_f):
    """Return the logarithm of the bilateral kernel of every pair of pixels, in float64."""
    positions = np.argwhere(np.ones(image.shape[:2], bool)).astype(float)
    features = image.reshape(len(positions), -1).astype(float)
    return -_squares(positions) / (2 * sigma_d**2) - _squares(features) / (2 * sigma_f**2)


def chosen(image, window, sigma_d, sigma_f, valid=None):
    """True where pixel i keeps neighbor j: Algorithm 4 before symmetrization."""
    shape = image.shape[:2]
    positions = np.argwhere(np.ones(shape, bool))
    features = image.reshape(len(positions), -1)
    if features.dtype.kind in "bu":
        features = features.astype(np.int64)
    mu = (2 * sigma_f**2) / (2 * sigma_d**2)
    kept = np.zeros((len(positions),) * 2, bool)
    for i, candidates in enumerate(window_pairs(shape, window, valid)):
        others = np.flatnonzero(candidates)
        offsets, differences = positions[others] - positions[i], features[others] - features[i]
        kept[i, others[_survivors(offsets, differences, mu)]] = True
    return kept


def _survivors(offsets, differences, mu):
    """Return the positions of the candidates that no nearer surviving candidate prunes."""
    alive = np.ones(len(offsets), bool)
    for j in np.argsort((offsets**2).sum(axis=1)):
        if not alive[j]:
            continue
        factor = ((offsets - offsets[j]) * offsets[j]).sum(axis=1)
        # Python's sum adds channel by channel, in this order.
        product = sum(((differences[j] - differences) * differences[j]).T)
        threshold = (mu * factor).astype(product.dtype if product.dtype.kind == "f" else float)
        pruned = (factor >= 0) & (product <= threshold)
        pruned[j] = False
        alive &= ~pruned
    return np.flatnonzero(alive)


def _squares(points):
    return ((points[:, None] - points) ** 2).sum(axis=-1)
