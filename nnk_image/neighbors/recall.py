"""How many of the truly nearest points an approximate search finds, measured on some rows."""

import numpy as np

SAMPLE = 256
"""Rows on which the recall of a search is measured."""

_POINTS_AT_A_TIME = 1 << 14
_TIE = 1e-6  # distances that differ by a smaller part may differ by rounding only


def sample_rows(n_points, n_rows, seed):
    """Numbers of randomly drawn rows, ascending."""
    rows = np.random.default_rng(seed).choice(n_points, min(n_points, n_rows), replace=False)
    return np.sort(rows)


def exact_nearest(points, rows, k):
    """The nearest `k` points of some points, none its own neighbour, by comparing all pairs.

    Few points are read at a time, so that `points` may be mapped from a file.

    Parameters
    ----------
    points : (N, d) ndarray
    rows : (n,) ndarray of int
    k : int
        At most N - 1.

    Returns
    -------
    indices : (n, k) int64 ndarray
        By rising distance; among equal ones those of lower index.
    distances : (n, k) float64 ndarray
    """
    centre = points[rows].mean(axis=0, dtype=np.float64)
    queries = points[rows] - centre
    lengths = np.square(queries).sum(axis=1)[:, None]
    nearest = np.full((len(rows), k), -1)
    squares = np.full((len(rows), k), np.inf)
    for first in range(0, len(points), _POINTS_AT_A_TIME):
        part = points[first : first + _POINTS_AT_A_TIME] - centre
        found = queries @ (-2 * part.T)
        found += np.square(part).sum(axis=1)
        found += lengths
        inside = np.flatnonzero((rows >= first) & (rows < first + len(part)))
        found[inside, rows[inside] - first] = np.inf
        near = found <= squares[:, -1:]
        for i in np.flatnonzero(near.any(axis=1)):
            columns = np.flatnonzero(near[i])
            # Of the products' differences the last digits are wrong: these few are taken exactly.
            exact = np.square(part[columns] - queries[i]).sum(axis=1)
            exact[first + columns == rows[i]] = np.inf
            both = np.concatenate([squares[i], exact])
            order = np.argsort(both, kind="stable")[:k]
            nearest[i] = np.concatenate([nearest[i], first + columns])[order]
            squares[i] = both[order]
    return nearest, np.sqrt(squares)


def recall_of(search, points, n_neighbors, n_rows=SAMPLE, seed=0):
    """Part of the nearest `n_neighbors` points that a search has among its candidates.

    The mean over `n_rows` random points.  A candidate as near as the last of the nearest counts
    as one of them.

    Parameters
    ----------
    search : object
        A search of `nnk_image.neighbors.candidates` that is not for a fixed set of queries.
    points : (N, d) ndarray
    n_neighbors, n_rows, seed : int

    Returns
    -------
    float
    """
    rows = sample_rows(len(points), n_rows, seed)
    k = min(n_neighbors, len(points) - 1)
    if k < 1:
        return 1.0
    _, distances = exact_nearest(points, rows, k)
    found = search.candidates(points[rows], k, True)
    hits = 0
    for i, row in enumerate(rows):
        candidates = np.unique(found.indices[found.indptr[i] : found.indptr[i + 1]])
        candidates = candidates[(candidates >= 0) & (candidates != row)]
        offsets = points[candidates].astype(np.float64) - points[row]
        near = np.sqrt(np.square(offsets).sum(axis=1)) <= distances[i, -1] * (1 + _TIE)
        hits += min(k, int(near.sum()))
    return hits / (k * len(rows))
