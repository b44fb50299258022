"""Local dimension as a function of scale: NNK at many scales, and kNN with many k."""

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import KDTree
from sklearn.datasets import make_swiss_roll

from benchmarks.timing import Table
from nnk_image import nnk_neighbors
from nnk_image.learning import intrinsic_dimension

N = 4000  # points of a shape
NOISES = (0.01, 0.02)
SIGMAS = 0.01 * 2 ** (np.arange(13) / 2)
N_NEIGHBORS = 30  # candidates of a point, at every scale
MAX_COHERENCE = 0.5  # similarity of two points above which they are merged
COUNTS = (5, 10, 20, 40, 80, 160, 320, 640)
NEAR = 0.1  # largest error of a mean dimension on a plateau


def circle(rng):
    """Return points on a circle of radius 1 in space."""
    t = rng.uniform(0, 2 * np.pi, N)
    return np.column_stack([np.cos(t), np.sin(t), np.zeros(N)])


def trefoil(rng):
    """Return points on a trefoil knot, 1/3 as large as by its usual formula."""
    t = rng.uniform(0, 2 * np.pi, N)
    knot = np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)
    return np.column_stack(knot) / 3


def roll(rng):
    """Return points on scikit-learn's swiss roll, 1/10 as large: its layers are 0.63 apart."""
    return make_swiss_roll(N, random_state=int(rng.integers(1 << 31)))[0] / 10


