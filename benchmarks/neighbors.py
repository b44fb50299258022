"""Time per point of NNK of general data, compared with the neighbor search and scipy's nnls."""

import contextlib
from statistics import median

import numpy as np
from scipy.optimize import nnls
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from benchmarks.machine import interleaved
from benchmarks.timing import Table, ratio
from nnk_image.neighbors import _core
from nnk_image.neighbors.model import NeighborhoodModel

CASES = (  # points, features, candidates, type, sigma relative to its default
    (1000, 3, 30, "float64", 1),
    (10_000, 3, 30, "float64", 1),
    (1000, 3, 30, "float64", 10),
    (1000, 16, 30, "float64", 1),
    (1000, 16, 30, "float64", 3),
    (1000, 16, 50, "float64", 1),
    (1000, 64, 30, "float64", 1),
    (1000, 784, 30, "float64", 1),
    (1000, 784, 30, "float32", 1),
    (10_000, 784, 30, "float64", 1),
)
N_SCIPY = 200  # number of problems that scipy solves


def tables(options):
    """Yield the table of times per point: search, kernel matrices and weights."""
    with threadpool_limits(1):
        yield _per_point(options.rounds)


def points_of(n_points, n_features, dtype="float64"):
    """Return a swiss roll for 3 features, otherwise Gaussian clouds around 10 centers."""
    rng = np.random.default_rng(0)
    if n_features == 3:
        points = make_swiss_roll(n_points, random_state=0)[0]
    else:
        centers = 0.5 * rng.standard_normal((10, n_features))
        points = centers[rng.integers(0, 10, n_points)]
        points += rng.standard_normal((n_points, n_features))
    return points.astype(dtype)


def _per_point(rounds):
    columns = dict.fromkeys(("points", "features", "k"), "d") | {"type": "", "sigma x": "g"}
    columns |= {"search": ".1f", "Gram + QP": ".1f", "/ search": "", "QP": ".2f", "nnls": ".0f"}
    columns |= {"KKT": ".0e", "neighbors": ".1f"}
    table = Table(f"NNK: times per point in us, one thread, {rounds} rounds", columns)
    for case in CASES:
        table.rows.append(_row(*case, rounds))
    table.notes = (
        "search: k nearest by scikit-learn, with a k-d tree for up to 15 features, else all pairs.",
        "Gram + QP: from points and lists of candidates to weights; QP: from kernel matrices.",
        f"nnls: Cholesky factor and scipy.optimize.nnls, of {N_SCIPY} points. / search: ratio of",
        "Gram + QP to search, median (quartiles) of rounds. KKT: largest violation of optimality,",
        "relative to max(b).",
    )
    return table


def _row(n_points, n_features, k, dtype, factor, rounds):
    """Return the times of one case; sigma is `factor` times its default."""
    points = points_of(n_points, n_features, dtype)
    tree = NearestNeighbors(algorithm="kd_tree" if n_features <= 15 else "brute").fit(points)
    lists = tree.kneighbors(points, k + 1, return_distance=False)
    plain = NeighborhoodModel(points, k, neighbors=lists)
    model = NeighborhoodModel(points, k, neighbors=lists, sigma=factor * plain.sigma)
    K, b = _matrices(points, lists[:N_SCIPY], k, model.sigma)
    out = np.zeros(b.shape), np.zeros(len(b))
    contenders = {
        "search": lambda: tree.kneighbors(points, k + 1),
        "solve": model.solve,
        "QP": lambda: [_core.solve_given(K, b, 0.0, *out, 0, len(b)) for _ in range(10)],
        "nnls": lambda: [_by_scipy(*problem) for problem in zip(K, b, strict=True)],
    }
    seconds = interleaved(contenders, rounds if n_points < 10_000 else min(rounds, 3))
    found = model.neighborhoods()
    return {
        "points": n_points,
        "features": n_features,
        "k": k,
        "type": dtype,
        "sigma x": factor,
        "search": 1e6 * median(seconds["search"]) / n_points,
        "Gram + QP": 1e6 * median(seconds["solve"]) / n_points,
        "/ search": ratio(seconds["solve"], seconds["search"]),
        "QP": 1e6 * median(seconds["QP"]) / (10 * N_SCIPY),
        "nnls": 1e6 * median(seconds["nnls"]) / N_SCIPY,
        "KKT": found.residual.max(),
        "neighbors": found.n_kept.mean(),
    }


def _matrices(points, lists, k, sigma):
    """Return kernels (n, k, k) between candidates, and (n, k) of candidates with their point."""
    K, b = np.empty((len(lists), k, k)), np.empty((len(lists), k))
    for i, row in enumerate(lists):
        candidates = points[row[row != i][:k]].astype(float)
        K[i] = np.exp(-cdist(candidates, candidates, "sqeuclidean") / (2 * sigma**2))
        b[i] = np.exp(-((candidates - points[i]) ** 2).sum(axis=1) / (2 * sigma**2))
    return K, b


def _by_scipy(K, b):
    """Solve one problem of NNK as non-negative least squares."""
    lower = np.linalg.cholesky(K + 1e-12 * np.eye(len(b)))
    with contextlib.suppress(RuntimeError):  # too many iterations; the time counts anyway
        nnls(lower.T, np.linalg.solve(lower, b))