def sphere(rng):
    """Return points on a sphere of radius 1."""
    points = rng.standard_normal((N, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


SHAPES = {"circle": (circle, 1), "trefoil": (trefoil, 1), "roll": (roll, 2), "sphere": (sphere, 2)}
"""Function and dimension of each shape."""


def tables(options):
    """Yield the tables of dimensions by scale and by k, and of the widths of plateaus."""
    seeds = options.seeds
    cases = [(name, noise) for noise in NOISES for name in SHAPES]
    data = {case: [points(*case, seed) for seed in range(seeds)] for case in cases}
    by_scale = {case: np.mean([scales_of(X) for X in data[case]], axis=0) for case in cases}
    by_count = {case: np.mean([counts_of(X) for X in data[case]], axis=0) for case in cases}
    conditions = f"{N} points, noise {NOISES[0]:g} and {NOISES[1]:g}, means of {seeds} seeds"
    headings = [f"{name} {noise:g}" for name, noise in cases]
    yield _table(f"Dimension by scale: {conditions}", "sigma", SIGMAS, headings, by_scale, 0)
    yield _table("NNK neighbors by scale", "sigma", SIGMAS, headings, by_scale, 1)
    yield _table(f"Dimension by kNN, local PCA: {conditions}", "k", COUNTS, headings, by_count, 0)
    yield _table("Dimension by kNN, maximum likelihood", "k", COUNTS, headings, by_count, 1)
    yield _plateaus(cases, by_scale, by_count)


def points(name, noise, seed):
    """Return points of a shape, with Gaussian noise in all directions of space."""
    rng = np.random.default_rng(seed)
    X = SHAPES[name][0](rng)
    return X + noise * rng.standard_normal(X.shape)


def scales_of(X):
    """Return the mean dimension and number of neighbors at each scale, shape (2, n_scales)."""
    result = np.full((2, len(SIGMAS)), np.nan)
    points, counts = X, np.ones(len(X))
    for i, sigma in enumerate(SIGMAS):
        points, counts = merged(points, counts, sigma)
        if len(points) < 3:  # two would have one link, whatever the width
            break
        near = nnk_neighbors(points, min(N_NEIGHBORS, len(points) - 1), sigma=sigma)
        values = intrinsic_dimension(points, near), near.n_kept
        result[:, i] = [np.average(v, weights=counts) for v in values]
    return result


def merged(points, counts, sigma):
    """Merge points into their mean until no two are more similar than MAX_COHERENCE.

    `counts` holds the number of original points that each point stands for. In each round, all
    pairs of points that are each other's nearest are merged. The thesis does not print a rule.
    """
    while len(points) > 1:
        distance, nearest = (part[:, 1] for part in KDTree(points).query(points, 2))
        own = np.arange(len(points))
        similar = np.exp(-0.5 * (distance / sigma) ** 2) > MAX_COHERENCE
        a = np.flatnonzero((nearest[nearest] == own) & (own < nearest) & similar)
        if len(a) == 0:
            break
        b = nearest[a]
        points, counts = points.copy(), counts.copy()
        counts[a] += counts[b]
        points[a] += (counts[b] / counts[a])[:, None] * (points[b] - points[a])
        points, counts = (np.delete(array, b, axis=0) for array in (points, counts))
    return points, counts


def counts_of(X):
    """Return means for each k, shape (3, n_counts).

    They are the dimension by local PCA and by maximum likelihood, and the distance of neighbor k.
    """
    distances, indices = (part[:, 1:] for part in KDTree(X).query(X, COUNTS[-1] + 1))
    result = np.empty((3, len(COUNTS)))
    for i, k in enumerate(COUNTS):
        rows = k * np.arange(len(X) + 1)
        near = csr_array((np.ones(rows[-1]), indices[:, :k].ravel(), rows))
        logs = np.log(distances[:, k - 1 : k] / distances[:, : k - 1]).mean(axis=1)
        # E. Levina, P. Bickel, 2005, with the mean of inverses as D. MacKay, Z. Ghahramani propose.
        likelihood = (k - 2) / (k - 1) / logs.mean()
        result[:, i] = intrinsic_dimension(X, near).mean(), likelihood, distances[:, k - 1].mean()
    return result


def _table(title, parameter, values, headings, results, which):
    """Return a table of the result number `which`, one row per value of a parameter."""
    table = Table(title, {parameter: ""} | dict.fromkeys(headings, ".2f"))
    for i, value in enumerate(values):
        cells = [result[which, i] for result in results.values()]
        table.rows.append({parameter: f"{value:.3g}"} | dict(zip(headings, cells, strict=True)))
    return table


def _plateaus(cases, by_scale, by_count):
    """Return the table of the ranges in which the mean dimension is close to the true one."""
    columns = {"": "", "true": "", "NNK": "", "from": ".3f", "to": ".3f", "closest": ".2f"}
    columns |= {"kNN PCA": "", "closest, PCA": ".2f", "kNN ML": "", "closest, ML": ".2f"}
    table = Table(
        f"Plateaus: mean dimension within {NEAR:g} of the true one",
        columns,
        notes=(
            "NNK: widest such range of sigma, as a factor, and its ends. kNN: widest range of the",
            "mean distance of neighbor k. 1.0x is a single sigma or k. closest: mean dimension",
            "closest to the true one. PCA counts directions with more than 0.05 of the largest",
            "variance, for NNK and kNN.",
        ),
    )
    for case in cases:
        true = SHAPES[case[0]][1]
        row = {"": f"{case[0]}, noise {case[1]:g}", "true": f"{true}"}
        span, row["closest"] = _widest(by_scale[case][0], SIGMAS, true)
        row["NNK"] = _factor(span)
        if span:
            row["from"], row["to"] = span
        radius = by_count[case][2]
        for name, values in zip(("PCA", "ML"), by_count[case], strict=False):
            span, row[f"closest, {name}"] = _widest(values, radius, true)
            row[f"kNN {name}"] = _factor(span)
        table.rows.append(row)
    return table


def _factor(span):
    return f"{span[1] / span[0]:.1f}x" if span else "none"


def _widest(values, scale, true):
    """Return the widest range of scales at which values are near the true one, and the closest."""
    best, start = None, None
    for i, near in enumerate([*(np.abs(values - true) <= NEAR), False]):
        if near and start is None:
            start = i
        elif not near and start is not None:
            span = scale[start], scale[i - 1]
            if best is None or span[1] / span[0] > best[1] / best[0]:
                best = span
            start = None
    return best, values[np.nanargmin(np.abs(values - true))]
